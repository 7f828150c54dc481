"""The corpora that are published in ERASER's form: movie reviews with rationales, and MultiRC."""

from functools import partial
from pathlib import Path

from whence.data.corpus import Rows
from whence.data.eraser import SPLITS, split_rows
from whence.data.example import Task
from whence.data.readers.published import File, Published


def _split(root: Path, name: str, split: str, task: Task, labels: tuple[str, ...]) -> Rows:
    return split_rows(root / name, split, task, labels)


def _corpus(name: str, task: Task, labels: tuple[str, ...], about: str, docs: int, **counts: tuple[int, int]) -> Published:
    """`counts` has the rows per label of each split."""
    files = [
        File(f"{name}/{stem}.jsonl", sum(counts[split]), dict(zip(labels, counts[split], strict=True)), "classification")
        for split, stem in SPLITS.items()
    ]
    splits = {split: partial(_split, name=name, split=split, task=task, labels=labels) for split in SPLITS}
    expected = {split: sum(numbers) for split, numbers in counts.items()}
    return Published(name, task, labels, about, splits, expected, (*files, File(f"{name}/docs.jsonl", docs)))


CORPORA = (
    _corpus(
        "movies", "text", ("NEG", "POS"),
        "Movie reviews with rationales (Zaidan et al. 2007, Pang and Lee 2004; ERASER, DeYoung et al. 2020); no licence stated",
        docs=2000, train=(800, 800), dev=(100, 100), test=(100, 99),
    ),
    _corpus(
        "multirc", "pair", ("False", "True"),
        "MultiRC, is this answer right? (Khashabi et al. 2018; ERASER, DeYoung et al. 2020); research and academic use",
        docs=539, train=(13456, 10573), dev=(1762, 1452), test=(2773, 2075),
    ),
)  # fmt: skip
