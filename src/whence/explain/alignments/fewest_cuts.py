"""The dual of AREC's question: which word pairs must be cut so that the model says something else?

  minimise |C|  over sets C of cells with  argmax M(x, 1 − C) ≠ y

The mask holds the cells of C: those to *cut*. Where no set that was tried changes the label, it is empty and the notes say
`changes_label` = 0. (A label may stay when all cells are cut and still change when some are.)

Search: (1) prefixes of three orders of the cells: by leave-one-out of the margin M_y − max_{k ≠ y} M_k, by its gradient at
Z = 1, and by a greedy removal that looks at the gradient again after every cut; the shortest that changes the label is taken.
(2) Cells are put back as long as one can be without the label returning, the one that leaves the margin lowest first; then two
are put back for one other that is cut, if the gradient recommends it. So C is irreducible: every cell of it is needed. That it
is the smallest of all sets is not proved. Scores are leave-one-out of the margin, cells of C above all others.

Cost: about 2 forward passes for each cell, and a forward and backward pass for each greedy cut (at most `greedy`).
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float

from whence.explain.alignments.descent import Frame
from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, by_masks
from whence.explain.alignments.neighbours import Many, Mask, top_masks
from whence.explain.parameters import STEPS
from whence.run.masks import MaskRounds, Slopes

LADDER = np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512])
TRADES = 64


@dataclass
class Cutter:
    """Margins and gradients of one pair by what is cut."""

    frame: Frame

    def margin(self, logits: np.ndarray) -> Float[np.ndarray, " sets"]:
        """Below 0 the label is another."""
        others = np.delete(logits, self.frame.ask.target, axis=1)
        # argmax takes the first of equals, so a tie with a later label does not change it
        return logits[:, self.frame.ask.target] - others.max(1)

    def margins(self, cuts: Many) -> MaskRounds[Float[np.ndarray, " sets"]]:
        return self.margin((yield self.frame.widened(~cuts)))

    def gains(self, cut: Mask) -> MaskRounds[Float[np.ndarray, " cells"]]:
        """To first order, how much the margin falls when a cell is cut."""
        target = self.frame.ask.target

        def loss(logits: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
            others = torch.cat([logits[:, :target], logits[:, target + 1 :]], dim=1)
            return logits[:, target] - others.max(1).values

        _, slopes = yield Slopes(self.frame.widened(~cut[None]), loss)
        return slopes[0][self.frame.cells].ravel()


def fewest_cuts_rounds(ask: PairAsk, greedy: int) -> MaskRounds[Cells]:
    cutter = Cutter(Frame(ask))
    shape = cutter.frame.shape
    count = shape[0] * shape[1]
    everything = np.ones((1, *shape), dtype=bool)
    [base] = yield from cutter.margins(~everything)
    alone = yield from cutter.margins(np.eye(count, dtype=bool).reshape(-1, *shape))
    scores = (base - alone).reshape(shape)
    [cut_all] = yield from cutter.margins(everything)
    found = None
    for order in (scores, (yield from cutter.gains(~everything[0])).reshape(shape)):
        cuts = top_masks(order, np.append(LADDER[count > LADDER], count))
        margins = yield from cutter.margins(cuts)
        found = _smaller(found, cuts[margins < 0])
    found = _smaller(found, (yield from _greedily(cutter, shape, min(greedy, count if found is None else int(found.sum())))))
    whole = np.zeros(ask.shape)
    if found is None:
        whole[cutter.frame.cells] = scores
        return Cells(whole, np.zeros(ask.shape, dtype=bool), {"changes_label": 0.0, "margin_without": float(cut_all)})
    found = yield from _trimmed(cutter, found)
    while (traded := (yield from _traded(cutter, found))) is not None:
        found = yield from _trimmed(cutter, traded)
    highest = float(np.abs(scores).max()) + 1.0
    whole[cutter.frame.cells] = np.where(found, scores + 2 * highest, scores)
    cut = cutter.frame.widened(found[None])[0] > 0
    return Cells(whole, cut, {"changes_label": 1.0, "cuts": float(found.sum()), "margin_without": float(cut_all)})


def _smaller(found: Mask | None, others: Many) -> Mask | None:
    several = [mask for mask in [found, *others] if mask is not None]
    return min(several, key=lambda mask: int(mask.sum()), default=None)


def _greedily(cutter: Cutter, shape: tuple[int, int], most: int) -> MaskRounds[Many]:
    """Cut the cell that the gradient likes best, look again, until the label is another."""
    cut = np.zeros(shape, dtype=bool)
    for _ in range(most):
        gains = yield from cutter.gains(cut)
        best = np.argsort(np.where(cut.ravel(), np.inf, -gains), kind="stable")[: min(4, int((~cut).sum()))]
        tries = np.repeat(cut[None], len(best), axis=0)
        tries.reshape(len(best), -1)[np.arange(len(best)), best] = True
        margins = yield from cutter.margins(tries)
        cut = tries[margins.argmin()]
        if margins.min() < 0:
            return cut[None]
    return np.empty((0, *shape), dtype=bool)


def _trimmed(cutter: Cutter, cut: Mask) -> MaskRounds[Mask]:
    """Put cells back, one at a time, while the label stays another."""
    while True:
        cells = np.flatnonzero(cut)
        fewer = np.repeat(cut[None], len(cells), axis=0)
        fewer.reshape(len(cells), -1)[np.arange(len(cells)), cells] = False
        margins = yield from cutter.margins(fewer)
        if margins.min() >= 0:
            return cut
        cut = fewer[margins.argmin()]


def _traded(cutter: Cutter, cut: Mask) -> MaskRounds[Bool[np.ndarray, "p h"] | None]:
    """One cell less: two are put back and one other is cut, as the gradient recommends; None if no try changes the label."""
    cells, others = np.flatnonzero(cut), np.flatnonzero(~cut)
    if len(cells) < 2 or not len(others):
        return None
    gains = yield from cutter.gains(cut)
    first, second = np.triu_indices(len(cells), 1)
    lost = gains[cells[first]] + gains[cells[second]]
    better = others[np.argsort(-gains[others], kind="stable")[:TRADES]]
    promised = lost[:, None] - gains[better][None]
    best = np.argsort(promised, axis=None, kind="stable")[:TRADES]
    tries = np.repeat(cut[None], len(best), axis=0).reshape(len(best), -1)
    rows = np.arange(len(best))
    tries[rows, cells[first[best // len(better)]]] = False
    tries[rows, cells[second[best // len(better)]]] = False
    tries[rows, better[best % len(better)]] = True
    margins = yield from cutter.margins(tries.reshape(-1, *cut.shape))
    return tries[margins.argmin()].reshape(cut.shape) if margins.min() < 0 else None


METHODS = [
    AlignmentMethod(
        "fewest_cuts",
        "Fewest cuts",
        "The fewest word pairs that must be cut so that the model says something else.",
        "–",
        "about 2 × premise × hypothesis forward",
        by_masks(fewest_cuts_rounds, makes_mask=True),
        {"greedy": 32},
        {"greedy": STEPS},
        makes_mask=True,
        mask_cuts=True,
    )
]
