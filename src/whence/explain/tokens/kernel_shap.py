"""Kernel SHAP (Lundberg & Lee 2017): Shapley values of the words by weighted regression.

With v(S) the target's probability when only the words in S are seen, φ minimises Σ_S π(S) (v(S) − v(∅) − Σ_{i∈S} φ_i)², with
π(S) = (n−1) / (C(n,|S|) |S| (n−|S|)), under Σ φ_i = v(all) − v(∅). The constraint is solved for exactly (Lagrange).

Which coalitions are asked about, and with which weights: `coalitions.py`. None is asked about twice, and where all 2ⁿ fit into
n_samples they are all taken and the values are exact. Otherwise, for texts of up to 24 words, the values come from what a
Gaussian process learns from the coalitions (`surrogate.py`), which is nearer to the exact ones than the regression is from the
same passes. Cost: at most n_samples + 2 forward passes. The note `stability` says how another seed would rank the words
(halves.py).
"""

import numpy as np
from jaxtyping import Bool, Float

from whence.explain.parameters import SAMPLES
from whence.explain.tokens.coalitions import coalitions
from whence.explain.tokens.halves import stability_of_halves
from whence.explain.tokens.method import Ask, Method, Scored
from whence.explain.tokens.surrogate import Known, serves
from whence.run import Rounds


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


def kernel_shap_rounds(ask: Ask, n_samples: int = 256) -> Rounds[Scored]:
    seen = np.flatnonzero(ask.encoded.seen)
    scores = np.zeros(ask.encoded.word_count)
    nothing = np.zeros(ask.encoded.word_count, dtype=bool)
    masks, weights, draw = np.zeros((0, len(seen)), dtype=bool), np.zeros(0), np.zeros(0, dtype=int)
    if len(seen) > 1:
        masks, weights, draw = coalitions(len(seen), n_samples, ask.generator("kernel_shap"))
    kept = np.zeros((len(masks), ask.encoded.word_count), dtype=bool)
    kept[:, seen] = masks
    full, empty, *results = yield [ask.passing(), ask.keeping(nothing), *(ask.keeping(row) for row in kept)]
    v_full, v_empty = (ask.score(r) for r in (full, empty))
    if len(seen) < 2:
        scores[seen] = v_full - v_empty
        return Scored(scores)
    values = np.array([ask.score(r) for r in results])

    known = Known.of(masks, values, v_full, v_empty) if serves(draw, len(seen)) else None

    def fit(mine: Bool[np.ndarray, " samples"], times: Float[np.ndarray, " mine"]) -> Float[np.ndarray, " n"]:
        if known is not None:
            return known.part(mine).shapley()
        return shapley_regression(masks[mine], values[mine], times * weights[mine], v_empty, v_full)

    scores[seen] = fit(np.ones(len(masks), dtype=bool), np.ones(len(masks)))
    return Scored(scores, stability_of_halves(draw, len(seen), fit))


METHODS = [
    Method(
        "kernel_shap",
        "Kernel SHAP",
        "Shapley values: a fair share of the probability for every word.",
        "Lundberg & Lee 2017",
        "at most n_samples + 2 forward",
        kernel_shap_rounds,
        {"n_samples": 256},
        {"n_samples": SAMPLES},
        stochastic=True,
    ),
]
