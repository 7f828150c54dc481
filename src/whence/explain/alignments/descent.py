"""Descent on the mask itself, to a true local minimum of L0 + 0.15 (L1 + L2) over masks that keep the label.

A gradient search over log α ends near a good mask, not in it. So several masks go downhill side by side, and the best of them
goes on until **no neighbour is better**: every neighbour (neighbours.py: single cells, rows, columns, rectangles) that could be
better has been tried. One that could not be better need not be tried: L0 ≥ 0, so a mask whose size alone costs as much as the
current objective cannot win.

In every round the Jacobian of the logits at the mask predicts what a change does (Gauss–Newton): L0 ≈ ‖M(Z) + J·ΔZ − M(x)‖.
Neighbours are tried in the order of that prediction; besides them *jumps*, several flips at once, and *swaps*, a kept cell for
another, which the prediction likes. A mask that loses the label counts 1000 more, so a descent may start from one.
The objective is the paper's discrete one; this way of ending the search is ours.

Cost of a round: forward and backward once for each label, and TRIED forward passes, for each mask on its way; at the end the
neighbours of the best that could be better, a few dozen to a few hundred forward passes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from whence.explain.alignments.method import PairAsk
from whence.explain.alignments.neighbours import Many, Mask, flip_sizes, neighbours, sizes
from whence.explain.alignments.objective import WEIGHT
from whence.run.masks import MaskRounds, Slopes

TRIED = 24
"""Masks that a descent tries in a round."""
GOING = 3
"""Starts that go downhill: the best of those given."""
AT_ONCE = 64
"""Neighbours of the best mask that are tried in one go."""
JUMPS = (2, 3, 4, 6, 8, 12)
"""Flips of a jump."""
SWAPS = 64
LEAST_GAIN = 1e-4
"""What counts as better: less than that is rounding, and would make a mask depend on the batch it was made in."""
LOST = 1000.0
"""What a lost label adds to the objective."""


@dataclass
class Reached:
    mask: Bool[np.ndarray, "premise hypothesis"]
    fidelity: float
    objective: float
    label_kept: bool


@dataclass
class Spot:
    """Where one descent is: its mask (of the words that the model reads), and what is still to try around it, best first."""

    mask: Mask
    value: float
    waiting: Many = field(default_factory=lambda: np.empty((0, 0, 0), dtype=bool))


class Frame:
    """The words that the model reads: masks are searched there and widened to the whole pair when they are tried."""

    def __init__(self, ask: PairAsk) -> None:
        self.ask = ask
        self.cells: tuple[Any, ...] = np.ix_(ask.read.any(1), ask.read.any(0))
        self.shape = int(ask.read.any(1).sum()), int(ask.read.any(0).sum())

    def widened(self, masks: Many) -> Float[np.ndarray, "masks premise hypothesis"]:
        out = np.zeros((len(masks), *self.ask.shape), dtype=np.float32)
        out[:, *self.cells] = masks
        return out

    def cost(self, logits: Float[np.ndarray, "*masks labels"]) -> Float[np.ndarray, " *masks"]:
        """L0, and what a lost label adds."""
        lost = logits.argmax(-1) != self.ask.target
        return np.linalg.norm(logits - self.ask.logits, axis=-1) + LOST * lost

    def values(self, masks: Many) -> MaskRounds[Float[np.ndarray, " masks"]]:
        logits = yield self.widened(masks)
        return self.cost(logits) + WEIGHT * sizes(masks)


def descend_rounds(ask: PairAsk, starts: Sequence[np.ndarray]) -> MaskRounds[Reached]:
    """From the given masks downhill, all side by side; the best local minimum that is found."""
    frame = Frame(ask)
    several = distinct(np.stack([np.asarray(start, dtype=bool)[frame.cells] for start in starts]))
    values = yield from frame.values(several)
    order = np.argsort(values, kind="stable")[:GOING]
    spots = [Spot(several[i], float(values[i])) for i in order]
    moving = spots
    while moving:
        yield from _look_around(frame, moving)
        moving = yield from _move(frame, moving, TRIED)
        spots = _apart(spots)
        moving = [spot for spot in moving if any(spot is other for other in spots)]
    best = min(spots, key=lambda spot: spot.value)
    while len(best.waiting):
        if (yield from _move(frame, [best], AT_ONCE)):
            yield from _look_around(frame, [best])
    [logits] = yield frame.widened(best.mask[None])
    distance, kept = float(np.linalg.norm(logits - ask.logits)), int(logits.argmax()) == ask.target
    return Reached(frame.widened(best.mask[None])[0] > 0, distance, distance + WEIGHT * float(sizes(best.mask)), kept)


def _move(frame: Frame, spots: list[Spot], count: int) -> MaskRounds[list[Spot]]:
    """Try the next `count` masks around each spot; those that found a better one go there and are returned."""
    tries = [spot.waiting[:count] for spot in spots]
    for spot in spots:
        spot.waiting = spot.waiting[count:]
    if not sum(map(len, tries)):
        return []
    values = yield from frame.values(np.concatenate([t for t in tries if len(t)]))
    moved, first = [], 0
    for spot, tried in zip(spots, tries, strict=True):
        here = values[first : first + len(tried)]
        first += len(tried)
        if len(tried) and here.min() < spot.value - LEAST_GAIN:
            spot.mask, spot.value = tried[here.argmin()], float(here.min())
            moved.append(spot)
    return moved


def _look_around(frame: Frame, spots: list[Spot]) -> MaskRounds[None]:
    """Line up, for every spot, the masks that could be better than it, in the order of the prediction."""
    labels = len(frame.ask.logits)
    at = frame.widened(np.repeat(np.stack([spot.mask for spot in spots]), labels, axis=0))
    logits, slopes = yield Slopes(at, _each_label_once)
    slopes = slopes[:, *frame.cells].reshape(len(spots), labels, -1)
    for spot, here, jacobian in zip(spots, logits[::labels], slopes, strict=True):
        around = neighbours(spot.mask)
        price = WEIGHT * sizes(around)
        around, price = (x[price < spot.value - LEAST_GAIN] for x in (around, price))
        signed = (around ^ spot.mask).reshape(len(around), spot.mask.size) * np.where(spot.mask, -1.0, 1.0).ravel()
        around = around[np.argsort(frame.cost(here + signed @ jacobian.T) + price, kind="stable")]
        jumps, swaps = (more(frame, spot.mask, here, jacobian) for more in (_jumps, _swaps))
        spot.waiting = distinct(np.concatenate([around[: TRIED // 2], jumps[:3], swaps[:3], around, jumps, swaps]))


def _each_label_once(logits: Tensor, which: Tensor) -> Tensor:
    """Every mask stands there once for each label: the slopes are the Jacobian's rows."""
    return logits.gather(1, (which % logits.shape[1])[:, None])[:, 0]


