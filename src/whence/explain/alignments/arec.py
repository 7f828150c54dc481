"""AREC (Jiang et al. 2021): the smallest, least ragged mask of word pairs that keeps the logits.

  minimise  L0 + 0.15 (L1 + L2)  over masks that keep the label      (objective.py)

1. *Starts*: the relaxation's Z̃ = 1[log α > 0] (relaxation.py); the best of the top-k masks of co-attention, of leave-one-out
   and of log α; the empty mask. `starts` says which, "random" (half of the cells) is one more.
2. *Descent* from the best three of them in one batch, to a mask that no neighbour improves (descent.py).
3. *Rivals*: every top-k mask of these three rankings. One that is better is descended from in turn, until none is. L0 ≥ 0, so a
   mask whose cells alone cost as much as the objective is no rival: mostly k is below 15.
4. If even that loses the label, cells are added by decreasing log α until it is kept. With all of them it is.

Scores are log α, moved half-way to 10 where the cell is kept at last and half-way to −10 where it is not; without the
relaxation log α is 0 everywhere. `end="relaxation"` is the paper's own mask: Z̃ of the last log α, label kept or not.

The noise of the relaxation comes from the pair and from `stream` alone: neither the seed of a run nor company nor order changes
a mask. Another stream may end in another minimum; benchmarks/alignment_minima.py says how often and by how much.
Cost: at most steps × samples forward and backward passes, cells forward for leave-one-out, a few hundred for the descents.
"""

from dataclasses import replace

import numpy as np

from whence.errors import BadInput
from whence.explain.alignments.co_attention import co_attention_rounds
from whence.explain.alignments.descent import LEAST_GAIN, Frame, Reached, descend_rounds, distinct
from whence.explain.alignments.leave_one_out import leave_one_out_rounds
from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, by_masks
from whence.explain.alignments.neighbours import sizes, top_masks
from whence.explain.alignments.objective import WEIGHT
from whence.explain.alignments.relaxation import BOUND, Relaxed, relax_rounds
from whence.explain.parameters import POSITIVE, STEPS, Range
from whence.run.masks import MaskRounds

STARTS = ("relaxation", "co_attention", "leave_one_out", "empty", "random")
ENDS = ("local_minimum", "relaxation")
LADDER = np.array([0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512])
"""Sizes of the top-k masks that are tried as starts."""
AT_ONCE = 256
"""Masks that are tried in one go while cells are added."""


def arec_rounds(
    ask: PairAsk, steps: int, samples: int, learning_rate: float, start: float, patience: int, stream: int, starts: str,
    end: str,
) -> MaskRounds[Cells]:  # fmt: skip
    names = [name.strip() for name in starts.split(",")]
    if not set(names) <= set(STARTS):
        raise BadInput(f"arec: starts '{starts}'; expected some of {', '.join(STARTS)}, with commas between them")
    relaxed = Relaxed(np.zeros(ask.shape), np.zeros(ask.shape), 0)
    if end not in ENDS:
        raise BadInput(f"arec: end '{end}'; expected {' or '.join(ENDS)}")
    if "relaxation" in names or end == "relaxation":
        relaxed = yield from relax_rounds(replace(ask, seed=stream), steps, samples, learning_rate, start, patience)
    notes = {"steps": float(relaxed.steps)}
    if end == "relaxation":
        mask = relaxed.last > 0
        [logits] = yield mask[None].astype(np.float32)
        return _settled(relaxed.last, _reached(ask, mask, logits), notes, ask)
    rankings = []
    if "relaxation" in names:
        rankings.append(relaxed.last)
    if "co_attention" in names:
        rankings.append((yield from co_attention_rounds(ask)).scores)
    if "leave_one_out" in names:
        rankings.append((yield from leave_one_out_rounds(ask)).scores)
    masks = yield from _best_top_masks(ask, rankings)
    if "relaxation" in names:
        masks.append(relaxed.best > 0)
    if "empty" in names:
        masks.append(np.zeros(ask.shape, dtype=bool))
    if "random" in names:
        masks.append((ask.generator("arec start").random(ask.shape) < 0.5) & ask.read)
    reached = yield from descend_rounds(ask, masks)
    if not reached.label_kept:
        return (yield from _grow(ask, Cells(relaxed.best, notes=notes)))
    reached = yield from unrivalled_rounds(ask, rankings, reached)
    return _settled(relaxed.best, reached, notes, ask)


