"""How much of the gradient each term of an objective has: ‖w·∇term‖ / Σ_terms ‖w·∇term‖, mean over batches of the training set.

Norms are over all parameters that are trained, dropout off. A term whose share is a thousandth hardly moves the model, whatever
its weight is called. Cost: one forward and backward pass for each term and batch.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from whence.data import Example
from whence.teach.objectives import OBJECTIVES, what_is_read
from whence.teach.tasks import Classification


def gradient_shares(
    task: Classification, examples: Sequence[Example], weights: Mapping[str, float], options: Mapping[str, Mapping[str, Any]],
    batch_size: int, batches: int = 8,
) -> dict[str, float]:  # fmt: skip
    """By the name of the term; on the first so many batches of `examples`."""
    examples = examples[: batch_size * batches]
    split, model = task.prepare(examples), task.model.eval()
    reads = what_is_read(weights, task.gives)
    terms = {
        name: OBJECTIVES[name].build(split.facts, **{**OBJECTIVES[name].options, **options.get(name, {})}) for name in weights
    }
    shares = []
    for start in range(0, len(examples), batch_size):
        rows = range(start, min(start + batch_size, len(examples)))
        norms = []
        for name, term in terms.items():
            model.zero_grad()
            (weights[name] * term(split.step(list(rows), reads))).backward()
            norms.append(torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item())
        shares.append(np.array(norms) / max(sum(norms), 1e-30))
    model.zero_grad()
    return dict(zip(terms, np.mean(shares, axis=0).tolist(), strict=True))
