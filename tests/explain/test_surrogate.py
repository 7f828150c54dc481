"""Shapley values and LIME of a Gaussian process over hidings: its sums over sizes and overlaps against all 2ⁿ masks."""

from itertools import product

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel
from sklearn.linear_model import Ridge

from whence.explain.tokens.coalitions import coalitions
from whence.explain.tokens.kernel_shap import shapley_regression
from whence.explain.tokens.lime import weights_of_sizes
from whence.explain.tokens.surrogate import CERTAIN, LEVEL, Kernel, Known, Surrogate, likeliest, serves

KERNEL = Kernel(rho=0.85, length=0.6, jitter=1e-4)


def all_masks(n: int) -> np.ndarray:
    return np.array(list(product((False, True), repeat=n)))


def k_of(one: np.ndarray, other: np.ndarray, kernel: Kernel) -> float:
    n = len(one)
    apart = one.sum() - other.sum()
    return kernel.rho ** (one != other).sum() * (0.3 + np.exp(-((apart / (kernel.length * n)) ** 2) / 2)) + LEVEL


def bumpy(masks: np.ndarray, seed: int = 0) -> np.ndarray:
    """A function of masks in which neighbours act together, on an S-curve as a classifier's probability is."""
    draw = np.random.default_rng(seed)
    alone, together = draw.normal(size=(2, masks.shape[1]))
    return 1 / (1 + np.exp(-2 * (masks @ alone + (masks[:, 1:] * masks[:, :-1]) @ together[1:])))


def some(n: int, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    masks, _, _ = coalitions(n, count, np.random.default_rng(seed))
    every = np.vstack([np.ones((1, n), dtype=bool), np.zeros((1, n), dtype=bool), masks])
    return every, bumpy(every)


def everywhere(made: Surrogate) -> tuple[np.ndarray, np.ndarray]:
    """v̂ of every mask, by the kernel written out pair by pair."""
    masks = all_masks(made.masks.shape[1])
    return masks, np.array([sum(a * k_of(z, m, made.kernel) for a, m in zip(made.a, made.masks, strict=True)) for z in masks])


def exact_shapley(masks: np.ndarray, values: np.ndarray) -> np.ndarray:
    n = masks.shape[1]
    by_mask = {tuple(z): v for z, v in zip(masks.tolist(), values, strict=True)}
    found = np.zeros(n)
    for z in masks.tolist():
        size = sum(z)
        for i in (i for i in range(n) if not z[i]):
            weight = 1 / (n * len([1 for other in masks if not other[i] and other.sum() == size]))
            found[i] += weight * (by_mask[(*z[:i], True, *z[i + 1 :])] - by_mask[tuple(z)])
    return found


@pytest.mark.parametrize("n", [2, 3, 6])
def test_shapley_values_are_those_of_the_process(n: int) -> None:
    made = Surrogate.fit(*some(n, 20), KERNEL)
    assert made.shapley() == pytest.approx(exact_shapley(*everywhere(made)), abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_lime_is_the_regression_over_all_masks_of_the_process(n: int, ridge: float) -> None:
    made = Surrogate.fit(*some(n, 20), KERNEL)
    masks, values = everywhere(made)
    by_size = weights_of_sizes(n, 25.0)
    sizes = masks.sum(1)
    each = by_size[sizes] / np.bincount(sizes)[sizes]
    truth = Ridge(alpha=ridge).fit(masks, values, sample_weight=each).coef_
    assert made.lime(by_size, ridge) == pytest.approx(truth, abs=1e-7)


def test_the_process_is_that_of_scikit_learn() -> None:
    masks, values = some(7, 30)

    class Ours(SklearnKernel):
        def __init__(self) -> None:
            pass

        def __call__(self, x: np.ndarray, y: np.ndarray | None = None, eval_gradient: bool = False) -> np.ndarray:
            return np.array([[k_of(a > 0, b > 0, KERNEL) for b in (x if y is None else y)] for a in x])

        def diag(self, x: np.ndarray) -> np.ndarray:
            return np.full(len(x), 1.3 + LEVEL)

        def is_stationary(self) -> bool:
            return False

    noise = np.where(np.arange(len(masks)) < 2, CERTAIN, KERNEL.jitter)
    theirs = GaussianProcessRegressor(Ours(), alpha=noise, optimizer=None).fit(masks.astype(float), values)
    every, ours = everywhere(Surrogate.fit(masks, values, KERNEL))
    assert ours == pytest.approx(theirs.predict(every.astype(float)), abs=1e-6)


def test_values_add_up_to_the_whole_change() -> None:
    masks, values = some(9, 60)
    found = Known.of(masks[2:], values[2:], values[0], values[1]).part(np.ones(len(masks) - 2, dtype=bool)).shapley()
    assert found.sum() == pytest.approx(values[0] - values[1], abs=1e-5)


def test_the_likeliest_kernel_is_told_from_draws_of_it() -> None:
    """Functions drawn from a rough and from a smooth process."""
    masks, _ = some(10, 120)
    picked = {}
    for rho in (0.7, 0.99):
        one = Kernel(rho, 1.0, 1e-6)
        covariance = np.array([[k_of(a, b, one) for b in masks] for a in masks]) + 1e-6 * np.eye(len(masks))
        drawn = np.linalg.cholesky(covariance) @ np.random.default_rng(3).normal(size=len(masks))
        picked[rho] = likeliest(masks, drawn).rho
    assert picked[0.7] == 0.7
    assert picked[0.99] >= 0.95


@pytest.mark.parametrize("n", [9, 12])
def test_it_is_nearer_to_exact_values_than_the_regression(n: int) -> None:
    every = all_masks(n)
    ours, theirs = [], []
    for seed in range(20):
        masks, weights, _ = coalitions(n, 48, np.random.default_rng(seed))
        full, empty = bumpy(np.ones((1, n)), seed)[0], bumpy(np.zeros((1, n)), seed)[0]
        truth = _by_sizes(every, bumpy(every, seed))
        values = bumpy(masks, seed)
        known = Known.of(masks, values, full, empty).part(np.ones(len(masks), dtype=bool))
        ours.append(np.abs(known.shapley() - truth).sum())
        theirs.append(np.abs(shapley_regression(masks, values, weights, empty, full) - truth).sum())
    assert np.sum(ours) < 0.95 * np.sum(theirs)


def _by_sizes(masks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Shapley values as a mean over sizes of (mean with the word − mean without it)."""
    n, sizes = masks.shape[1], masks.sum(1)
    return np.array([
        np.mean([values[masks[:, i] & (sizes == s + 1)].mean() - values[~masks[:, i] & (sizes == s)].mean() for s in range(n)])
        for i in range(n)
    ])  # fmt: skip


def test_it_serves_where_masks_were_drawn() -> None:
    assert serves(np.array([-1, -1, 0, 1]), 10)
    assert not serves(np.array([-1, -1]), 10)  # all masks are there: exact values need no process
    assert not serves(np.array([0, 1]), 25)
