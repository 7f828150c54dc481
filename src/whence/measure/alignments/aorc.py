"""AORC: how far the logits are from the model's own while cells are added, best first (Jiang et al. 2021, eq. 13).

  AORC = mean over k ∈ {0, 5, …, 100} % of ‖M(x) − M(x, Z(k))‖₂,   Z(k) keeps the best k % of the cells

The paper prints a sum and does not give its grid; the size of its numbers fits a mean (the sum is 21 times as much). Of N cells
that the model reads, k·N/100 are kept, halves rounded up; equal scores: in reading order. Lower is better. Not defined for a
pair without cells. Cost: 21 forward passes.
"""

import numpy as np
from jaxtyping import Bool, Float

from whence.explain.alignments.method import PairAsk
from whence.run.masks import MaskRounds

SHARES = tuple(range(0, 101, 5))
"""In percent."""


def best_first(ask: PairAsk, scores: Float[np.ndarray, "premise hypothesis"]) -> np.ndarray:
    """The cells that the model reads, as positions in reading order, by decreasing score: int[cells]."""
    cells = np.flatnonzero(ask.read)
    return cells[np.argsort(-scores.flat[cells], kind="stable")]


def keeping_best(ask: PairAsk, order: np.ndarray, counts: np.ndarray) -> Bool[np.ndarray, "counts premise hypothesis"]:
    """Masks that keep the first `count` cells of the order, for each count."""
    ranks = np.full(ask.read.size, ask.read.size)
    ranks[order] = np.arange(len(order))
    return (ranks < counts[:, None]).reshape(len(counts), *ask.shape)


def aorc_rounds(ask: PairAsk, scores: Float[np.ndarray, "premise hypothesis"]) -> MaskRounds[float | None]:
    order = best_first(ask, scores)
    if not len(order):
        return None
    counts = (np.array(SHARES) * len(order) + 50) // 100  # halves up
    logits = yield keeping_best(ask, order, counts).astype(np.float32)
    return float(np.linalg.norm(logits - ask.logits, axis=1).mean())
