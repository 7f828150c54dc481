"""Cross-entropy with the gold label, plain or with every label weighing the same.

−log ŷ_gold;   balanced: w_gold · −log ŷ_gold / Σ w over the batch, w_c = N / (C · N_c)
"""

import torch
from torch import nn

from whence.teach.objectives.objective import CorpusFacts, Objective, Term


def plain(_: CorpusFacts) -> Term:
    return lambda step: nn.functional.cross_entropy(step.logits, step.labels)


def balanced(facts: CorpusFacts) -> Term:
    counts = torch.bincount(facts.labels, minlength=facts.label_count).clamp(min=1)
    weights = len(facts.labels) / (facts.label_count * counts.float())
    return lambda step: nn.functional.cross_entropy(step.logits, step.labels, weight=weights.to(step.labels.device))


OBJECTIVES = [
    Objective("cross_entropy", "Fit the gold labels.", "", plain),
    Objective("balanced_cross_entropy", "Fit the gold labels; rare ones weigh as much as frequent ones.", "", balanced),
]
