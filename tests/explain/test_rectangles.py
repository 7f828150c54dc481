"""Masks as rectangles: they cover exactly the ones, do not overlap, and read as phrases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from whence.data import word_spans
from whence.explain.alignments.rectangles import Rectangle, components, phrase_pairs, rectangles

masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.booleans())


@given(masks)
def test_they_cover_exactly_the_ones_and_do_not_overlap(mask: np.ndarray) -> None:
    count = np.zeros(mask.shape, dtype=int)
    for rectangle in rectangles(mask):
        assert rectangle.area > 0
        count[rectangle.cells] += 1
    assert (count == mask).all()


@given(masks)
def test_the_largest_rectangle_of_the_mask_is_one_of_them(mask: np.ndarray) -> None:
    height, width = mask.shape
    brute = max(
        (
            (b - t) * (r - x)
            for t in range(height) for b in range(t + 1, height + 1) for x in range(width) for r in range(x + 1, width + 1)
            if mask[t:b, x:r].all()
        ),
        default=0,
    )  # fmt: skip
    assert max((r.area for r in rectangles(mask)), default=0) == brute


@given(masks)
def test_components_are_what_a_flood_fill_finds(mask: np.ndarray) -> None:
    left = {(int(i), int(j)) for i, j in np.argwhere(mask)}
    flooded = []
    while left:
        queue, seen = [min(left)], set()
        while queue:
            i, j = queue.pop()
            if (i, j) in left:
                left.discard((i, j))
                seen.add((i, j))
                queue += [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
        flooded.append(seen)
    found = [{(int(i), int(j)) for i, j in np.argwhere(c)} for c in components(mask)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, flooded))


@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 4), st.integers(1, 4))
def test_a_rectangle_stays_whole(top: int, left: int, height: int, width: int) -> None:
    mask = np.zeros((8, 8), dtype=bool)
    mask[top : top + height, left : left + width] = True
    assert rectangles(mask) == [Rectangle(top, left, top + height, left + width)]


def test_a_corner_is_split_where_stated() -> None:
    """Two rectangles of two cells share the corner: both start at it, so the taller one is taken."""
    mask = np.array([[1, 1], [1, 0]], dtype=bool)
    assert rectangles(mask) == [Rectangle(0, 0, 2, 1), Rectangle(0, 1, 1, 2)]
    diagonal = np.eye(2, dtype=bool)
    assert rectangles(diagonal) == [Rectangle(0, 0, 1, 1), Rectangle(1, 1, 2, 2)]
    assert rectangles(np.zeros((3, 2), dtype=bool)) == []


def test_phrases_are_slices_of_the_text() -> None:
    texts = {"premise": "People walk through  the park.", "hypothesis": "Two people drive a car."}
    spans = {name: word_spans(text) for name, text in texts.items()}
    mask = np.zeros((6, 6), dtype=bool)
    mask[0, 0:2] = mask[1:4, 2:5] = True
    assert phrase_pairs(mask, texts, spans) == [("People", "Two people"), ("walk through  the", "drive a car")]


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_single_rows_and_columns(shape: tuple[int, int]) -> None:
    assert rectangles(np.ones(shape, dtype=bool)) == [Rectangle(0, 0, *shape)]
