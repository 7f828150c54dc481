"""Kernel SHAP (Lundberg & Lee 2017): Shapley values of the words by weighted regression.

With v(S) the target's probability when only the words in S are seen, φ minimises Σ_S π(S) (v(S) − v(∅) − Σ_{i∈S} φ_i)², with
π(S) = (n−1) / (C(n,|S|) |S| (n−|S|)), under Σ φ_i = v(all) − v(∅). The constraint is solved for exactly (Lagrange).

If all 2ⁿ coalitions fit into n_samples they are all taken, and the values are exact. Else sizes are drawn in proportion to the
kernel's mass on them and coalitions come in complementary pairs, which removes most of the variance (Covert & Lee 2021); drawn
so, every sample has equal weight. Cost: at most n_samples + 2 forward passes.
"""

from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Bool, Float

from whence.explain.tokens.method import Ask, Method, Scored
from whence.run import Request, Steps


def coalitions(
    n: int, n_samples: int, draw: np.random.Generator
) -> tuple[Bool[np.ndarray, "samples n"], Float[np.ndarray, " samples"]]:
    """Proper, non-empty coalitions and their weights in the regression."""
    if 2**n - 2 <= n_samples:
        chosen = [members for size in range(1, n) for members in combinations(range(n), size)]
        masks = np.zeros((len(chosen), n), dtype=bool)
        for row, members in enumerate(chosen):
            masks[row, list(members)] = True
        sizes = masks.sum(axis=1)
        return masks, np.array([(n - 1) / (comb(n, k) * k * (n - k)) for k in sizes.tolist()])
    sizes = np.arange(1, n)
    mass = 1 / (sizes * (n - sizes))  # C(n,k) coalitions of size k, each with weight (n−1)/(C(n,k) k (n−k))
    half = draw.choice(sizes, size=n_samples // 2, p=mass / mass.sum())
    ranks = draw.random((len(half), n)).argsort(axis=1).argsort(axis=1)
    masks = ranks < half[:, None]
    return np.vstack([masks, ~masks]), np.ones(2 * len(half))


def shapley_regression(
    masks: Bool[np.ndarray, "samples n"],
    values: Float[np.ndarray, " samples"],
    weights: Float[np.ndarray, " samples"],
    empty: float,
    full: float,
) -> Float[np.ndarray, " n"]:
    """Least squares under Σ φ = full − empty.

    φ = equal shares + u with Σ u = 0: a plain least-squares problem in u, of samples × n. Where samples are few, u is the
    smallest of many solutions.
    """
    n = masks.shape[1]
    z = masks.astype(np.float64)
    equal = (full - empty) / n
    root = np.sqrt(weights)
    left = root[:, None] * (z - z.mean(axis=1, keepdims=True))
    return equal + np.linalg.lstsq(left, root * (values - empty - equal * z.sum(axis=1)), rcond=None)[0]


def kernel_shap_steps(ask: Ask, n_samples: int = 256) -> Steps[Scored]:
    seen = np.flatnonzero(ask.encoded.seen)
    scores = np.zeros(ask.encoded.word_count)
    nothing = np.zeros(ask.encoded.word_count, dtype=bool)
    if len(seen) > 1:
        masks, weights = coalitions(len(seen), n_samples, ask.generator("kernel_shap"))
    else:
        masks, weights = np.zeros((0, len(seen)), dtype=bool), np.zeros(0)
    kept = np.zeros((len(masks), ask.encoded.word_count), dtype=bool)
    kept[:, seen] = masks
    full, empty, *results = yield [Request(ask.encoded), ask.keeping(nothing), *(ask.keeping(row) for row in kept)]
    v_full, v_empty = (float(r.probabilities[ask.target]) for r in (full, empty))
    if len(seen) == 1:
        scores[seen] = v_full - v_empty
    elif len(seen) > 1:
        values = np.array([r.probabilities[ask.target] for r in results], dtype=np.float64)
        scores[seen] = shapley_regression(masks, values, weights, v_empty, v_full)
    return Scored(scores)


METHODS = [
    Method(
        "kernel_shap",
        "Kernel SHAP",
        "Shapley values: a fair share of the probability for every word.",
        "Lundberg & Lee 2017",
        "at most n_samples + 2 forward",
        kernel_shap_steps,
        {"n_samples": 256},
        stochastic=True,
    ),
]
