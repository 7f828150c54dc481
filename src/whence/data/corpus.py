"""A corpus: named splits of examples, read when asked for.

A reader yields an `Example` for every good row and a `BadRow` for every bad one. `Corpus.load` stops at the first bad row with
one clear line; `whence data check` goes through and reports them all. Nothing is skipped in silence.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from whence.data.example import Example, Task
from whence.data.words import word_spans
from whence.errors import BadInput, unknown


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be read: the file, its row number (the first data row is 1) and what was wrong."""

    file: str
    row: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}, row {self.row}: {self.problem}"


Rows = Iterator[Example | BadRow]


@dataclass(frozen=True)
class Corpus:
    """`splits` maps a split's name to a function that reads it anew; `expected` holds the published number of rows."""

    name: str
    task: Task
    labels: tuple[str, ...]
    splits: Mapping[str, Callable[[], Rows]]
    about: str = ""
    expected: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a reader must say about how it read the data, such as labels that it took for one."""

    def rows(self, split: str) -> Rows:
        if split not in self.splits:
            raise unknown(f"split of {self.name}", split, list(self.splits))
        return self.splits[split]()

    def load(self, split: str, limit: int | None = None, seed: int = 0) -> list[Example]:
        """All examples of a split, or a seeded random `limit` of them in their original order.

        A random subset, not the first rows: many published files are sorted by label.
        """
        examples: list[Example] = []
        for row in self.rows(split):
            if isinstance(row, BadRow):
                raise BadInput(str(row))
            examples.append(row)
        if not examples:
            raise BadInput(f"{self.name}: split '{split}' has no rows; expected at least one example")
        if limit is None or limit >= len(examples):
            return examples
        return [examples[i] for i in _drawn(len(examples), limit, seed)]

    def select(self, split: str, limit: int | None = None, seed: int = 0) -> "Selection":
        """The examples of `load`, one after another: all are read once to count and check them, then each time anew."""
        there = 0
        for row in self.rows(split):
            if isinstance(row, BadRow):
                raise BadInput(str(row))
            there += 1
        if not there:
            raise BadInput(f"{self.name}: split '{split}' has no rows; expected at least one example")
        chosen = None if limit is None or limit >= there else frozenset(_drawn(there, limit, seed))
        return Selection(self, split, chosen, there if chosen is None else len(chosen))

    def part(self, limits: Mapping[str, int | None], seed: int = 0, longest: int | None = None) -> "Corpus":
        """The splits that `limits` names, of each a seeded random part (None: all), read once and held in memory.

        `longest` leaves out examples with more words than that, all texts together.
        """

        def short(split: str) -> Rows:
            for row in self.rows(split):
                if longest is None or isinstance(row, BadRow) or sum(map(_words, row.texts.values())) <= longest:
                    yield row

        shorter = replace(self, splits={split: partial(short, split) for split in limits})
        kept = {split: shorter.load(split, limit, seed) for split, limit in limits.items()}
        return replace(self, splits={split: partial(iter, examples) for split, examples in kept.items()})


@dataclass(frozen=True)
class Selection:
    """Examples of a split that need not fit into memory: they are read anew each time somebody goes through them."""

    corpus: Corpus
    split: str
    chosen: frozenset[int] | None
    """Which rows; None: all."""
    count: int

    def __len__(self) -> int:
        return self.count

    def __contains__(self, example: object) -> bool:
        return any(example == one for one in self)

    def __iter__(self) -> Iterator[Example]:
        for i, row in enumerate(self.corpus.rows(self.split)):
            if self.chosen is None or i in self.chosen:
                if isinstance(row, BadRow):  # the file was changed since it was checked
                    raise BadInput(str(row))
                yield row


def _drawn(there: int, limit: int, seed: int) -> list[int]:
    return sorted(random.Random(seed).sample(range(there), limit))


def _words(text: str) -> int:
    return len(word_spans(text))
