"""Gradient and integrated gradients in the mask.

  gradient              ∂M_y/∂z_ij at Z = 1, signed
  integrated_gradients  (1/m) Σ_{k=1..m} ∂M_y/∂z_ij at Z = t_k · 1, t_k = (k − ½)/m   (midpoint rule, Sundararajan et al. 2017)

M_y is the predicted label's logit. The path of integrated gradients leads from no alignment at all to the model as it is, so
the scores add up to M_y(1) − M_y(0), up to the completeness error that is noted with every explanation.

Cost: 1 forward + 1 backward; n_steps of each, and 1 forward for the error.
"""

import numpy as np

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, by_masks
from whence.explain.parameters import STEPS
from whence.run.masks import MaskRounds, Slopes


def gradients_at(ask: PairAsk, levels: np.ndarray) -> MaskRounds[np.ndarray]:
    """Of the label's logit at Z = level · 1: float[levels, premise, hypothesis]."""
    masks = np.ones((len(levels), *ask.shape), dtype=np.float32) * levels[:, None, None].astype(np.float32)
    _, slopes = yield Slopes(masks, lambda logits, _: logits[:, ask.target])
    return slopes


def gradient_rounds(ask: PairAsk) -> MaskRounds[Cells]:
    slopes = yield from gradients_at(ask, np.ones(1))
    return Cells(slopes[0])


def integrated_gradients_rounds(ask: PairAsk, n_steps: int) -> MaskRounds[Cells]:
    slopes = yield from gradients_at(ask, (np.arange(n_steps) + 0.5) / n_steps)
    [nothing] = yield np.zeros((1, *ask.shape), dtype=np.float32)
    scores = slopes.mean(axis=0)
    missing = scores.sum() - ask.logits[ask.target] + nothing[ask.target]
    return Cells(scores, notes={"completeness_error": float(abs(missing))})


METHODS = [
    AlignmentMethod(
        "gradient",
        "Gradient",
        "How fast the label's logit changes with the weight of the alignment.",
        "Simonyan et al. 2014",
        "1 forward + 1 backward",
        by_masks(gradient_rounds),
    ),
    AlignmentMethod(
        "integrated_gradients",
        "Integrated gradients",
        "Gradients gathered on the way from no alignment to all; adds up to the change in the label's logit.",
        "Sundararajan et al. 2017",
        "n_steps × (forward + backward)",
        by_masks(integrated_gradients_rounds),
        {"n_steps": 50},
        {"n_steps": STEPS},
    ),
]
