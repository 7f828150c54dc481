"""Leave-one-out: what the predicted label's logit loses when one word pair may not align.

  LOO_ij = M_y(x) − M_y(x, all ones but z_ij = 0)

The paper names the method and not the quantity; the signed loss of the explained label's logit is taken, so that a pair which
speaks against the label scores below 0. Cost: premise × hypothesis forward passes.
"""

import numpy as np

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, by_masks
from whence.run.masks import MaskRounds

AT_ONCE = 1 << 20
"""Cells of all masks that are asked for in one go: bounds memory where a pair has many."""


def leave_one_out_rounds(ask: PairAsk) -> MaskRounds[Cells]:
    scores = np.zeros(ask.shape)
    cells = np.argwhere(ask.read)
    masks = max(1, AT_ONCE // scores.size)
    for start in range(0, len(cells), masks):
        rows, columns = cells[start : start + masks].T
        without = np.ones((len(rows), *ask.shape), dtype=np.float32)
        without[np.arange(len(rows)), rows, columns] = 0
        logits = yield without
        scores[rows, columns] = ask.logits[ask.target] - logits[:, ask.target]
    return Cells(scores)


METHODS = [
    AlignmentMethod(
        "leave_one_out",
        "Leave-one-out",
        "What the label's logit loses when the two words may not align.",
        "Li et al. 2016",
        "premise × hypothesis forward",
        by_masks(leave_one_out_rounds),
    )
]
