"""LIME (Ribeiro et al. 2016): a weighted ridge regression on random hidings.

Masks z ∈ {0,1}^words: first everything kept, then as in the authors' text explainer a uniform number of words is hidden,
chosen at random. Weights π(z) = sqrt(exp(−D²/width²)), D = 100 × cosine distance to the full mask, width = 25 (as released).

  argmin_{b,w}  Σ π(z) (ŷ(z) − b − wᵀz)² + ridge · ‖w‖²      scores = w

Texts of up to 24 words are hidden as Kernel SHAP hides them (coalitions.py): no mask twice, all of them where they fit, and the
same passes serve both methods. Each number of words then counts as often as 5,000 of the authors' draws, their default, would
bring it: by what a Gaussian process makes of the masks that were asked about (surrogate.py), or exactly where all of them were.
The error against very many draws is smaller; of longer texts it would be larger (benchmarks/sampling_error.py).
Cost: at most n_samples + 2 forward passes, of short texts none besides Kernel SHAP's. The note `stability` says how another
seed would rank the words (halves.py).
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from whence.explain.parameters import POSITIVE, SAMPLES
from whence.explain.tokens.coalitions import coalitions
from whence.explain.tokens.halves import TAKEN, stability_of_halves
from whence.explain.tokens.method import Ask, Method, Scored
from whence.explain.tokens.surrogate import LONGEST, Known, serves
from whence.run import Rounds

DRAWS = 5000
"""Of the authors' tool, by default: how much a short text weighs against the ridge penalty, however few masks it has."""


def hidings(
    n_words: int, n_samples: int, short: np.random.Generator, long: np.random.Generator
) -> tuple[Bool[np.ndarray, "samples words"], Float[np.ndarray, " samples"], Int[np.ndarray, " samples"]]:
    """Masks, the full text first, how many draws each stands for, and which draw it is (halves.py)."""
    full = np.ones((1, n_words), dtype=bool)
    if not 1 < n_words <= LONGEST:
        masks = np.vstack([full, random_hidings(n_words, n_samples - 1, long)])
        return masks, np.ones(n_samples), np.array([TAKEN, *range(n_samples - 1)])
    some, mass, numbers = coalitions(n_words, n_samples, short)
    hidden = (~some).sum(axis=1)
    # LIME draws a mask with chance 1/(n C(n,k)); the Shapley kernel gives it (n−1)/(C(n,k) k (n−k))
    often = mass * hidden * (n_words - hidden) / (n_words * (n_words - 1))
    counts = np.concatenate([[1], (DRAWS - 1) * np.array([1 / n_words, *often])])
    return np.vstack([full, ~full, some]), counts, np.concatenate([[TAKEN, TAKEN], numbers])


def random_hidings(n_words: int, count: int, draw: np.random.Generator) -> Bool[np.ndarray, "count words"]:
    """With 1 to all words hidden, each number as likely."""
    hidden = draw.integers(1, n_words + 1, size=count)
    ranks = draw.random((count, n_words)).argsort(axis=1).argsort(axis=1)
    return ranks >= hidden[:, None]


def weighted_ridge(
    masks: Bool[np.ndarray, "samples words"],
    values: Float[np.ndarray, " samples"],
    weights: Float[np.ndarray, " samples"],
    ridge: float,
) -> Float[np.ndarray, " words"]:
    """Coefficients without the intercept, which is not penalised."""
    z, root, share = masks.astype(np.float64), np.sqrt(weights), weights / weights.sum()
    a, b = root[:, None] * (z - share @ z), root * (values - share @ values)
    if len(a) < a.shape[1]:  # the same by (AᵀA + r)⁻¹Aᵀ = Aᵀ(AAᵀ + r)⁻¹: a long text costs no matrix of all its words
        return a.T @ np.linalg.solve(a @ a.T + ridge * np.eye(len(a)), b)
    return np.linalg.solve(a.T @ a + ridge * np.eye(a.shape[1]), a.T @ b)


def lime_rounds(ask: Ask, n_samples: int = 256, width: float = 25.0, ridge: float = 1.0) -> Rounds[Scored]:
    seen = np.flatnonzero(ask.encoded.seen)
    scores = np.zeros(ask.encoded.word_count)
    if not len(seen):
        return Scored(scores)
    masks, counts, draw = hidings(len(seen), n_samples, ask.generator("kernel_shap"), ask.generator("lime"))
    kept = np.zeros((len(masks), ask.encoded.word_count), dtype=bool)
    kept[:, seen] = masks
    results = yield [ask.keeping(row) for row in kept]
    values = np.array([ask.score(r) for r in results])
    weights = counts * nearness_to_full(masks.mean(axis=1), width)
    known = None
    if len(seen) > 1 and serves(draw, len(seen)):
        known = Known.of(masks[2:], values[2:], values[0], values[1])

    def fit(mine: Bool[np.ndarray, " samples"], times: Float[np.ndarray, " mine"]) -> Float[np.ndarray, " words"]:
        if known is not None:
            return known.part(mine[2:]).lime(weights_of_sizes(len(seen), width), ridge)
        return weighted_ridge(masks[mine], values[mine], times * weights[mine], ridge)

    scores[seen] = fit(np.ones(len(masks), dtype=bool), np.ones(len(masks)))
    return Scored(scores, stability_of_halves(draw, len(seen), fit))


def nearness_to_full(share: Float[np.ndarray, "*s"], width: float) -> Float[np.ndarray, "*s"]:
    """π, by the share of words that a mask keeps."""
    distance = 100 * (1 - np.sqrt(share))  # cosine distance of a 0/1 vector to all ones
    return np.sqrt(np.exp(-(distance**2) / width**2))


def weights_of_sizes(n_words: int, width: float) -> Float[np.ndarray, " sizes"]:
    """Of all masks together that keep 0, 1, …, all words: the whole text is drawn once, any other number of words as often."""
    draws = np.append(np.full(n_words, (DRAWS - 1) / n_words), 1.0)
    return draws * nearness_to_full(np.arange(n_words + 1) / n_words, width)


METHODS = [
    Method(
        "lime",
        "LIME",
        "A linear model of the classifier around this text, fitted on random hidings.",
        "Ribeiro et al. 2016",
        "at most n_samples + 2 forward",
        lime_rounds,
        {"n_samples": 256, "width": 25.0, "ridge": 1.0},
        {"n_samples": SAMPLES, "width": POSITIVE, "ridge": POSITIVE},
        stochastic=True,
    ),
]
