"""Intervals and tests against SciPy's and against numbers worked out by hand."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.stats

from whence.measure import FAITHFULNESS, statistics
from whence.measure.measure import mean
from whence.measure.plausibility import f1_of_means, mean_over_keys
from whence.measure.statistics import PERMUTATIONS, against_the_best, bootstrap, holm, paired_difference
from whence.measure.summary import measure_lines

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


def _null(methods: int, examples: int, seed: int) -> dict[str, np.ndarray]:
    """Methods that do not differ, with examples that do."""
    draw = np.random.default_rng(seed)
    values = draw.standard_normal((methods, examples)) + 2 * draw.standard_normal(examples)
    return {name: row[:, None] for name, row in zip(["random", *map(str, range(methods - 1))], values, strict=True)}


def test_choosing_the_best_on_the_same_examples_finds_no_difference_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 100 tables of 12 methods that do not differ, at most 1 in 20 may call one worse than the best (Holm alone: 12)."""
    monkeypatch.setattr(statistics, "PERMUTATIONS", 2000)
    monkeypatch.setattr(statistics, "RESAMPLES", 20)
    measure = FAITHFULNESS["comprehensiveness"]
    wrong = 0
    for seed in range(100):
        lines = measure_lines(measure, _null(13, 20, seed), seed)
        wrong += any(line["vs_best"] is not None and line["vs_best"]["p"] < 0.05 for line in lines)
    assert wrong / 100 <= 0.05 + 1.645 * np.sqrt(0.05 * 0.95 / 100), "one-sided 95 % bound of a rate of 0.05"


def test_a_method_that_is_really_worse_than_the_best_is_still_found() -> None:
    values = _null(9, 60, 0)
    values["3"] = values["3"] + 2.0
    lines = {line["method"]: line for line in measure_lines(FAITHFULNESS["comprehensiveness"], values, 0)}
    assert lines["3"]["best"]
    assert all(lines[name]["vs_best"]["p"] < 0.05 for name in values if name not in ("3", "random"))
    assert against_the_best(0.001, 8) == pytest.approx(0.001 * 28)
    assert against_the_best(0.9, 8) == 1.0


def test_memory_does_not_grow_with_the_number_of_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 resamples of 20,000 examples are 320 MB of numbers if they are all held at once."""
    monkeypatch.setattr(statistics, "PERMUTATIONS", 100)
    a = np.random.default_rng(0).standard_normal((20_000, 1))
    tracemalloc.start()
    try:
        paired_difference(a, a + 0.1, mean)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200e6


def test_of_many_examples_the_interval_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing fewer and narrowing: within a few per cent of drawing all, for a mean and for an F1 of means."""
    draw = np.random.default_rng(0)
    rows = np.stack([draw.exponential(size=6000), *draw.random((3, 6000)) + 1], axis=1)
    for aggregate in (mean, f1_of_means):
        whole = bootstrap(rows, aggregate)
        with monkeypatch.context() as small:
            small.setattr(statistics, "LARGE", 1000)
            part = bootstrap(rows, aggregate)
        assert part.value == whole.value
        assert part.high - part.low == pytest.approx(whole.high - whole.low, rel=0.1)
        assert part.low == pytest.approx(whole.low, abs=0.2 * (whole.high - whole.low))
    monkeypatch.setattr(statistics, "LARGE", 1000)
    found = paired_difference(rows, rows - 0.05, mean)
    assert found.difference == pytest.approx(0.05)
    assert found.p < 0.001, "each of them differs by as much"
    noise = draw.standard_normal((6000, 4))
    assert paired_difference(rows + noise, rows - noise, mean).p > 0.01
