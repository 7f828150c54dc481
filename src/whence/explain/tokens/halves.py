"""Stability from one sample: would another seed rank the words alike?

The scores are fitted once more on each half of what was drawn at random; masks that every seed would take are in both halves.

  τ_h        Kendall's τ_b between the halves' scores;  r = sin(π τ_h / 2), the correlation that goes with it
  r′         k r / (1 + (k − 1) r): Spearman and Brown's correction, as a whole sample has 1/k of the variance of a half
  k          2 (1 − n/m) / (1 − n/m_h): twice as many draws, and more to spare for n words (m draws in all, m_h in a half)
  stability  2/π · asin(r′), an estimate of τ_b between two runs with different seeds

None where a half has fewer than 1.2 n observations: then only a second run can say. Cost: no pass. Measured against second
runs on MiniLM and SST (benchmarks/README.md): 0.75 for 0.75 (Kernel SHAP) and 0.68 for 0.70 (LIME), mean of 8 sentences.
"""

from collections.abc import Callable
from math import asin, pi, sin

import numpy as np
from jaxtyping import Bool, Float, Int

from whence.explain.ranks import rank_agreement

TAKEN = -1
"""The number of a mask that every seed takes; the others are numbered by draw, and masks of one draw stay together."""
ENOUGH = 1.2

Fit = Callable[[Bool[np.ndarray, " samples"], Float[np.ndarray, " samples"]], Float[np.ndarray, " n"]]
"""Scores from some of the masks, whose weights are multiplied by the second argument."""


def stability_of_halves(draw: Int[np.ndarray, " samples"], n: int, fit: Fit) -> dict[str, float]:
    """A note for the explanation, or none where it is not defined or cannot be said."""
    drawn = int(draw.max(initial=TAKEN)) + 1
    if not drawn:
        return {"stability": 1.0}
    taken = int((draw == TAKEN).sum()) * drawn / int((draw >= 0).sum())  # in units of a draw, which may have two masks
    whole, half = taken + drawn, taken + drawn // 2
    if half < ENOUGH * n or drawn < 2:
        return {}
    scores = []
    for parity in (0, 1):
        mine = (draw == TAKEN) | (draw % 2 == parity)
        scores.append(fit(mine, np.where(draw == TAKEN, 1.0, drawn / len(range(parity, drawn, 2)))[mine]))
    tau = rank_agreement(*scores)
    return {} if tau is None else {"stability": lengthened(tau[0], 2 * (1 - n / whole) / (1 - n / half))}


def lengthened(tau: float, times: float) -> float:
    """What τ would be between scores with so many times less variance from drawing. Where it is negative, all is noise."""
    r = sin(pi * tau / 2)
    return 2 / pi * asin(min(1.0, times * r / (1 + (times - 1) * r))) if r > 0 else tau
