"""From a number for every word to a choice of words: the rationale that a list of scores stands for."""

from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float

from whence.errors import BadInput


def check_share(share: float) -> float:
    if not 0 < share <= 1:
        raise BadInput(f"share of words in a rationale is {share}; expected a number above 0 and at most 1")
    return share


def rationale_size(share: float, n: int) -> int:
    """`share` of `n` words, halves rounded up, at least one; exact, so that 0.15 of 10 is 2 whatever floats make of it."""
    exact = Fraction(str(float(share))) * n
    return min(n, max(1, int(exact + Fraction(1, 2))))


def top_share(
    scores: Float[np.ndarray, " n"], share: float, candidates: Bool[np.ndarray, " n"] | None = None
) -> Bool[np.ndarray, " n"]:
    """The highest scores, `share` of all n; ties: the earlier first. Only `candidates` can be chosen, if they are given."""
    return top_k(scores, rationale_size(share, len(scores)), candidates)


def top_k(scores: Float[np.ndarray, " n"], k: int, candidates: Bool[np.ndarray, " n"] | None = None) -> Bool[np.ndarray, " n"]:
    """The k highest scores; ties and `candidates` as in `top_share`."""
    allowed = np.arange(len(scores)) if candidates is None else np.flatnonzero(candidates)
    best = allowed[np.argsort(-scores[allowed], kind="stable")][:k]
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[best] = True
    return chosen


def best_window(
    scores: Float[np.ndarray, " n"], k: int, candidates: Bool[np.ndarray, " n"] | None = None
) -> Bool[np.ndarray, " n"]:
    """k neighbours with the largest sum, the first such; neighbours among `candidates`, if they are given."""
    allowed = np.arange(len(scores)) if candidates is None else np.flatnonzero(candidates)
    chosen = np.zeros(len(scores), dtype=bool)
    k = min(k, len(allowed))
    if k:
        # each window summed by itself: differences of running sums would break ties by rounding
        start = int(np.lib.stride_tricks.sliding_window_view(scores[allowed], k).sum(axis=1).argmax())
        chosen[allowed[start : start + k]] = True
    return chosen
