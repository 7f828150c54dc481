"""BackSelect (Carter et al. 2019, sufficient input subsets), on word pairs.

All cells are kept at first. In every round the remaining cell whose removal leaves the predicted label's logit highest is taken
out (ties: the first in reading order). The order of removal is the ranking: score = round of removal / cells, so that the last
one left, without which the prediction suffers most, scores 1.

Cost: N (N + 1) / 2 forward passes for N = premise × hypothesis; every round is one batch, and pairs run side by side.
"""

import numpy as np

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, by_masks
from whence.run.masks import MaskRounds


def back_select_rounds(ask: PairAsk) -> MaskRounds[Cells]:
    kept = np.ones(ask.shape, dtype=np.float32)
    left = np.argwhere(ask.read)
    scores, count = np.zeros(ask.shape), len(left)
    while len(left) > 1:
        without = np.repeat(kept[None], len(left), axis=0)
        without[np.arange(len(left)), left[:, 0], left[:, 1]] = 0
        logits = yield without
        gone = int(logits[:, ask.target].argmax())
        kept[tuple(left[gone])] = 0
        scores[tuple(left[gone])] = (count - len(left) + 1) / count
        left = np.delete(left, gone, axis=0)
    scores[tuple(left[0])] = 1.0
    return Cells(scores)


METHODS = [
    AlignmentMethod(
        "back_select",
        "BackSelect",
        "Word pairs in the order in which they can be done without, the least needed first.",
        "Carter et al. 2019",
        "(premise × hypothesis)² / 2 forward",
        by_masks(back_select_rounds),
    )
]
