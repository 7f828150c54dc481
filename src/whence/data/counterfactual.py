"""Counterfactual pairs: two texts that differ in a few words and in their label, so that we know which words turned it.

Each text is an example of its own: `Example.edits` holds the words that its counterpart lacks, `meta["counterpart"]` the
counterpart's id.

`open_corpus("counterfactual:FILE")` reads three layouts of a table (CSV, TSV, JSON lines, Parquet, Excel); the case of column
names does not matter:

  two rows, one id      a column pair_id, batch_id or counterfactual_id   (Kaushik et al. 2020, IMDb reviews)
  two texts in one row  edited_text, or edited_premise and/or edited_hypothesis, and edited_label
  two rows in a row     pairs that share a premise or a hypothesis        (Kaushik et al. 2020, NLI)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.edits import coupled
from whence.data.example import Example
from whence.data.files import Numbered, Row
from whence.data.labels import Labels, known_labels, missing, spelled
from whence.data.readers.published import RowError, text_of
from whence.data.table import LABELS, PAIRS, STEMS, TEXTS, raw_rows, split_files
from whence.errors import BadInput

PREFIX = "counterfactual:"
PAIR_IDS = ("pair_id", "batch_id", "counterfactual_id")
EDITED = "edited_"

Couple = tuple[int, Example, Example]
"""(row of the second text, both texts), not yet compared."""


def open_counterfactual(path: Path, labels: Sequence[str] | None = None) -> Corpus:
    """A file, or a folder of train, dev and test files, in one of the three layouts."""
    if not path.exists():
        raise BadInput(f"{PREFIX}{path}: no such file or folder; expected a CSV, TSV or JSON lines file of pairs")
    stem = path.name.split(".")[0]
    files = split_files(path) if path.is_dir() else {STEMS.get(stem.lower(), "all"): path}
    if not files:
        raise BadInput(f"{path}: no train, dev or test file; expected for example train.tsv")
    layouts = [_Layout(file, split) for split, file in files.items()]
    if len({len(layout.texts) for layout in layouts}) > 1:
        raise BadInput(f"{path}: some files have one text and some have two; expected the same columns in all")
    values = (value for layout in layouts for value in layout.labels())
    known = Labels(tuple(labels)) if labels is not None else known_labels(values)
    splits: dict[str, Callable[[], Rows]] = {layout.split: partial(layout.rows, known) for layout in layouts}
    about = f"{path}: texts that differ in a few words and in their label"
    return Corpus(f"counterfactual-{stem}", "pair" if len(layouts[0].texts) == 2 else "text", known.names, splits, about,
                  notes=known.notes)  # fmt: skip


class _Layout:
    """Which columns of a file hold what. `texts` and `edited` map our field names to columns."""

    def __init__(self, file: Path, split: str) -> None:
        self.file, self.split = file, split
        first = next((item for item in raw_rows(file) if not isinstance(item, BadRow)), None)
        if first is None:
            raise BadInput(next((str(bad) for bad in raw_rows(file)), f"{file}: no rows; expected at least one pair"))
        self.has = {str(name).strip().lower(): str(name) for name in first[1]}
        single = self._one_of(TEXTS)
        pair = next((names for names in PAIRS if all(name in self.has for name in names)), None)
        if single is None and pair is None:
            raise BadInput(f"{file}: no text column; it has {', '.join(first[1])}; expected text, or premise and hypothesis")
        names = {"text": single} if single else dict(zip(("premise", "hypothesis"), pair or (), strict=True))
        self.texts = {field: self.has[str(name)] for field, name in names.items()}
        self.edited = {
            field: self.has[EDITED + name]
            for field, column in names.items() for name in (field, str(column)) if EDITED + name in self.has
        }  # fmt: skip
        self.id, label = self._one_of(PAIR_IDS), self._one_of((*LABELS, "sentiment"))
        if label is None or (self.edited and f"{EDITED}{label}" not in self.has and f"{EDITED}label" not in self.has):
            wanted = f"{label or 'label'} and {EDITED}label" if self.edited else "label"
            raise BadInput(f"{file}: no label column; it has {', '.join(first[1])}; expected {wanted}")
        self.label = self.has[label]
        self.edited_label = self.has.get(f"{EDITED}{label}") or self.has.get(f"{EDITED}label", "")
        if not self.edited and self.id is None and single:
            raise BadInput(f"{file}: nothing couples its rows; expected a column {', '.join(PAIR_IDS)} or {EDITED}text")

    def _one_of(self, names: Sequence[str]) -> str | None:
        return next((name for name in names if name in self.has), None)

    def labels(self) -> Iterator[object]:
        columns = (self.label, self.edited_label) if self.edited else (self.label,)
        yield from (item[1].get(c) for item in raw_rows(self.file) if not isinstance(item, BadRow) for c in columns)

    def rows(self, labels: Labels) -> Rows:
        couples = self._in_one_row if self.edited else self._by_id if self.id else self._in_a_row
        for item in couples(raw_rows(self.file)):
            if isinstance(item, BadRow):
                yield item
                continue
            number, first, second = item
            try:
                yield from coupled(*(replace(one, label=labels.of(one.label or "")) for one in (first, second)))
            except RowError as problem:
                yield BadRow(str(self.file), number, str(problem))

    def _example(self, row: Row, name: str, edited: Mapping[str, str] | None = None) -> Example:
        columns = {**self.texts, **(edited or {})}
        texts = {field: text_of(row, column) for field, column in columns.items()}
        label = row.get(self.label if edited is None else self.edited_label)
        return Example(name, texts, None if missing(label) else spelled(label))

    def _in_one_row(self, rows: Numbered) -> Iterator[Couple | BadRow]:
        for item in rows:
            if isinstance(item, BadRow):
                yield item
                continue
            number, row = item
            given = row.get(self.has.get("id", ""))
            name = f"{self.split}-{number}" if missing(given) else spelled(given)
            try:
                yield number, self._example(row, name), self._example(row, f"{name}-edited", self.edited)
            except RowError as problem:
                yield BadRow(str(self.file), number, str(problem))

    def _by_id(self, rows: Numbered) -> Iterator[Couple | BadRow]:
        waiting: dict[str, tuple[int, Example]] = {}
        done: set[str] = set()
        column = self.has[str(self.id)]
        for item in rows:
            if isinstance(item, BadRow):
                yield item
                continue
            number, row = item
            name = "" if missing(row.get(column)) else spelled(row[column])
            try:
                if not name or name in done:
                    raise RowError(
                        f"{column} '{name}' is {'there a third time' if name else 'empty'}; expected two rows for each"
                    )
                example = self._example(row, f"{name}-{'edited' if name in waiting else 'original'}")
            except RowError as problem:
                yield BadRow(str(self.file), number, str(problem))
                continue
            if name in waiting:
                done.add(name)
                yield number, waiting.pop(name)[1], example
            else:
                waiting[name] = number, example
        for name, (number, _) in waiting.items():
            yield BadRow(str(self.file), number, f"{column} '{name}' has one row; expected two")

    def _in_a_row(self, rows: Numbered) -> Iterator[Couple | BadRow]:
        before: tuple[int, Example] | None = None
        for item in rows:
            if isinstance(item, BadRow):
                yield item
                continue
            number, row = item
            try:
                example = self._example(row, f"{self.split}-{number}")
            except RowError as problem:
                yield BadRow(str(self.file), number, str(problem))
                continue
            if before is None:
                before = number, example
            elif any(before[1].texts[name] == text for name, text in example.texts.items()):
                yield number, before[1], example
                before = None
            else:
                yield BadRow(
                    str(self.file), before[0], "shares no sentence with the next row; expected couples of rows that do"
                )
                before = number, example
        if before:
            yield BadRow(str(self.file), before[0], "shares no sentence with the next row; expected couples of rows that do")
