"""Descent on the mask itself: flip cells as long as L0 + 0.15 (L1 + L2) falls and the label is kept.

A gradient search over log α ends near a good mask, not in it: noise leaves a superfluous cell in or a useful one out. In every
round the slope of L0 at the current 0/1 mask says, to first order, what flipping each cell would gain; the flips that promise
most are tried, alone and together (the best 1, 2, 3, 4, 6, 8, …), and the best mask of those tried replaces the current one. A
pair is done when none is better. The objective is the paper's discrete one; this way of ending the search is ours.

Cost: a round is 1 forward + 1 backward and about 20 forward passes for a pair; two to four rounds are usual.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whence.explain.alignments.method import PairAsk
from whence.explain.alignments.objective import WEIGHT, fidelity, mask_size
from whence.models.alignment import MaskedPairs

ROUNDS = 20
TOGETHER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
ALONE = (2, 3, 4, 5, 6, 8)
"""Ranks of flips that are tried without the better ranked ones."""
LEAST_GAIN = 1e-4
"""What counts as better: less than that is rounding, and would make a mask depend on the batch it was made in."""


@dataclass
class Reached:
    mask: Bool[np.ndarray, "premise hypothesis"]
    fidelity: float
    objective: float
    label_kept: bool


def padded(values: Sequence[np.ndarray], like: MaskedPairs) -> Float[Tensor, "pairs premise hypothesis"]:
    """Cells of many pairs as one tensor; padding is 0."""
    out = torch.zeros(len(values), *like.shape)
    for row, cells in enumerate(values):
        out[row, : cells.shape[0], : cells.shape[1]] = torch.from_numpy(np.asarray(cells, dtype=np.float32))
    return out.to(like.cells.device)


def descend(asks: Sequence[PairAsk], pairs: MaskedPairs, masks: Sequence[np.ndarray]) -> list[Reached]:
    """From the given masks downhill, all pairs side by side."""
    device = pairs.cells.device
    mask, read = padded(masks, pairs), padded([ask.read for ask in asks], pairs) > 0
    base = torch.tensor(np.stack([ask.logits for ask in asks]), dtype=torch.float32, device=device)
    target = torch.tensor([ask.target for ask in asks], device=device)
    open_ = list(range(len(asks)))
    for _ in range(ROUNDS):
        index = torch.tensor(open_, device=device)
        here, base_here, target_here = pairs.take(open_), base[index], target[index]
        slope, _, now, kept = _at(here, mask[index], base_here, target_here)
        tried = _flipped(mask[index], slope, read[index])
        with torch.no_grad():
            logits = here.logits(tried)
            values = fidelity(logits, base_here[:, None]) + WEIGHT * mask_size(tried)
            best, which = values.masked_fill(logits.argmax(-1) != target_here[:, None], torch.inf).min(1)
        better = (best < now.masked_fill(~kept, torch.inf) - LEAST_GAIN).nonzero()[:, 0].tolist()
        for row in better:
            mask[open_[row]] = tried[row, which[row]]
        open_ = [open_[row] for row in better]
        if not open_:
            break
    _, distance, now, kept = _at(pairs, mask, base, target)
    return [
        Reached(mask[i, : ask.shape[0], : ask.shape[1]].cpu().numpy() > 0, float(distance[i]), float(now[i]), bool(kept[i]))
        for i, ask in enumerate(asks)
    ]


def _at(pairs: MaskedPairs, mask: Tensor, base: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(slope of L0 in the mask, L0, objective, label kept)"""
    mask = mask.clone().requires_grad_()
    logits = pairs.logits(mask[:, None])[:, 0]
    distance = fidelity(logits, base)
    [slope] = torch.autograd.grad(distance.sum(), [mask])
    distance = distance.detach()
    return slope, distance, distance + WEIGHT * mask_size(mask.detach()), logits.argmax(-1) == target


def _flipped(mask: Tensor, slope: Tensor, read: Tensor) -> Float[Tensor, "pairs tries premise hypothesis"]:
    """The masks to try: the flips that promise most, together and alone."""
    promised = torch.where(mask > 0, -slope - WEIGHT, slope + WEIGHT).masked_fill(~read, torch.inf).flatten(1)
    order = promised.argsort(1)[:, : max(TOGETHER)]
    chosen = torch.zeros(len(TOGETHER) + len(ALONE), order.shape[1], device=mask.device)
    for row, count in enumerate(TOGETHER):
        chosen[row, :count] = 1
    for row, rank in enumerate(ALONE, len(TOGETHER)):
        chosen[row, rank - 1 : rank] = 1
    real = promised.gather(1, order).isfinite().float()
    flips = torch.zeros(len(mask), len(chosen), promised.shape[1], device=mask.device)
    flips.scatter_(2, order[:, None].expand(-1, len(chosen), -1), chosen[None] * real[:, None])
    return (mask.flatten(1)[:, None] - flips).abs().unflatten(2, mask.shape[1:])
