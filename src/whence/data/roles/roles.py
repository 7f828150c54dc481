"""Who did what to whom, as a plain value: the predicates of a sentence, each with its arguments, by words (data/words.py).

Role names are those of the source (PropBank's ARG0, ARG1, ARGM-TMP … or a parser's own). Both sentences of a pair must come
from the same source, because only equal names are ever compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.data.words import Span, covered


@dataclass(frozen=True)
class Argument:
    """The words [start, end) of a phrase and the role that it plays."""

    role: str
    start: int
    end: int


@dataclass(frozen=True)
class Predicate:
    """A verb: its lemma, where it stands, and its arguments from left to right."""

    lemma: str
    word: int
    arguments: tuple[Argument, ...] = ()


Roles = tuple[Predicate, ...]
"""The predicates of one sentence, in the order in which they stand."""


def ordered(predicates: Sequence[Predicate]) -> Roles:
    """In the order of the sentence, arguments too; the same argument twice counts once."""
    tidy = [
        Predicate(p.lemma, p.word, tuple(sorted(set(p.arguments), key=lambda a: (a.start, a.end, a.role)))) for p in predicates
    ]
    return tuple(sorted(tidy, key=lambda p: p.word))


def words_in(spans: Sequence[Span], start: int, end: int) -> Span | None:
    """Characters [start, end) as an interval of words: all that they touch; None if they touch none."""
    hit = np.flatnonzero(covered(spans, [(start, end)]))
    return (int(hit[0]), int(hit[-1]) + 1) if len(hit) else None