def _jumps(frame: Frame, mask: Mask, logits: np.ndarray, jacobian: np.ndarray) -> Many:
    """Flip after flip, each the one that the prediction likes best after those before it; some of the masks on the way."""
    mask, found, free = mask.copy(), [], np.ones(mask.size, dtype=bool)
    for step in range(1, min(max(JUMPS), mask.size) + 1):
        signs = np.where(mask, -1.0, 1.0).ravel()
        after = logits + signs[:, None] * jacobian.T
        promised = np.where(free, frame.cost(after) + WEIGHT * flip_sizes(mask).ravel(), np.inf)
        chosen = int(promised.argmin())
        logits, free[chosen] = after[chosen], False
        mask.flat[chosen] ^= True
        if step in JUMPS:
            found.append(mask.copy())
    return np.array(found, dtype=bool).reshape(-1, *mask.shape)


def _swaps(frame: Frame, mask: Mask, logits: np.ndarray, jacobian: np.ndarray) -> Many:
    """A kept cell for one that is not: the best by prediction, sizes of the two flips added up."""
    kept, other = np.flatnonzero(mask), np.flatnonzero(~mask)
    if not len(kept) or not len(other):
        return np.empty((0, *mask.shape), dtype=bool)
    after = logits - jacobian.T[kept][:, None] + jacobian.T[other][None]
    change = flip_sizes(mask).ravel()
    promised = frame.cost(after) + WEIGHT * (change[kept][:, None] + change[other][None])
    best = np.argsort(promised, axis=None, kind="stable")[:SWAPS]
    found = np.repeat(mask[None], len(best), axis=0).reshape(len(best), -1)
    found[np.arange(len(best)), kept[best // len(other)]] = False
    found[np.arange(len(best)), other[best % len(other)]] = True
    return found.reshape(-1, *mask.shape)


def distinct(masks: Many) -> Many:
    """Each once, in the order of their first place."""
    _, first = np.unique(
        np.packbits(masks.reshape(len(masks), masks[0].size if len(masks) else 0), axis=1), axis=0, return_index=True
    )
    return masks[np.sort(first)]


def _apart(spots: list[Spot]) -> list[Spot]:
    """Of descents that have met, one."""
    return list({spot.mask.tobytes(): spot for spot in reversed(spots)}.values())[::-1]
