"""Kernel SHAP's coalitions: none twice, unbiased, exact where all fit, and nearer to the truth than draws with replacement."""

from math import comb, factorial

import numpy as np
import pytest

from whence.explain.tokens.coalitions import coalitions
from whence.explain.tokens.kernel_shap import shapley_regression


def exact(v: np.ndarray, n: int) -> np.ndarray:
    """By the definition. v[code] is the value of the coalition whose members are the bits of `code`."""
    share = np.array([factorial(s) * factorial(n - s - 1) / factorial(n) for s in range(n)])
    codes = np.arange(2**n)
    sizes = (codes[:, None] >> np.arange(n) & 1).sum(1)
    without = [codes[(codes >> i & 1) == 0] for i in range(n)]
    return np.array([(share[sizes[c]] * (v[c | 1 << i] - v[c])).sum() for i, c in enumerate(without)])


def estimate(v: np.ndarray, n: int, masks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return shapley_regression(masks, v[masks @ (1 << np.arange(n))], weights, v[0], v[-1])


def with_replacement(n: int, n_samples: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """As it was done before: sizes by the kernel's mass, members at random, complements, equal weights."""
    sizes = np.arange(1, n)
    mass = 1 / (sizes * (n - sizes))
    half = draw.choice(sizes, size=n_samples // 2, p=mass / mass.sum())
    masks = draw.random((len(half), n)).argsort(axis=1).argsort(axis=1) < half[:, None]
    return np.vstack([masks, ~masks]), np.ones(2 * len(half))


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 9, 10, 13, 26, 200])
@pytest.mark.parametrize("n_samples", [2, 7, 64, 256, 1024])
def test_none_is_drawn_twice_and_each_has_its_complement(n: int, n_samples: int) -> None:
    masks, weights, _ = coalitions(n, n_samples, np.random.default_rng(0))
    drawn = {row.tobytes() for row in masks}
    assert len(drawn) == len(masks) == len(weights) == min(n_samples // 2 * 2, 2**n - 2)
    assert drawn == {row.tobytes() for row in ~masks}
    assert ((masks.sum(1) > 0) & (masks.sum(1) < n) & (weights > 0)).all()
    kernel = sum((n - 1) / (k * (n - k)) for k in range(1, n))
    assert weights.sum() == pytest.approx(kernel)


@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_exact_where_all_fit(n: int) -> None:
    v = np.random.default_rng(n).normal(size=2**n)
    masks, weights, _ = coalitions(n, 256, np.random.default_rng(0))
    assert np.allclose(weights, [(n - 1) / (comb(n, k) * k * (n - k)) for k in masks.sum(1).tolist()])
    assert np.abs(estimate(v, n, masks, weights) - exact(v, n)).max() < 1e-10


def test_small_sizes_are_taken_whole() -> None:
    masks, *_ = coalitions(9, 256, np.random.default_rng(0))
    counts = np.bincount(masks.sum(1), minlength=10)
    assert list(counts[1:3]) == [9, 36]
    assert list(counts[7:9]) == [36, 9]
    assert 0 < counts[3] < comb(9, 3)


@pytest.mark.parametrize(("n", "n_samples"), [(6, 20), (7, 30), (8, 64)])
def test_the_weights_are_unbiased(n: int, n_samples: int) -> None:
    """The mean over many draws of each coalition's weight (0 where it is not drawn) is its kernel weight."""
    total, draws = np.zeros(2**n), 4000
    for seed in range(draws):
        masks, weights, _ = coalitions(n, n_samples, np.random.default_rng(seed))
        np.add.at(total, masks @ (1 << np.arange(n)), weights)
    every, kernel, _ = coalitions(n, 2**n, np.random.default_rng(0))
    found = total[every @ (1 << np.arange(n))] / draws
    assert np.abs(found / kernel - 1).max() < 0.25  # the rarest is drawn in about a twentieth of the draws: 7 % each
    for k in range(1, n):
        assert found[every.sum(1) == k].sum() == pytest.approx(kernel[every.sum(1) == k].sum(), rel=0.03)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize(("n", "n_samples", "at_most"), [(9, 256, 0.6), (12, 256, 0.85), (12, 64, 0.97)])
def test_nearer_than_with_replacement(kind: str, n: int, n_samples: int, at_most: float) -> None:
    """Mean absolute error over 40 random set functions, as a share of the old way's."""
    errors = {coalitions: 0.0, with_replacement: 0.0}
    bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    for seed in range(40):
        draw = np.random.default_rng(seed)
        score = bits @ draw.normal(size=n) + 0.5 * ((bits @ draw.normal(size=(n, n))) * bits).sum(1)
        v = draw.normal(size=2**n) if kind == "noise" else 1 / (1 + np.exp(-score))
        for way in errors:
            errors[way] += float(
                np.abs(estimate(v, n, *way(n, n_samples, np.random.default_rng(seed))[:2]) - exact(v, n)).sum()
            )
    assert errors[coalitions] < at_most * errors[with_replacement]
