"""Intervals and tests against SciPy's and against numbers worked out by hand."""

from itertools import product

import numpy as np
import pytest
import scipy.stats

from whence.measure.measure import mean
from whence.measure.plausibility import f1_of_means, mean_over_keys
from whence.measure.statistics import PERMUTATIONS, bootstrap, holm, paired_difference

DRAW = np.random.default_rng(0)
VALUES = DRAW.exponential(size=40)
A = DRAW.standard_normal(12)
B = A - 0.4 + 0.6 * DRAW.standard_normal(12)


def test_bootstrap_interval_is_scipys() -> None:
    found = bootstrap(VALUES[:, None], mean)
    oracle = scipy.stats.bootstrap((VALUES,), np.mean, n_resamples=9999, method="percentile", rng=np.random.default_rng(1))
    assert found.value == pytest.approx(VALUES.mean())
    width = oracle.confidence_interval.high - oracle.confidence_interval.low
    assert found.low == pytest.approx(oracle.confidence_interval.low, abs=0.08 * width)
    assert found.high == pytest.approx(oracle.confidence_interval.high, abs=0.08 * width)


def test_bootstrap_is_seeded_and_resamples_rows() -> None:
    assert bootstrap(VALUES[:, None], mean) == bootstrap(VALUES[:, None], mean)
    assert bootstrap(VALUES[:, None], mean, seed=1) != bootstrap(VALUES[:, None], mean)
    one = bootstrap(np.array([[0.3]]), mean)
    assert (one.value, one.low, one.high) == pytest.approx((0.3, 0.3, 0.3))


def test_bootstrap_of_an_aggregate_with_columns() -> None:
    """A ratio of sums, resampled example by example in a plain loop."""
    rows = np.stack([DRAW.random(30), DRAW.integers(1, 3, 30)], axis=1)
    found = bootstrap(rows, mean_over_keys)
    draw, plain = np.random.default_rng(2), []
    for _ in range(4000):
        chosen = rows[draw.integers(0, 30, 30)]
        plain.append(chosen[:, 0].sum() / chosen[:, 1].sum())
    assert found.value == pytest.approx(rows[:, 0].sum() / rows[:, 1].sum())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=0.02)


@pytest.mark.parametrize("n", [5, 8, 12])
def test_paired_permutation_is_scipys(n: int) -> None:
    a, b = A[:n], B[:n]
    oracle = scipy.stats.permutation_test(
        (a, b), lambda x, y: np.mean(x) - np.mean(y), permutation_type="samples", n_resamples=np.inf
    )
    found = paired_difference(a[:, None], b[:, None], mean)
    assert found.difference == pytest.approx(oracle.statistic)
    assert found.p == pytest.approx(oracle.pvalue, abs=0.03)  # SciPy tries all 2ⁿ swaps, we draw some
    assert found.low < found.difference < found.high


def test_paired_permutation_of_an_aggregate_with_columns() -> None:
    """All 2⁶ swaps of whole rows, written out."""
    a = np.stack([DRAW.random(6), np.ones(6), DRAW.random(6), np.ones(6)], axis=1)
    b = a * np.array([0.7, 1, 0.8, 1])
    observed = abs(float(f1_of_means(a) - f1_of_means(b)))
    extreme = 0
    for swaps in product([False, True], repeat=6):
        swap = np.array(swaps)[:, None]
        extreme += abs(float(f1_of_means(np.where(swap, b, a)) - f1_of_means(np.where(swap, a, b)))) >= observed - 1e-12
    assert paired_difference(a, b, f1_of_means).p == pytest.approx(extreme / 64, abs=0.03)


def test_no_difference() -> None:
    found = paired_difference(A[:, None], A[:, None], mean)
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_p_is_never_zero_and_the_same_both_ways() -> None:
    large = paired_difference(A[:, None] + 5, A[:, None], mean)
    assert 1 / (PERMUTATIONS + 1) <= large.p < 0.01
    back = paired_difference(A[:, None], A[:, None] + 5, mean)
    assert back.difference == -large.difference
    assert (back.p, back.low, back.high) == pytest.approx((large.p, -large.high, -large.low))


def test_holm_by_hand() -> None:
    """Sorted 0.01 0.02 0.03 0.04 times 4 3 2 1 is 0.04 0.06 0.06 0.04, and never less than the one before."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.5]) == pytest.approx([1.0, 1.0])
    assert holm([0.05]) == pytest.approx([0.05])
    assert holm([]) == []
