"""The masks next to a mask, and how large each is. Pure arrays; no model.

Neighbours of a mask are those that differ from it
- in one cell;
- in one row or column, which is emptied or filled;
- at one of its 4-connected components: it is taken out; the rectangle around it is filled; one row or column at the rectangle's
  edge is emptied, or one beside it is filled.

size = L1 + L2: the ones, and the 2 × 2 windows with exactly three of them (Jiang et al. 2021, eqs. 8 and 9).
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import ndimage

Mask = Bool[np.ndarray, "premise hypothesis"]
Many = Bool[np.ndarray, "masks premise hypothesis"]


def ones_in_windows(masks: Bool[np.ndarray, "*masks premise hypothesis"]) -> Int[np.ndarray, "*masks windows_p windows_h"]:
    ones = masks.astype(np.int8)
    pairs = ones[..., :-1, :] + ones[..., 1:, :]
    return pairs[..., :-1] + pairs[..., 1:]


def sizes(masks: Bool[np.ndarray, "*masks premise hypothesis"]) -> Int[np.ndarray, " *masks"]:
    return masks.sum((-2, -1)) + (ones_in_windows(masks) == 3).sum((-2, -1))


def flip_sizes(mask: Mask) -> Int[np.ndarray, "premise hypothesis"]:
    """By how much the size changes when a cell is flipped, for every cell."""
    rows, columns = mask.shape
    change = np.where(mask, -1, 1)
    around = np.pad(ones_in_windows(mask), 1, constant_values=-9)  # a window that is not there never holds three
    for down in (0, 1):
        for right in (0, 1):
            window = around[down : down + rows, right : right + columns]
            change = change + (window + np.where(mask, -1, 1) == 3) - (window == 3)
    return change


def neighbours(mask: Mask) -> Many:
    """All of them, each once, without the mask itself; single cells first."""
    flips = mask ^ np.eye(mask.size, dtype=bool).reshape(-1, *mask.shape)
    several = np.concatenate([flips, np.array(_lines(mask) + _rectangles(mask)).reshape(-1, *mask.shape)])
    packed = np.packbits(several.reshape(len(several), -1), axis=1)
    own = np.packbits(mask.ravel())
    _, first = np.unique(packed, axis=0, return_index=True)
    first = np.sort(first)
    return several[first[(packed[first] != own).any(1)]]


def _with(mask: Mask, rows: slice, columns: slice, value: bool) -> Mask:
    changed = mask.copy()
    changed[rows, columns] = value
    return changed


def _lines(mask: Mask) -> list[Mask]:
    everything = slice(None)
    rows = [_with(mask, slice(i, i + 1), everything, value) for i in range(mask.shape[0]) for value in (False, True)]
    return rows + [_with(mask, everything, slice(j, j + 1), value) for j in range(mask.shape[1]) for value in (False, True)]


def _rectangles(mask: Mask) -> list[Mask]:
    numbered, _ = ndimage.label(mask)
    found = []
    for number, (rows, columns) in enumerate(ndimage.find_objects(numbered), 1):
        component = numbered == number
        found += [mask & ~component, _with(mask, rows, columns, True)]
        for edge in _edges(rows, columns):
            trimmed = mask.copy()
            trimmed[edge] &= ~component[edge]
            found.append(trimmed)
        found += [_with(mask, *beside, True) for beside in _beside(rows, columns, mask.shape)]
    return found


def _edges(rows: slice, columns: slice) -> list[tuple[slice, slice]]:
    return [
        (slice(rows.start, rows.start + 1), columns), (slice(rows.stop - 1, rows.stop), columns),
        (rows, slice(columns.start, columns.start + 1)), (rows, slice(columns.stop - 1, columns.stop)),
    ]  # fmt: skip


def _beside(rows: slice, columns: slice, shape: tuple[int, int]) -> list[tuple[slice, slice]]:
    """Where the lines lie outside the mask's frame, nothing is left to fill."""
    lines = [
        (slice(rows.start - 1, rows.start), columns), (slice(rows.stop, rows.stop + 1), columns),
        (rows, slice(columns.start - 1, columns.start)), (rows, slice(columns.stop, columns.stop + 1)),
    ]  # fmt: skip
    return [(r, c) for r, c in lines if r.start >= 0 and c.start >= 0 and r.stop <= shape[0] and c.stop <= shape[1]]


def top_masks(scores: Float[np.ndarray, "premise hypothesis"], counts: Int[np.ndarray, " counts"]) -> Many:
    """Masks of the `count` best cells; equal scores in reading order."""
    ranks = np.empty(scores.size, dtype=int)
    ranks[np.argsort(-scores, axis=None, kind="stable")] = np.arange(scores.size)
    return (ranks < counts[:, None]).reshape(len(counts), *scores.shape)
