"""What every reader of a published corpus shares: how rows become examples, and what is known about the files.

A reader is a function `make(row, id) -> Example`; it raises `RowError` for a row that is not as published and returns `None`
for a row that the corpus leaves out by definition (a neutral sentence of binary SST). The same functions read rows that come
from elsewhere (`whence.data.hub`).
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.example import Example, Task
from whence.data.files import Numbered, Row, json_rows, stored

Make = Callable[[Row, str], Example | None]
NLI = ("entailment", "neutral", "contradiction")
SENTIMENT = ("negative", "positive")
DEV_SHARE = 15
"""Percent of train that becomes `dev` where none was published; 15 % as in the AG News experiments of both attention papers."""


class RowError(ValueError):
    """What is wrong with the row at hand, and what was expected."""


def text_of(row: Row, name: str) -> str:
    if name not in row:
        raise RowError(f"no '{name}'; expected one (the row has {', '.join(map(str, row)) or 'nothing'})")
    if not isinstance(row[name], str):
        raise RowError(f"'{name}' is {row[name]!r:.40}; expected text")
    return row[name]


def label_of(value: object, known: Sequence[str] | Mapping[str, str]) -> str:
    """The label as we name it; `known` may map the published spelling to ours."""
    label = str(value)
    if label not in known:
        raise RowError(f"label '{label}'; expected one of {', '.join(known)}")
    return known[label] if isinstance(known, Mapping) else label


def examples(rows: Iterable[tuple[int, Row] | BadRow], make: Make, file: str, split: str) -> Rows:
    """Rows through `make`. A row without an id gets its split and number; a repeated id gets `~2`, `~3` …

    Ids are made unique because results are stored by id, and some corpora repeat them (e-SNLI dev, SemEval).
    """
    seen: dict[str, int] = {}
    for item in rows:
        if isinstance(item, BadRow):
            yield item
            continue
        number, row = item
        try:
            example = make(row, f"{split}-{number}")
        except RowError as problem:
            yield BadRow(file, number, str(problem))
            continue
        if example is None:
            continue
        times = seen[example.id] = seen.get(example.id, 0) + 1
        yield example if times == 1 else replace(example, id=f"{example.id}~{times}")


def read(root: Path, name: str, make: Make, split: str, rows: Callable[[Path], Numbered] = json_rows) -> Rows:
    """The file `name` below the data root, compressed or not, as examples."""
    path = stored(root, name)
    yield from examples(rows(path), make, str(path), split)


def in_dev(text: str) -> bool:
    """Whether a train row belongs to the derived dev split: by a hash of its text, so repeats of a text stay on one side."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % 100 < DEV_SHARE


def part(make: Make, dev: bool, key: str = "text") -> Make:
    """`make` for the rows of one side of the derived dev split only."""
    return lambda row, number: make(row, number) if in_dev(text_of(row, key)) is dev else None


@dataclass(frozen=True)
class File:
    """A published file: how many rows it has and how many of each label in column `label`, where that is known."""

    name: str
    rows: int | None
    labels: Mapping[str, int] = field(default_factory=dict)
    label: str = "label"
    read: Callable[[Path], Numbered] = json_rows


@dataclass(frozen=True)
class Published:
    """A corpus before anyone has said where its files are."""

    name: str
    task: Task
    labels: tuple[str, ...]
    about: str
    splits: Mapping[str, Callable[[Path], Rows]]
    expected: Mapping[str, int]
    files: tuple[File, ...]

    def at(self, root: Path) -> "PublishedCorpus":
        splits = {split: _bound(reader, root) for split, reader in self.splits.items()}
        return PublishedCorpus(
            self.name, self.task, self.labels, splits, self.about, self.expected, root=root, files=self.files
        )


def _bound(reader: Callable[[Path], Rows], root: Path) -> Callable[[], Rows]:
    return lambda: reader(root)


@dataclass(frozen=True)
class PublishedCorpus(Corpus):
    """A corpus whose files have published counts: `check` compares them apart from the sizes of our splits."""

    root: Path = Path()
    files: tuple[File, ...] = ()
