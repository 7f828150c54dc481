"""Shapley values and LIME of what is known about a text: a Gaussian process over hidings (Bayesian quadrature).

Kernel SHAP and LIME fit a line to the masks that were asked about, and what is not linear becomes their error. Here the masks
teach a Gaussian process v̂ what the model would say under all 2ⁿ masks, and both methods are computed of v̂ without a further
draw. Its kernel knows the distance of two masks, and that texts with equally many words left are alike:

  k(z, z′) = ρ^d(z, z′) · (0.3 + exp(−(|z| − |z′|)² / 2(ℓn)²)) + a constant      d: words that only one of them keeps

ρ, ℓ and the jitter on the diagonal are those of a small grid under which the values are likeliest. v̂ agrees with every value
that was seen, so the Shapley values still add up to the whole change. k depends on sizes and overlaps alone; therefore the
scores of k(·, Z) have two values, for words in Z and outside it, and they are sums over sizes s and overlaps t:

  A_s, B_s   means of k(S ∪ i, Z) and k(S, Z) over all S of s other words;  t is hypergeometric
  Shapley    φ_i = 1/n Σ_s (A_s − B_s)
  LIME       (G + ridge) w = r,  r_i = Σ_s ω_s ((1 − μ) s/n A_{s−1} − μ (1 − s/n) B_s),  ω_s the weight of all masks that
             keep s words, μ the weighted mean of z_i, G the weighted covariance of z

Rasmussen & Ghahramani 2002 have the idea for integrals, benchmarks/sampling_error.py its error here. Cost: no pass; O(m³) for
m masks and O(n³) for n words.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.special import gammaln

RHOS, LENGTHS, JITTERS = (0.7, 0.85, 0.95, 0.99), (0.3, 0.6, 1.0), (1e-6, 1e-4)
CERTAIN = 1e-8
"""The jitter of the whole and of the empty text, which stand first: their difference is what Shapley values add up to."""
LEVEL = 10.0
"""Variance of the constant, against about 1 for the rest: where the values lie is not known before."""
COMPARED = 160
"""Masks on which the grid is tried, spread over all."""
LONGEST, MOST = 24, 2048
"""Words and masks up to which this is done. On longer texts 256 masks teach it no more than they teach a line."""


class Kernel(NamedTuple):
    rho: float
    length: float
    jitter: float


def nearness(rho: float, distance: Float[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
    return rho**distance


def likeness(length: float, apart: Float[np.ndarray, "*s"], n: int) -> Float[np.ndarray, "*s"]:
    """`apart`: by how many words the sizes of two masks differ."""
    return 0.3 + np.exp(-((apart / (length * n)) ** 2) / 2)


def likeliest(masks: Bool[np.ndarray, "m n"], values: Float[np.ndarray, " m"]) -> Kernel:
    """`masks`: full and empty first."""
    some = np.unique(np.linspace(0, len(masks) - 1, min(COMPARED, len(masks))).astype(int))
    some[1:2] = 1
    distance, apart = _distances(masks[some])
    near, like = (
        {one: of(one) for one in grid}
        for of, grid in (
            (lambda rho: nearness(rho, distance), RHOS),
            (lambda length: likeness(length, apart, masks.shape[1]), LENGTHS),
        )
    )
    return max(
        (Kernel(*one) for one in product(RHOS, LENGTHS, JITTERS)),
        key=lambda kernel: _likelihood(_jittered(near[kernel.rho] * like[kernel.length], kernel.jitter), values[some]),
    )


def _distances(masks: Bool[np.ndarray, "m n"]) -> tuple[Float[np.ndarray, "m m"], Float[np.ndarray, "m m"]]:
    signs, sizes = 2.0 * masks - 1, masks.sum(1).astype(float)
    return (masks.shape[1] - signs @ signs.T) / 2, sizes[:, None] - sizes


def _jittered(k: Float[np.ndarray, "m m"], jitter: float) -> Float[np.ndarray, "m m"]:
    k = k + LEVEL
    k[np.diag_indices_from(k)] += np.where(np.arange(len(k)) < 2, CERTAIN, jitter)
    return k


def _likelihood(k: Float[np.ndarray, "m m"], values: Float[np.ndarray, " m"]) -> float:
    """Of the values, with their variance at its best, up to a constant."""
    try:
        lower = cholesky(k, lower=True, check_finite=False)
    except LinAlgError:
        return -np.inf
    variance = values @ cho_solve((lower, True), values, check_finite=False) / len(values)
    return float(-len(values) / 2 * np.log(max(variance, 1e-300)) - np.log(np.diag(lower)).sum())


@dataclass(frozen=True)
class Surrogate:
    """v̂ = Σ_j a_j k(·, Z_j)."""

    masks: Bool[np.ndarray, "m n"]
    kernel: Kernel
    a: Float[np.ndarray, " m"]

    @classmethod
    def fit(cls, masks: Bool[np.ndarray, "m n"], values: Float[np.ndarray, " m"], kernel: Kernel) -> "Surrogate":
        distance, apart = _distances(masks)
        k = _jittered(nearness(kernel.rho, distance) * likeness(kernel.length, apart, masks.shape[1]), kernel.jitter)
        return cls(masks, kernel, cho_solve((cholesky(k, lower=True), True), values))

    def shapley(self) -> Float[np.ndarray, " n"]:
        with_i, without = _means(self.kernel, self.masks.shape[1])
        return self._by_word((with_i - without).mean(-1))

    def lime(self, weights: Float[np.ndarray, " sizes"], ridge: float) -> Float[np.ndarray, " n"]:
        """`weights`: of all masks together that keep 0, 1, …, n words."""
        n = self.masks.shape[1]
        share = np.arange(n + 1) / n
        mean, total = float(weights @ share / weights.sum()), float(weights.sum())
        with_i, without = _means(self.kernel, n)
        right = self._by_word((1 - mean) * (with_i @ (weights * share)[1:]) - mean * (without @ (weights * (1 - share))[:-1]))
        own = float(weights @ share) - total * mean**2
        others = float(weights @ (share * (n * share - 1))) / max(1, n - 1) - total * mean**2
        # (α I + β 11ᵀ) w = right
        alpha = own - others + ridge
        return (right - others * right.sum() / (alpha + n * others)) / alpha

    def _by_word(self, table: Float[np.ndarray, "2 sizes"]) -> Float[np.ndarray, " n"]:
        sizes = self.masks.sum(1)
        outside, inside = table[0][sizes] * self.a, table[1][sizes] * self.a
        return self.masks.T @ (inside - outside) + outside.sum()


@lru_cache(maxsize=256)
def _means(kernel: Kernel, n: int) -> tuple[Float[np.ndarray, "2 sizes s"], Float[np.ndarray, "2 sizes s"]]:
    """A_s and B_s of k(·, Z), for words outside Z and inside it, by |Z| and s."""
    with_i, without = np.zeros((2, n + 1, n)), np.zeros((2, n + 1, n))
    m, s, t = np.ogrid[: n + 1, :n, :n]
    for inside in (0, 1):
        some = slice(inside, n + inside)  # no word is outside a full mask, or inside an empty one
        for found, more, shared in ((with_i, 1, inside), (without, 0, 0)):
            k = nearness(kernel.rho, np.abs(s + more + m[some] - 2.0 * (t + shared)))
            k = k * likeness(kernel.length, s + more - m[some].astype(float), n)
            found[inside, some] = (_overlaps(n) * k).sum(-1)
    return with_i, without


@lru_cache(maxsize=8)
def _overlaps(n: int) -> Float[np.ndarray, "m s t"]:
    """Chance that s of n − 1 words contain t of m certain ones."""
    m, s, t = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
    possible = (t <= m) & (t <= s) & (s - t <= n - 1 - m)
    logs = _log_comb(m, t) + _log_comb(n - 1 - m, s - t) - _log_comb(n - 1, s)
    return np.where(possible, np.exp(np.where(possible, logs, 0.0)), 0.0)


def _log_comb(n: Int[np.ndarray, "*s"] | int, k: Int[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
    with np.errstate(invalid="ignore"):
        return gammaln(np.add(n, 1)) - gammaln(k + 1) - gammaln(np.maximum(np.subtract(n, k), 0) + 1)


def serves(draw: Int[np.ndarray, " samples"], n: int) -> bool:
    """Not where every mask was taken: then both methods have their exact values without it."""
    return bool((draw >= 0).any()) and n <= LONGEST and len(draw) <= MOST


class Known(NamedTuple):
    """Masks with their values, the full and the empty one first, and the kernel that fits all of them."""

    masks: Bool[np.ndarray, "m n"]
    values: Float[np.ndarray, " m"]
    kernel: Kernel

    @classmethod
    def of(
        cls, masks: Bool[np.ndarray, "samples n"], values: Float[np.ndarray, " samples"], full: float, empty: float
    ) -> "Known":
        n = masks.shape[1]
        every = np.vstack([np.ones((1, n), dtype=bool), np.zeros((1, n), dtype=bool), masks])
        worth = np.concatenate([[full, empty], values])
        return cls(every, worth, likeliest(every, worth))

    def part(self, mine: Bool[np.ndarray, " samples"]) -> Surrogate:
        """Learned from the two ends and these of the masks."""
        rows = np.concatenate([[True, True], mine])
        return Surrogate.fit(self.masks[rows], self.values[rows], self.kernel)
