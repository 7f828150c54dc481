"""The truth that errors are measured against: Shapley values, and what LIME with 10,000 samples comes to.

  Shapley   φ_i = Σ_S |S|! (n−|S|−1)!/n! (v(S ∪ i) − v(S))
  LIME      its weighted ridge regression over all masks, each counted as often as 10,000 draws bring it on average

Up to 11 players both come from all 2ⁿ masks. Beyond, v is split into a function v̂ whose values are known exactly and a rest:
v̂ is what a Gaussian process learns from 1,000 masks (whence's surrogate.py), and the rest is estimated by the plain regressions
from 3,000 masks each, drawn anew. Both truths are linear in v, so their sum has no bias from v̂, however bad that is; a good
one makes the rest small. Half the distance between the two halves of the new masks says how far off such a truth still is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import comb, factorial

import numpy as np
from sklearn.linear_model import Ridge

from whence.explain.tokens.coalitions import coalitions
from whence.explain.tokens.kernel_shap import shapley_regression
from whence.explain.tokens.lime import nearness_to_full, weighted_ridge
from whence.explain.tokens.surrogate import LEVEL, Known, Surrogate, likeness, nearness

DRAWS = 10_000
EXACT = 11
"""Players up to which all masks are taken."""
LEARNED, DRAWN = 1000, 3000
Worth = Callable[[np.ndarray], np.ndarray]
"""0/1[masks, players] → float[masks]."""


@dataclass
class Truth:
    scores: np.ndarray
    doubt: float
    """Σ_i of the estimated error; 0 where all masks were taken."""


def shapley(values: np.ndarray, n: int) -> np.ndarray:
    """`values` by mask, player i being bit n − 1 − i."""
    found = np.zeros(n)
    for mask in range(2**n):
        size = mask.bit_count()
        for i in range(n):
            bit = 1 << (n - 1 - i)
            if not mask & bit:
                found[i] += factorial(size) * factorial(n - size - 1) / factorial(n) * (values[mask | bit] - values[mask])
    return found


def lime_limit(masks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The released kernel and draw: 1 to n words hidden, each number as likely; the whole text once."""
    n = masks.shape[1]
    hidden = n - masks.sum(1)
    often = np.array([1.0 if h == 0 else (DRAWS - 1) / n / comb(n, int(h)) for h in hidden])
    distance = 100 * (1 - np.sqrt(masks.mean(1)))
    weights = often * np.sqrt(np.exp(-(distance**2) / 25**2))
    return Ridge(alpha=1.0).fit(masks, values, sample_weight=weights).coef_


def every(n: int) -> np.ndarray:
    return np.array(list(product((0, 1), repeat=n)), dtype=bool)


class Players:
    """One game of n players; both truths share what is learned of it."""

    def __init__(self, n: int, worth: Worth) -> None:
        self.n, self.worth, self.draw = n, worth, np.random.default_rng(n)
        if n <= EXACT:
            self.masks, self.values = every(n), worth(every(n)).astype(np.float64)
            return
        self.ends = worth(np.array([[True] * n, [False] * n])).astype(np.float64)
        self.known = self._learned()

    def _learned(self) -> Surrogate:
        masks = np.vstack([coalitions(self.n, LEARNED // 2, self.draw)[0], self._near_full(LEARNED // 2)])
        masks = np.unique(masks, axis=0)
        masks = masks[(masks.sum(1) > 0) & (masks.sum(1) < self.n)]
        return Known.of(masks, self.worth(masks).astype(np.float64), *self.ends).part(np.ones(len(masks), dtype=bool))

    def _sizes(self) -> np.ndarray:
        """What all masks of 0, 1, …, n kept players together weigh in LIME."""
        often = np.append(np.full(self.n, (DRAWS - 1) / self.n), 1.0)
        return often * nearness_to_full(np.arange(self.n + 1) / self.n, 25.0)

    def _near_full(self, count: int) -> np.ndarray:
        """As LIME weighs them: so each counts the same."""
        sizes = self.draw.choice(self.n + 1, size=count, p=self._sizes() / self._sizes().sum())
        ranks = self.draw.random((count, self.n)).argsort(1).argsort(1)
        return ranks < sizes[:, None]

    def _rest(self, masks: np.ndarray) -> np.ndarray:
        return self.worth(masks).astype(np.float64) - predicted(self.known, masks)

    def shapley(self) -> Truth:
        if self.n <= EXACT:
            return Truth(shapley(self.values, self.n), 0.0)
        masks, weights, numbers = coalitions(self.n, DRAWN, self.draw)
        rest, ends = self._rest(masks), self.ends - predicted(self.known, np.array([[True] * self.n, [False] * self.n]))

        def fit(mine: np.ndarray) -> np.ndarray:
            return shapley_regression(masks[mine], rest[mine], weights[mine], ends[1], ends[0])

        return self._halved(fit, self.known.shapley(), numbers)

    def lime(self) -> Truth:
        if self.n <= EXACT:
            return Truth(lime_limit(self.masks.astype(int), self.values), 0.0)
        masks = self._near_full(DRAWN)
        rest, total = self._rest(masks), self._sizes().sum()

        def fit(mine: np.ndarray) -> np.ndarray:
            return weighted_ridge(masks[mine], rest[mine], np.full(int(mine.sum()), total / mine.sum()), 1.0)

        return self._halved(fit, self.known.lime(self._sizes(), 1.0), np.arange(DRAWN))

    def _halved(self, fit: Callable[[np.ndarray], np.ndarray], known: np.ndarray, numbers: np.ndarray) -> Truth:
        one, other = (fit((numbers < 0) | (numbers % 2 == parity)) for parity in (0, 1))
        whole = fit(np.ones(len(numbers), dtype=bool))
        return Truth(known + whole, float(np.abs(one - other).sum() / 2))


def predicted(known: Surrogate, masks: np.ndarray) -> np.ndarray:
    """v̂ of these masks."""
    n = masks.shape[1]
    distance = (n - (2.0 * masks - 1) @ (2.0 * known.masks - 1).T) / 2
    apart = masks.sum(1).astype(float)[:, None] - known.masks.sum(1)
    return (nearness(known.kernel.rho, distance) * likeness(known.kernel.length, apart, n) + LEVEL) @ known.a
