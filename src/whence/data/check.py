"""Is a corpus as it should be? Goes through every row of every split, and of every published file, and reports all it finds."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whence.data.corpus import BadRow, Corpus
from whence.data.example import FIELDS, Example
from whence.data.files import Row, stored
from whence.data.readers.published import File, PublishedCorpus
from whence.errors import BadInput

Seen = tuple[int, str, str | None] | BadRow
"""A row as it was met: its number, its label ("" for none) and its flaw, if any."""


@dataclass(frozen=True)
class Count:
    """What was found in a split or file, and what was expected (`None`, or no labels: nothing is known)."""

    name: str
    rows: int
    expected: int | None
    labels: Mapping[str, int]
    expected_labels: Mapping[str, int]
    bad: tuple[BadRow, ...]

    @property
    def ok(self) -> bool:
        return not self.problems()

    def problems(self) -> list[str]:
        found = [str(bad) for bad in self.bad]
        if self.expected is not None and self.rows != self.expected:
            found.append(f"{self.name}: {self.rows} rows; expected {self.expected}")
        for label, number in self.expected_labels.items():
            if self.labels.get(label, 0) != number:
                found.append(f"{self.name}: {self.labels.get(label, 0)} rows with label {label}; expected {number}")
        return found


@dataclass(frozen=True)
class CheckReport:
    corpus: str
    splits: tuple[Count, ...]
    files: tuple[Count, ...]

    @property
    def ok(self) -> bool:
        return not self.problems()

    @property
    def bad_rows(self) -> list[BadRow]:
        """Every bad row once: a file that is bad is bad in the splits read from it too."""
        return list(dict.fromkeys(bad for count in (*self.splits, *self.files) for bad in count.bad))

    def problems(self) -> list[str]:
        """One line per problem; none if all is well."""
        return list(dict.fromkeys(line for count in (*self.splits, *self.files) for line in count.problems()))


def flaw(example: Example, corpus: Corpus) -> str | None:
    """What is wrong with an example that could be read, if anything."""
    if tuple(example.texts) != FIELDS[corpus.task]:
        return f"texts {', '.join(example.texts)}; expected {', '.join(FIELDS[corpus.task])}"
    if example.label is not None and example.label not in corpus.labels:
        return f"label '{example.label}'; expected one of {', '.join(corpus.labels)}"
    if corpus.task == "choice" and len(example.choices) != len(corpus.labels):
        return f"{len(example.choices)} choices; expected {len(corpus.labels)}"
    spans = [(name, span) for marked in example.highlights for name, several in marked.items() for span in several]
    spans += [(name, span) for pair in example.pairs for name, span in zip(FIELDS[corpus.task], pair, strict=True)]
    spans += [(name, span) for name, several in example.edits.items() for span in several]
    for name, (start, end) in spans:
        size = len(example.texts.get(name, ""))
        if not 0 <= start < end <= size:
            return f"a marked span [{start}, {end}) in {name}; expected one within its {size} characters"
    return None


def _count(name: str, items: Iterable[Seen], expected: int | None, labels: Mapping[str, int]) -> Count:
    rows, seen, bad = 0, Counter[str](), []
    try:
        for item in items:
            if isinstance(item, BadRow):
                bad.append(item)
            elif item[2] is not None:
                bad.append(BadRow(name, item[0], item[2]))
            else:
                rows += 1
                seen[item[1]] += 1
    except BadInput as problem:  # the whole file is missing or empty
        bad.append(BadRow(name, rows + 1, str(problem)))
    return Count(name, rows, expected, dict(seen), labels, tuple(bad))


def _split(corpus: Corpus, split: str) -> Count:
    def items() -> Iterable[Seen]:
        for number, row in enumerate(corpus.rows(split), 1):
            yield row if isinstance(row, BadRow) else (number, row.label or "", flaw(row, corpus))

    return _count(f"{corpus.name}/{split}", items(), corpus.expected.get(split), {})


def _file(corpus: PublishedCorpus, file: File) -> Count:
    def label(row: Row) -> str:
        return str(row.get(file.label, ""))

    def items() -> Iterable[Seen]:
        for item in file.read(stored(corpus.root, file.name)):
            yield item if isinstance(item, BadRow) else (item[0], label(item[1]), None)

    return _count(file.name, items(), file.rows, file.labels)


def check(corpus: Corpus) -> CheckReport:
    """Counts per split and label, bad rows, and what was expected. `problems()` is empty and `ok` true if all is well."""
    files = tuple(_file(corpus, file) for file in corpus.files) if isinstance(corpus, PublishedCorpus) else ()
    return CheckReport(corpus.name, tuple(_split(corpus, split) for split in corpus.splits), files)
