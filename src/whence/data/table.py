"""A user's own table: CSV, TSV or JSON lines, plain or compressed, Parquet or Excel; or rows that are in memory already.

One column holds the text (or two, for pairs), one the label, one an id. The first row of a CSV, TSV or Excel file names the
columns, and fields may be quoted. A row may have an empty text, but not none. Labels are those the caller lists, else the
different ones of the file in order (as numbers, where they all are). Spellings of a label that differ only in case or in
spaces around it are one label, and the corpus says so in its notes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.example import FIELDS, Example, Task
from whence.data.files import SUFFIXES, Numbered, Row, json_rows, plain_suffix, separated_rows, table_rows
from whence.data.labels import Labels, known_labels, missing, spelled
from whence.data.readers.published import RowError, examples, text_of
from whence.data.sheets import excel_rows, parquet_rows
from whence.errors import BadInput

FORMATS: dict[str, Callable[[Path], Numbered]] = {
    ".csv": separated_rows, ".tsv": partial(table_rows, delimiter="\t"), ".jsonl": json_rows, ".parquet": parquet_rows,
    ".xlsx": excel_rows,
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

    def found(self, where: object, has: Sequence[str]) -> "Columns":
        """The columns that will be read, by the names that they have in `has`; case and spaces around a name do not matter."""

        def named(wanted: str) -> str | None:
            alike = [name for name in has if name.strip().casefold() == wanted.strip().casefold()]
            if len(alike) > 1 and wanted not in alike:
                raise BadInput(f"{where}: '{wanted}' may be any of {', '.join(map(repr, alike))}; expected one of them by name")
            return wanted if wanted in alike else next(iter(alike), None)

        def given(wanted: str | None) -> str | None:
            if wanted is not None and named(wanted) is None:
                raise BadInput(f"{where}: no column '{wanted}'; it has {', '.join(has)}")
            return None if wanted is None else named(wanted)

        def usual(names: Sequence[str]) -> str | None:
            return next((name for wanted in names if (name := named(wanted)) is not None), None)

        if self.text is None and self.pair is not None:
            raise BadInput(f"a column for the second text ('{self.pair}') but none for the first; name both")
        text, pair = given(self.text), given(self.pair)
        if text is None:
            text = usual(TEXTS)
            whole = next((names for names in PAIRS if all(named(name) for name in names)), None)
            if text is None and whole is not None:
                text, pair = named(whole[0]), named(whole[1])
        if text is None:
            names = ", ".join((*TEXTS, *(" and ".join(names) for names in PAIRS)))
            raise BadInput(f"{where}: no text column; it has {', '.join(has)}; name the column, or call it one of {names}")
        return Columns(text, pair, given(self.label) or usual(LABELS), given(self.id) or named("id"))


def is_table(path: Path) -> bool:
    return plain_suffix(path) in FORMATS


def raw_rows(path: Path) -> Numbered:
    if not is_table(path):
        endings = ", ".join(FORMATS)
        raise BadInput(
            f"{path}: unknown format '{plain_suffix(path)}'; expected a file that ends in {endings} (text also as .gz or .xz)"
        )
    return FORMATS[plain_suffix(path)](path)


def example_of(row: Mapping[str, Any], number: str, columns: Columns, labels: Labels) -> Example:
    """An example from the columns of a row; `number` is its id where it has none. Raises `RowError`."""
    fields = [columns.text, columns.pair] if columns.pair else [columns.text]
    texts = {field: text_of(dict(row), str(name)) for field, name in zip(FIELDS[columns.task], fields, strict=True)}
    label = None
    if columns.label is not None:
        if missing(row.get(columns.label)):
            raise RowError(f"no label in '{columns.label}'; expected one of {', '.join(labels.names) or 'the labels'}")
        label = labels.of(row[columns.label])
    given = row.get(columns.id) if columns.id else None
    return Example(number if missing(given) else spelled(given), texts, label)


def _first(path: Path) -> Row:
    """The first row that can be read, to see which columns there are."""
    for item in raw_rows(path):
        if not isinstance(item, BadRow):
            return item[1]
    raise BadInput(next((str(bad) for bad in raw_rows(path)), f"{path}: a header but no rows; expected at least one row"))


def _labels(files: Iterable[tuple[Path, str]]) -> Labels:
    """The labels of the files, each with its label column; a row without one is reported when it is read."""
    return known_labels(
        item[1].get(column) for path, column in files for item in raw_rows(path) if not isinstance(item, BadRow)
    )


def _read(path: Path, split: str, columns: Columns, labels: Labels) -> Rows:
    yield from examples(raw_rows(path), partial(example_of, columns=columns, labels=labels), str(path), split)


def split_files(folder: Path) -> dict[str, Path]:
    """The train, dev and test files of a folder."""
    found: dict[str, Path] = {}
    here = {path.name.lower(): path for path in sorted(folder.iterdir()) if path.is_file()}
    for stem, split in STEMS.items():
        for path in (here.get(f"{stem}{ending}{suffix}") for ending in FORMATS for suffix in SUFFIXES):
            if path is None:
                continue
            if split in found:
                raise BadInput(f"{folder}: two files for {split} ({found[split].name}, {path.name}); expected one")
            found[split] = path
    return found


def open_table(path: Path, columns: Columns | None = None, labels: Sequence[str] | None = None) -> Corpus:
    """A file as a corpus with one split, named like the file if that is train, dev or test, else "all"; or a folder of them."""
    stem = path.name.split(".")[0]
    files = split_files(path) if path.is_dir() else {STEMS.get(stem.lower(), "all"): path}
    if not files:
        raise BadInput(f"{path}: no train, dev or test file; expected for example train.csv, dev.tsv.gz or test.jsonl")
    seen = {split: (columns or Columns()).found(file, list(_first(file))) for split, file in files.items()}
    tasks = {chosen.task for chosen in seen.values()}
    if len(tasks) > 1:
        raise BadInput(f"{path}: some files have one text and some have two; expected the same columns in all")
    known = Labels(tuple(labels)) if labels is not None else _labels((files[s], c.label) for s, c in seen.items() if c.label)
    readers = {split: partial(_read, file, split, seen[split], known) for split, file in files.items()}
    return Corpus(stem, tasks.pop(), known.names, readers, f"{path}", notes=known.notes)
