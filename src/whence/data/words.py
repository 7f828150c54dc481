"""Words are the unit that people see; here is the only place that says what a word is.

A word is a run of letters, marks and digits (with inner apostrophes and hyphens, and points or commas inside numbers), one
Chinese or Japanese character, or a run of punctuation. Words are character spans of the unchanged text, so slicing the text
with a span always returns the word. The same pattern drives our word-level tokenizer, so there one word is one token.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import regex

Span = tuple[int, int]
"""Half-open character interval [start, end)."""

_LETTERS = r"[\p{L}\p{M}\p{N}_]"
WORD_PATTERN = (
    r"[\p{Han}\p{Hiragana}\p{Katakana}]"
    rf"|(?:(?![\p{{Han}}\p{{Hiragana}}\p{{Katakana}}]){_LETTERS})+"
    rf"(?:(?:['’-]|(?<=\p{{N}})[.,](?=\p{{N}}))(?:(?![\p{{Han}}\p{{Hiragana}}\p{{Katakana}}]){_LETTERS})+)*"
    r"|(?:[^\s\p{L}\p{M}\p{N}_]\p{M}*)+"
)
_WORD = regex.compile(WORD_PATTERN)


def word_spans(text: str) -> list[Span]:
    """Where the words of `text` are."""
    return [match.span() for match in _WORD.finditer(text)]


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def space_spans(text: str) -> list[Span]:
    """Where the whitespace-separated tokens of `text` are: the unit of e-SNLI's stars and of ERASER's token numbers."""
    return [match.span() for match in regex.finditer(r"\S+", text)]


def covered(spans: Sequence[Span], by: Iterable[Span]) -> np.ndarray:
    """Which of `spans` share at least one character with any span in `by` → bool[len(spans)]."""
    starts = np.array([s for s, _ in spans], dtype=np.int64)
    ends = np.array([e for _, e in spans], dtype=np.int64)
    hit = np.zeros(len(spans), dtype=bool)
    for start, end in by:
        hit |= (starts < end) & (ends > start)
    return hit


def runs(mask: Sequence[bool] | np.ndarray) -> list[Span]:
    """Maximal runs of true values as half-open index intervals."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, dtype=np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