def _best_top_masks(ask: PairAsk, rankings: list[np.ndarray]) -> MaskRounds[list[np.ndarray]]:
    """Of each ranking, the best of some sizes."""
    frame, found = Frame(ask), []
    for scores in rankings:
        inner = scores[frame.cells]
        masks = top_masks(inner, np.append(LADDER[inner.size > LADDER], inner.size))
        values = yield from frame.values(masks)
        found.append(frame.widened(masks[values.argmin()][None])[0] > 0)
    return found


def unrivalled_rounds(ask: PairAsk, rankings: list[np.ndarray], reached: Reached) -> MaskRounds[Reached]:
    """A local minimum that no top-k mask of a ranking beats."""
    frame = Frame(ask)
    while rankings:
        counts = np.arange(min(ask.read.sum(), int(reached.objective / WEIGHT)) + 1)
        rivals = distinct(np.concatenate([top_masks(scores[frame.cells], counts) for scores in rankings]))
        values = yield from frame.values(rivals)
        if values.min() >= reached.objective - LEAST_GAIN:
            break
        reached = yield from descend_rounds(ask, [frame.widened(rivals[values.argmin()][None])[0] > 0])
    return reached


def _reached(ask: PairAsk, mask: np.ndarray, logits: np.ndarray) -> Reached:
    distance = float(np.linalg.norm(logits - ask.logits))
    return Reached(mask, distance, distance + WEIGHT * float(sizes(mask)), int(logits.argmax()) == ask.target)


def _grow(ask: PairAsk, cells: Cells) -> MaskRounds[Cells]:
    """Add cells by decreasing score until the label is kept; with all of them it is."""
    order = np.flatnonzero(ask.read)[np.argsort(-cells.scores[ask.read], kind="stable")]
    ranks = np.full(ask.shape, len(order))
    ranks.flat[order] = np.arange(len(order))
    for start in range(1, len(order) + 1, AT_ONCE):
        counts = np.arange(start, min(start + AT_ONCE, len(order) + 1))
        masks = ranks < counts[:, None, None]
        several = yield masks.astype(np.float32)
        fitting = np.flatnonzero((several.argmax(1) == ask.target) | (counts == len(order)))
        if len(fitting):
            break
    return _settled(cells.scores, _reached(ask, masks[fitting[0]], several[fitting[0]]), cells.notes, ask)


def _settled(log_alpha: np.ndarray, reached: Reached, notes: dict[str, float], ask: PairAsk) -> Cells:
    """log α half-way towards the end that its cell was given: kept cells come first, and within both the order stays."""
    scores = (np.where(reached.mask, BOUND, -BOUND) + log_alpha) / 2 * ask.read
    return Cells(scores, reached.mask, {**notes, "objective": reached.objective, "fidelity": reached.fidelity})


METHODS = [
    AlignmentMethod(
        "arec",
        "AREC",
        "The smallest and least ragged set of word pairs under which the prediction stays as it is.",
        "Jiang et al. 2021",
        "steps × samples × (forward + backward), at most",
        by_masks(arec_rounds, makes_mask=True),
        {
            "steps": 12, "samples": 6, "learning_rate": 0.3, "start": 1.0, "patience": 10, "stream": 0,
            "starts": "relaxation,co_attention,leave_one_out,empty", "end": "local_minimum",
        },
        {
            "steps": STEPS, "samples": STEPS, "learning_rate": POSITIVE, "start": Range(-100, 100), "patience": STEPS,
            "stream": Range(0, 2**32 - 1),
        },
        makes_mask=True,
    )
]  # fmt: skip
