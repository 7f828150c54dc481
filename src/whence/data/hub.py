"""Published corpora from the Hugging Face hub, for machines with a network and without local files.

Each entry says where a corpus is, how its splits are called there, and how to turn a row into what our own reader takes.
The hub's copies are complete (all of SNLI's train split), but have no highlights except for movies and CoS-E. Hub datasets that
are still loading scripts are read from the Parquet files that the hub makes of them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.example import Example
from whence.data.files import Row
from whence.data.readers import cose, nli, sst, topics
from whence.data.readers.published import NLI, Make, Published, RowError, examples, label_of, part, text_of
from whence.data.readers.spans import locate
from whence.errors import BadInput

PARQUET = "refs/convert/parquet"
_USUAL = {"train": "train", "dev": "validation", "test": "test"}


@dataclass(frozen=True)
class Source:
    """Where a corpus is on the hub. `make` reads one hub row; `derived_dev` cuts dev out of train as our files do."""

    path: str
    make: Make
    splits: Mapping[str, str]
    config: str | None = None
    revision: str | None = None
    derived_dev: bool = False


def _named(row: Row, names: tuple[str, ...]) -> str | None:
    """The hub stores labels as numbers, and -1 for none."""
    number = row.get("label")
    if not isinstance(number, int) or not -1 <= number < len(names):
        raise RowError(f"label {number!r}; expected a number from 0 to {len(names) - 1}, or -1 for none")
    return names[number] if number >= 0 else None


def _nli(row: Row, number: str) -> Example | None:
    label = _named(row, NLI)
    return nli.plain_row({**row, "gold_label": label}, number) if label else None  # SNLI's pairs without a majority


def _hans(row: Row, number: str) -> Example:
    ours = {"sentence1": "premise", "sentence2": "hypothesis", "sentence1_parse": "parse_premise"}
    ours |= {"sentence2_parse": "parse_hypothesis", "sentence1_binary_parse": "binary_parse_premise"}
    ours |= {"sentence2_binary_parse": "binary_parse_hypothesis"}
    renamed = {name: text_of(row, theirs) for name, theirs in ours.items()}
    return nli.hans_row({**row, **renamed, "gold_label": _named(row, nli.HANS_LABELS), "pairID": number}, number)


def _sst(row: Row, number: str) -> Example:
    label = _named(row, ("0", "1"))
    return sst.sentence_row({"sentence": text_of(row, "sentence"), **({"label": label} if label else {})}, number)


def _imdb(row: Row, number: str) -> Example:
    return topics.imdb_row({"text": text_of(row, "text"), "label": _named(row, ("neg", "pos"))}, number)


def _ag(row: Row, number: str, classes: str = "1234") -> Example | None:
    return topics.ag_row({"text": text_of(row, "text"), "label": _named(row, ("1", "2", "3", "4"))}, number, classes)


def _cose(row: Row, number: str, labels: tuple[str, ...]) -> Example:
    given = row.get("choices")
    if not isinstance(given, list) or len(given) != len(labels):
        raise RowError(f"choices {given!r:.40}; expected a list of {len(labels)}")
    choices = [{"label": letter, "text": text} for letter, text in zip(labels, given, strict=True)]
    answer = next((choice["label"] for choice in choices if choice["text"] == row.get("answer")), None)
    if answer is None and row.get("answer"):
        raise RowError(f"answer '{row['answer']}'; expected one of the choices")
    said = {"open-ended": text_of(row, "abstractive_explanation"), "selected": text_of(row, "extractive_explanation")}
    question = {"stem": text_of(row, "question"), "choices": choices}
    return cose.question({"id": row.get("id"), "answerKey": answer, "question": question, "explanation": said}, number, labels)


def _movies(row: Row, number: str) -> Example:
    """The hub has the evidence as text, so it is looked up in the review."""
    review = text_of(row, "review")
    spans = []
    for evidence in row.get("evidences") or ():
        if not str(evidence).strip():
            continue  # some test reviews have an empty evidence among others
        span = locate(str(evidence), review)
        if span is None:
            raise RowError(f"evidence '{evidence!s:.40}' is not in the review; expected a part of it")
        spans.append(span)
    marked = ({"text": tuple(spans)},) if spans else ()
    return Example(number, {"text": review}, label_of(_named(row, ("NEG", "POS")), ("NEG", "POS")), highlights=marked)


def _cose_source(version: str, letters: str) -> Source:
    splits = {"train": "train", "dev": "validation"}
    return Source("Salesforce/cos_e", partial(_cose, labels=tuple(letters)), splits, f"v{version}")


_AG = Source("fancyzhx/ag_news", _ag, {"train": "train", "test": "test"}, derived_dev=True)
HUB: dict[str, Source] = {
    "esnli": Source("esnli/esnli", _nli, _USUAL, "plain_text", PARQUET),
    "snli": Source("stanfordnlp/snli", _nli, _USUAL),
    "hans": Source("jhu-cogsyn/hans", _hans, {"train": "train", "test": "validation"}, revision=PARQUET),
    "mnli": Source(
        "nyu-mll/multi_nli", _nli,
        {"train": "train", "dev_matched": "validation_matched", "dev_mismatched": "validation_mismatched"},
    ),
    "sst": Source("stanfordnlp/sst2", _sst, _USUAL),
    "imdb": Source("stanfordnlp/imdb", _imdb, {"train": "train", "test": "test"}, derived_dev=True),
    "ag_news": _AG,
    "ag_news_wb": Source(_AG.path, partial(_ag, classes="13"), _AG.splits, derived_dev=True),
    "cose_v1.0": _cose_source("1.0", "ABC"),
    "cose_v1.11": _cose_source("1.11", "ABCDE"),
    "movies": Source("eraserbenchmark/movie_rationales", _movies, _USUAL, revision=PARQUET),
}  # fmt: skip


def from_rows(source: Source, rows: Iterable[Row], split: str) -> Rows:
    """Rows of the hub, or of any `datasets.Dataset` with the same columns, as examples."""
    make = part(source.make, dev=split == "dev") if source.derived_dev and split in ("train", "dev") else source.make
    numbered: Iterable[tuple[int, Row] | BadRow] = enumerate(rows, 1)
    yield from examples(numbered, make, source.path, split)


def fetch(source: Source, split: str) -> Any:
    """The rows of a split, from the hub or from the cache of an earlier download."""
    import datasets

    try:
        return datasets.load_dataset(source.path, source.config, split=source.splits[split], revision=source.revision)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).split("\n")[0][:120]
        raise BadInput(
            f"{source.path}: cannot be fetched from the Hugging Face hub ({type(error).__name__}: {reason}); either connect to "
            "the network, or put the published files in a folder and give --data-root FOLDER or set WHENCE_DATA"
        ) from None


def open_hub(name: str, published: Published) -> Corpus:
    source = HUB[name]

    def reader(split: str) -> Callable[[], Rows]:
        whole = "train" if source.derived_dev and split == "dev" else split
        return lambda: from_rows(source, fetch(source, whole), split)

    splits = [*source.splits, *(["dev"] if source.derived_dev else [])]
    about = f"{published.about} (from the Hugging Face hub: {source.path})"
    return Corpus(name, published.task, published.labels, {split: reader(split) for split in splits}, about)
