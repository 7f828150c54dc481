"""LIME (Ribeiro et al. 2016) on word pairs: a weighted ridge regression on random masks.

The full mask, then masks with every cell kept with probability ½. Weights π(z) = exp(−D²/width²), D = cosine distance to the
full mask.

  argmin_{b,w}  Σ π(z) (M_y(z) − b − wᵀz)² + ridge · ‖w‖²      scores = w

M_y is the predicted label's logit. Cost: n_samples forward passes.
"""

import numpy as np

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, by_masks
from whence.explain.parameters import POSITIVE, SAMPLES
from whence.explain.tokens.lime import weighted_ridge
from whence.run.masks import MaskRounds


def lime_rounds(ask: PairAsk, n_samples: int, width: float, ridge: float) -> MaskRounds[Cells]:
    chosen = ask.generator("lime").random((n_samples, int(ask.read.sum()))) < 0.5
    chosen[0] = True
    masks = np.ones((n_samples, *ask.shape), dtype=np.float32)
    masks[:, ask.read] = chosen
    logits = yield masks
    distance = 1 - np.sqrt(chosen.mean(axis=1))  # cosine distance of a 0/1 vector to all ones
    scores = np.zeros(ask.shape)
    scores[ask.read] = weighted_ridge(chosen, logits[:, ask.target], np.exp(-((distance / width) ** 2)), ridge)
    return Cells(scores)


METHODS = [
    AlignmentMethod(
        "lime",
        "LIME",
        "A linear model of the label's logit in the word pairs, fitted on random masks.",
        "Ribeiro et al. 2016",
        "n_samples forward",
        by_masks(lime_rounds),
        {"n_samples": 1000, "width": 0.25, "ridge": 1.0},
        {"n_samples": SAMPLES, "width": POSITIVE, "ridge": POSITIVE},
        stochastic=True,
    )
]
