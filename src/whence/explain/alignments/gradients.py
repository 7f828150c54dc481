"""Gradient and integrated gradients in the mask.

  gradient              ∂M_y/∂z_ij at Z = 1, signed
  integrated_gradients  (1/m) Σ_{k=1..m} ∂M_y/∂z_ij at Z = t_k · 1, t_k = (k − ½)/m   (midpoint rule, Sundararajan et al. 2017)

M_y is the predicted label's logit. The path of integrated gradients leads from no alignment at all to the model as it is, so
the scores add up to M_y(1) − M_y(0), up to the completeness error that is noted with every explanation.

Cost: 1 forward + 1 backward; n_steps of each, and 2 forward for the error.
"""

from collections.abc import Sequence

import numpy as np
import torch

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk
from whence.explain.parameters import STEPS
from whence.run import Tick
from whence.run.masks import MaskRunner


def gradients_at(
    asks: Sequence[PairAsk], masks: MaskRunner, levels: Sequence[float], tick: Tick | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each pair (gradients float[levels, premise, hypothesis], the label's logit float[levels]) at Z = level · 1."""
    found = [(np.zeros((len(levels), *ask.shape)), np.full(len(levels), ask.logits[ask.target])) for ask in asks]
    for numbers, pairs in masks.gradient_groups(len(levels)):
        targets = torch.tensor([asks[i].target for i in numbers], device=masks.classifier.device)
        at = torch.tensor(levels, device=masks.classifier.device)[None, :, None, None]
        leaf = at.expand(len(numbers), -1, *pairs.shape).contiguous().requires_grad_()
        values = pairs.logits(leaf).gather(2, targets[:, None, None].expand(-1, len(levels), 1))[..., 0]
        [gradient] = torch.autograd.grad(values.sum(), [leaf])
        for row, i in enumerate(numbers):
            premise, hypothesis = asks[i].shape
            slopes = gradient[row, :, :premise, :hypothesis].double().cpu().numpy()
            found[i] = slopes, values[row].detach().double().cpu().numpy()
        if tick:
            tick(len(numbers))
    return found


def gradient_cells(asks: Sequence[PairAsk], masks: MaskRunner, tick: Tick | None) -> list[Cells]:
    return [Cells(slopes[0]) for slopes, _ in gradients_at(asks, masks, [1.0], tick)]


def integrated_gradients_cells(asks: Sequence[PairAsk], masks: MaskRunner, tick: Tick | None, n_steps: int) -> list[Cells]:
    path = [(k + 0.5) / n_steps for k in range(n_steps)]
    made = []
    for ask, (slopes, values) in zip(asks, gradients_at(asks, masks, [*path, 0.0], tick), strict=True):
        scores = slopes[:-1].mean(axis=0)
        made.append(Cells(scores, notes={"completeness_error": float(abs(scores.sum() - ask.logits[ask.target] + values[-1]))}))
    return made


METHODS = [
    AlignmentMethod(
        "gradient",
        "Gradient",
        "How fast the label's logit changes with the weight of the alignment.",
        "Simonyan et al. 2014",
        "1 forward + 1 backward",
        gradient_cells,
        passes=lambda p, h, given: (1, 1),
    ),
    AlignmentMethod(
        "integrated_gradients",
        "Integrated gradients",
        "Gradients gathered on the way from no alignment to all; adds up to the change in the label's logit.",
        "Sundararajan et al. 2017",
        "n_steps × (forward + backward)",
        integrated_gradients_cells,
        {"n_steps": 50},
        {"n_steps": STEPS},
        passes=lambda p, h, given: (given["n_steps"], given["n_steps"]),
    ),
]
