"""How sure a number is: bootstrap intervals, and a paired permutation test where two things are compared.

Both work on rows of per-example values and any aggregate, and are seeded, so the same rows give the same numbers. Of more than
`LARGE` examples, so many are drawn in each resample and the interval is narrowed by √(LARGE / examples) (the m-out-of-n
bootstrap, Bickel, Götze & van Zwet 1997); the permutation test looks at so many of them, drawn once. So time does not grow with
the number of resamples times that of examples.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float

Aggregate = Callable[[np.ndarray], np.ndarray]
RESAMPLES = 2000
PERMUTATIONS = 10_000
"""More than resamples: with ten methods, Holm multiplies the smallest p by ten."""
LARGE = 20_000
_CHUNK = 4_000_000
"""Numbers held at once while resampling."""


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """a − b on the same examples, its 95 % interval, and the chance p of one this large if the two were exchangeable."""

    difference: float
    low: float
    high: float
    p: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def bootstrap(rows: Float[np.ndarray, "examples columns"], aggregate: Aggregate, seed: int = 0) -> Estimate:
    """The value with its 95 % percentile interval over resampled examples."""
    resampled = np.concatenate([aggregate(rows[index]) for index in _resampling(len(rows), rows.shape[1], seed)])
    value = float(aggregate(rows))
    return Estimate(value, *_interval(value, resampled, len(rows)))


def paired_difference(a: np.ndarray, b: np.ndarray, aggregate: Aggregate, seed: int = 0) -> Difference:
    """Permutation: for each example, a's and b's rows change places with probability one half; two-sided, never exactly 0."""
    observed = float(aggregate(a) - aggregate(b))
    gaps = np.concatenate([aggregate(a[index]) - aggregate(b[index]) for index in _resampling(len(a), a.shape[1], seed)])
    low, high = _interval(observed, gaps, len(a))
    draw = np.random.default_rng([seed, 1])
    if len(a) > LARGE:
        some = draw.choice(len(a), LARGE, replace=False)
        a, b = a[some], b[some]
    seen, extreme = abs(float(aggregate(a) - aggregate(b))), 0
    for size in _chunks(PERMUTATIONS, a.size):
        swap = draw.random((size, len(a), 1)) < 0.5
        permuted = aggregate(np.where(swap, b, a)) - aggregate(np.where(swap, a, b))
        extreme += int((np.abs(permuted) >= seen - 1e-12).sum())
    return Difference(observed, low, high, (extreme + 1) / (PERMUTATIONS + 1))


def against_the_best(p: float, methods: int) -> float:
    """p of a method against the one that is best of `methods` on the same examples, corrected for having chosen it.

    Whichever method is best, its comparison is one of the m(m − 1)/2 pairs; Bonferroni over all of them holds for every choice.
    """
    return min(1.0, p * methods * (methods - 1) / 2)


def holm(p_values: list[float]) -> list[float]:
    """Holm's correction for looking at many comparisons: adjusted p-values in the order given."""
    order = np.argsort(p_values)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _resampling(n: int, columns: int, seed: int) -> Iterator[np.ndarray]:
    draw, drawn = np.random.default_rng([seed, 0]), min(n, LARGE)
    for size in _chunks(RESAMPLES, drawn * columns):
        yield draw.integers(0, n, size=(size, drawn))


def _interval(value: float, resampled: np.ndarray, n: int) -> tuple[float, float]:
    low, high = np.quantile(resampled, [0.025, 0.975])
    if n <= LARGE:
        return float(low), float(high)
    narrower = (LARGE / n) ** 0.5
    return float(value + narrower * (low - value)), float(value + narrower * (high - value))


def _chunks(total: int, numbers_each: int) -> list[int]:
    size = max(1, min(total, _CHUNK // max(1, numbers_each)))
    return [min(size, total - start) for start in range(0, total, size)]
