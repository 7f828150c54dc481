"""Jain & Wallace's adversary: for each text, attention as far from the model's own as can be at (nearly) the same prediction.

  minimise over k = 1…K candidates   Σ_k [ −JSD(α_k, α) + 500 · max(0, TVD(ŷ_k, ŷ) − 0.01) ] − mean_{k,k'} JSD(α_k, α_k')

α_k = softmax of free logits, started at N(0, 3²); 500 steps of Adam (amsgrad, 0.01); encoder and output stay as they are. Then
the ε-max JSD: the largest JSD(α_k, α) among candidates with TVD(ŷ_k, ŷ) ≤ ε = 0.05, or 0 if there is none (Jain & Wallace 2019,
§4.2.2; K = 5 as in their code).

Every text has its own logits, noise and objective, and Adam works element by element; so all texts and candidates are one
optimisation, and batches change nothing but speed. Cost: one pass of the encoder, then steps × candidates × tokens products.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whence.measure.divergence import jsd, tvd
from whence.run import Tick
from whence.run.readout import Readout

SPREAD, PENALTY, MARGIN = 3.0, 500.0, 0.01
TOKEN_BUDGET = 20_000
"""Tokens × candidates at once: what fits into a processor's cache is fastest."""


@dataclass
class Found:
    """For each text, the best candidate: its ε-max JSD, its attention, and how far the prediction moved (TVD)."""

    jsd: Float[np.ndarray, " texts"]
    tvd: Float[np.ndarray, " texts"]
    attention: Float[np.ndarray, "texts tokens"]


def search_attention(
    readout: Readout, ids: Sequence[str], seed: int = 0, candidates: int = 5, steps: int = 500, rate: float = 0.01,
    tolerance: float = 0.05, tick: Tick | None = None,
) -> Found:  # fmt: skip
    """`ids` name the texts: each draws its noise from (seed, id), so neither order nor batch matters."""
    lengths = (readout.mask * torch.arange(1, readout.mask.shape[1] + 1)).amax(1).clamp(min=1).tolist()
    order = sorted(range(len(ids)), key=lambda i: -lengths[i])
    found = Found(np.zeros(len(ids)), np.zeros(len(ids)), np.zeros(readout.mask.shape, dtype=np.float32))
    start = 0
    while start < len(order):
        rows = order[start : start + max(1, TOKEN_BUDGET // (candidates * lengths[order[start]]))]
        part = readout.of(rows)
        noise = torch.stack([starting_noise(ids[i], seed, candidates, lengths[i], part.mask.shape[1]) for i in rows])
        attention, far, moved = _optimise(part, noise * SPREAD, steps, rate, tolerance)
        found.jsd[rows], found.tvd[rows] = far.numpy(), moved.numpy()
        found.attention[rows, : attention.shape[1]] = attention.numpy()
        start += len(rows)
        if tick:
            tick(len(rows))
    return found


def starting_noise(name: str, seed: int, candidates: int, length: int, width: int) -> Float[Tensor, "candidates width"]:
    """Drawn for the text's own length, then padded: the same numbers in any batch."""
    draw = np.random.default_rng([seed, zlib.crc32(name.encode("utf-8", "surrogatepass"))])
    drawn = torch.from_numpy(draw.standard_normal((candidates, length))).float()
    return torch.nn.functional.pad(drawn, (0, width - length))


def _optimise(
    readout: Readout, logits: Float[Tensor, "texts candidates tokens"], steps: int, rate: float, tolerance: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(attention, JSD, TVD) of each text's best candidate."""
    own, mask = readout.attention[:, None], readout.mask[:, None]
    prediction = readout.probabilities(own)
    logits = logits.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=rate, amsgrad=True, fused=True)

    def distribution() -> Tensor:
        return logits.masked_fill(~mask, torch.finfo(logits.dtype).min).softmax(-1) * mask

    for _ in range(steps):
        weights = distribution()
        far = jsd(weights, own)
        moved = tvd(readout.probabilities(weights), prediction)
        apart = jsd(weights[:, :, None], weights[:, None, :]).mean((1, 2))
        loss = (-far + PENALTY * (moved - MARGIN).relu()).sum() - apart.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        weights = torch.cat([distribution(), own], dim=1)  # the model's own attention is the last resort: JSD 0
        far = jsd(weights, own).clamp(min=0)
        moved = tvd(readout.probabilities(weights), prediction)
        best = far.masked_fill(moved > tolerance, -1.0).argmax(1)
        rows = torch.arange(len(best))
        return weights[rows, best], far[rows, best], moved[rows, best]
