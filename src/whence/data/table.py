"""A user's own file: CSV, TSV or JSON lines, plain or compressed, with a column for the text (or two), the label and an id.

The first row of a CSV or TSV names the columns, and fields may be quoted. A row may have an empty text, but not none. Labels
are those the caller lists, else the different ones of the file in order (as numbers, where they all are).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.example import FIELDS, Example, Task
from whence.data.files import SUFFIXES, Numbered, Row, json_rows, plain_suffix, table_rows
from whence.data.readers.published import RowError, examples, label_of, text_of
from whence.errors import BadInput

FORMATS: dict[str, Callable[[Path], Numbered]] = {
    ".csv": table_rows, ".tsv": partial(table_rows, delimiter="\t"), ".jsonl": json_rows,
}  # fmt: skip
TEXTS = ("text", "sentence", "review")
PAIRS = (("premise", "hypothesis"), ("sentence1", "sentence2"))
LABELS = ("label", "gold_label", "class")
STEMS = {"train": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev", "test": "test"}
"""What a split's file may be called, and what we call the split."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns to read; `None` looks for the usual names. `pair` is the second text of a pair."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    id: str | None = None

    @property
    def task(self) -> Task:
        return "pair" if self.pair else "text"

    def found(self, path: Path, has: Sequence[str]) -> "Columns":
        """The columns that will be read, all of them present in `has`."""
        chosen = self
        if self.text is None and self.pair is None:
            single = next((name for name in TEXTS if name in has), None)
            pair = next((names for names in PAIRS if set(names) <= set(has)), (None, None))
            chosen = replace(self, text=single) if single else replace(self, text=pair[0], pair=pair[1])
        elif self.text is None:
            raise BadInput(f"a column for the second text ('{self.pair}') but none for the first; name both")
        label = self.label or next((name for name in LABELS if name in has), None)
        chosen = replace(chosen, label=label, id=self.id or ("id" if "id" in has else None))
        if chosen.text is None:
            usual = ", ".join((*TEXTS, *(" and ".join(names) for names in PAIRS)))
            raise BadInput(f"{path}: no text column; it has {', '.join(has)}; name the column, or call it one of {usual}")
        for name in (chosen.text, chosen.pair, chosen.label, chosen.id):
            if name is not None and name not in has:
                raise BadInput(f"{path}: no column '{name}'; it has {', '.join(has)}")
        return chosen


def is_table(path: Path) -> bool:
    return plain_suffix(path) in FORMATS


def raw_rows(path: Path) -> Numbered:
    if not is_table(path):
        endings = ", ".join(f"{name}[.gz|.xz]" for name in FORMATS)
        raise BadInput(f"{path}: unknown format '{plain_suffix(path)}'; expected a file that ends in {endings}")
    return FORMATS[plain_suffix(path)](path)


def _make(row: Row, number: str, columns: Columns, labels: Sequence[str]) -> Example:
    fields = [columns.text, columns.pair] if columns.pair else [columns.text]
    texts = {field: text_of(row, str(name)) for field, name in zip(FIELDS[columns.task], fields, strict=True)}
    label = None
    if columns.label is not None:
        if row.get(columns.label) in (None, ""):
            raise RowError(f"no label in '{columns.label}'; expected one of {', '.join(labels) or 'the labels'}")
        label = label_of(row[columns.label], labels)
    given = row.get(columns.id) if columns.id else None
    return Example(number if given in (None, "") else str(given), texts, label)


def _first(path: Path) -> Row:
    """The first row that can be read, to see which columns there are."""
    for item in raw_rows(path):
        if not isinstance(item, BadRow):
            return item[1]
    raise BadInput(next((str(bad) for bad in raw_rows(path)), f"{path}: a header but no rows; expected at least one row"))


def _labels(files: Iterable[tuple[Path, str]]) -> tuple[str, ...]:
    """The different labels of the files, each with its label column; a row without one is reported when it is read."""
    found = {
        str(item[1][column])
        for path, column in files
        for item in raw_rows(path)
        if not isinstance(item, BadRow) and item[1].get(column) not in (None, "")
    }
    numbers = all(re.fullmatch("-?[0-9]+", label) for label in found)
    return tuple(sorted(found, key=lambda label: (int(label) if numbers else 0, label)))


def _read(path: Path, split: str, columns: Columns, labels: tuple[str, ...]) -> Rows:
    yield from examples(raw_rows(path), partial(_make, columns=columns, labels=labels), str(path), split)


def split_files(folder: Path) -> dict[str, Path]:
    """The train, dev and test files of a folder."""
    found: dict[str, Path] = {}
    for stem, split in STEMS.items():
        for path in (folder / f"{stem}{ending}{suffix}" for ending in FORMATS for suffix in SUFFIXES):
            if not path.is_file():
                continue
            if split in found:
                raise BadInput(f"{folder}: two files for {split} ({found[split].name}, {path.name}); expected one")
            found[split] = path
    return found


def open_table(path: Path, columns: Columns | None = None, labels: Sequence[str] | None = None) -> Corpus:
    """A file as a corpus with one split, named like the file if that is train, dev or test, else "all"; or a folder of them."""
    stem = path.name.split(".")[0]
    files = split_files(path) if path.is_dir() else {STEMS.get(stem, "all"): path}
    if not files:
        raise BadInput(f"{path}: no train, dev or test file; expected for example train.csv, dev.tsv.gz or test.jsonl")
    seen = {split: (columns or Columns()).found(file, list(_first(file))) for split, file in files.items()}
    tasks = {chosen.task for chosen in seen.values()}
    if len(tasks) > 1:
        raise BadInput(f"{path}: some files have one text and some have two; expected the same columns in all")
    known = tuple(labels) if labels is not None else _labels((files[s], c.label) for s, c in seen.items() if c.label)
    readers = {split: partial(_read, file, split, seen[split], known) for split, file in files.items()}
    return Corpus(stem, tasks.pop(), known, readers, f"{path}")
