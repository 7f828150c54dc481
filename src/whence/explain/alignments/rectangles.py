"""A mask read as rectangles of ones: every rectangle is one phrase of the premise aligned with one phrase of the hypothesis.

Cells belong together if they share an edge (two diagonal ones are two alignments, as contiguity counts them; Jiang et al. 2021,
eq. 7). A component that is not a rectangle is split: its largest rectangle is taken out (ties: the highest, then the leftmost,
then the tallest), what is left is split in the same way. So the rectangles are disjoint, cover exactly the ones, none can grow
within what was left when it was taken, and a component that is a rectangle stays whole.

Cost: none of the model; O(height² × width) for each rectangle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from scipy import ndimage

from whence.data import Span, runs


@dataclass(frozen=True, order=True)
class Rectangle:
    """Half-open intervals of premise words and of hypothesis words."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def area(self) -> int:
        return (self.bottom - self.top) * (self.right - self.left)

    @property
    def cells(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)


def components(mask: Bool[np.ndarray, "premise hypothesis"]) -> list[Bool[np.ndarray, "premise hypothesis"]]:
    """The 4-connected components, each as a mask of its own, in reading order of their first cell."""
    numbered, count = ndimage.label(np.asarray(mask, dtype=bool))
    return [numbered == number for number in range(1, count + 1)]


def rectangles(mask: Bool[np.ndarray, "premise hypothesis"]) -> list[Rectangle]:
    """The mask's rectangles, from top to bottom and left to right."""
    found = []
    for component in components(mask):
        while component.any():
            largest = _largest(component)
            component[largest.cells] = False
            found.append(largest)
    return sorted(found)


def _largest(mask: Bool[np.ndarray, "premise hypothesis"]) -> Rectangle:
    best: tuple[tuple[int, int, int, int], Rectangle] | None = None
    for top in np.flatnonzero(mask.any(1)):
        open_columns = mask[top]
        for bottom in range(top + 1, len(mask) + 1):
            open_columns = open_columns & mask[bottom - 1]
            if not open_columns.any():
                break
            for left, right in runs(open_columns):
                candidate = Rectangle(int(top), left, bottom, right)
                rank = (-candidate.area, candidate.top, left, -bottom)
                if best is None or rank < best[0]:
                    best = rank, candidate
    assert best is not None, "asked for a rectangle of an empty mask"
    return best[1]


def phrase(text: str, spans: Sequence[Span], start: int, end: int) -> str:
    """The words [start, end) of a text, as they stand there."""
    return text[spans[start][0] : spans[end - 1][1]]


def phrase_pairs(
    mask: Bool[np.ndarray, "premise hypothesis"],
    texts: Mapping[str, str],
    spans: Mapping[str, Sequence[Span]],
    before: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """The rectangles in words: ("walk through", "car driving"). `before` names rows and columns that stand before the words."""
    (first, rows), (second, columns) = spans.items()

    def said(text: str, spans_: Sequence[Span], start: int, end: int) -> str:
        words = [phrase(text, spans_, max(start - len(before), 0), end - len(before))] if end > len(before) else []
        return " ".join([*before[start:end], *words])

    return [
        (said(texts[first], rows, r.top, r.bottom), said(texts[second], columns, r.left, r.right)) for r in rectangles(mask)
    ]
