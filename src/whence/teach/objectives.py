"""What a model is trained for: terms that add up, each named and weighted (`--objective cross_entropy --objective X=0.1`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from whence.errors import BadInput, unknown
from whence.models import Batch


@dataclass
class Step:
    """One training step as an objective sees it: the inputs, the gold labels and the model's output on them."""

    batch: Batch
    labels: Int[Tensor, " batch"]
    output: Any


@dataclass
class CorpusFacts:
    """What an objective may need to know of the training set before it starts."""

    labels: Int[Tensor, " examples"]
    label_count: int


Term = Callable[[Step], Tensor]
"""A scalar, mean over the batch."""


def cross_entropy(_: CorpusFacts) -> Term:
    return lambda step: nn.functional.cross_entropy(step.output.logits, step.labels)


def balanced_cross_entropy(facts: CorpusFacts) -> Term:
    """Every label weighs the same, however rare: w_c = N / (C · N_c)."""
    counts = torch.bincount(facts.labels, minlength=facts.label_count).clamp(min=1)
    weights = len(facts.labels) / (facts.label_count * counts.float())
    return lambda step: nn.functional.cross_entropy(step.output.logits, step.labels, weight=weights.to(step.labels.device))


OBJECTIVES: dict[str, Callable[[CorpusFacts], Term]] = {
    "cross_entropy": cross_entropy,
    "balanced_cross_entropy": balanced_cross_entropy,
}


def parse_objectives(given: Sequence[str]) -> dict[str, float]:
    """["cross_entropy", "saloss=0.001"] → {"cross_entropy": 1.0, "saloss": 0.001}."""
    weights = {}
    for item in given:
        name, _, weight = item.partition("=")
        if name not in OBJECTIVES:
            raise unknown("objective", name, list(OBJECTIVES))
        try:
            weights[name] = float(weight) if weight else 1.0
        except ValueError:
            raise BadInput(f"objective '{item}': '{weight}' is not a number; expected NAME or NAME=WEIGHT") from None
    return weights


def total(weights: dict[str, float], facts: CorpusFacts) -> Term:
    """Σ weight · term."""
    terms = [(weight, OBJECTIVES[name](facts)) for name, weight in weights.items()]
    return lambda step: torch.stack([weight * term(step) for weight, term in terms]).sum()
