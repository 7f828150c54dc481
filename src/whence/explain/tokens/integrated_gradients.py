"""Integrated gradients (Sundararajan et al. 2017).

  IG_i = Σ_d x_id · ∫ g_id(t · x) dt  ≈  Σ_d x_id · Σ_c h_c 2u_c g_id(u_c² · x)     t = u²; midpoints u_c of cells of width h_c

x is what the first layer reads of the words (site `embedded`). The path takes it from zero to its value; special tokens stay as
they are, so that the scores of the words alone add up: Σ_i IG_i = ŷ(x) − ŷ(words at zero), up to the completeness error that is
reported with every explanation. Below a LayerNorm the path would do nothing: a norm ignores the scale of what it reads.

A transformer changes its mind within a small part of the path, early (MiniLM: half of it before t = 0.1), so the cells are
equal in u = √t. Even so `n_steps` of them miss most of it, and the misses of words cancel in their sum: a small completeness
error says little. So the cells with the largest error of their own are cut in three, as long as either error is more than
`tolerance` of Σ_i |IG_i| and there are fewer than `max_steps`. The error of a cell is a twenty-fourth of the second
difference to its neighbours, added up over words. A cut cell keeps its midpoint, so nothing is computed twice. Where an
error is still larger at the end, the explanation says so (`not_converged`).
benchmarks/path_error.py has the numbers. Cost: m forward + m backward, m from n_steps to max_steps, and 2 forward for the sum.
"""

import numpy as np
from jaxtyping import Float, Int

from whence.explain.parameters import STEPS, Range
from whence.explain.tokens.method import Ask, Method, Scored
from whence.models import Intervention
from whence.run import Rounds

WANT = frozenset({"gradient"})
SHARE = 0.7
"""Of the whole error: cells that make it up are cut together, so that a round has passes enough for a batch."""


def integrated_gradients_rounds(ask: Ask, n_steps: int = 10, tolerance: float = 0.1, max_steps: int = 60) -> Rounds[Scored]:
    content = ask.encoded.field >= 0
    middles, widths = (np.arange(n_steps) + 0.5) / n_steps, np.full(n_steps, 1 / n_steps)
    slopes = np.zeros((0, len(ask.encoded)))
    new, ends, change = middles, [ask.passing(), ask.passing(Intervention(scale=0.0))], 0.0
    while True:
        path = [ask.passing(Intervention(scale=float(u) ** 2), WANT) for u in new]
        results = yield [*path, *ends]
        if ends:
            change, ends = ask.score(results[-2]) - ask.score(results[-1]), []
        found = [2 * u * point.extras["gradient"][:, 0] for u, point in zip(new, results[: len(path)], strict=True)]
        slopes = np.concatenate([slopes, found])
        order = np.argsort(middles)
        middles, widths, slopes = middles[order], widths[order], slopes[order]
        products = widths @ slopes
        # over all content tokens: a token that belongs to no word still took part in the path
        size = float(np.abs(products[content]).sum())
        unsummed = abs(float(products[content].sum()) - change)
        errors = cell_errors(slopes[:, content], widths)
        small = not content.any() or max(unsummed, float(errors.sum())) < tolerance * size
        most = (max_steps - len(middles)) // 2
        if small or most < 1:
            break
        cut = largest(errors, most)
        widths[cut] /= 3
        new = np.concatenate([middles[cut] - widths[cut], middles[cut] + widths[cut]])
        middles, widths = np.concatenate([middles, new]), np.concatenate([widths, np.tile(widths[cut], 2)])
    notes = {"completeness_error": unsummed, "steps": float(len(middles))} | ({} if small else {"not_converged": 1.0})
    return Scored(ask.encoded.sum_to_words(products), notes)


def cell_errors(slopes: Float[np.ndarray, "cells tokens"], widths: Float[np.ndarray, " cells"]) -> Float[np.ndarray, " cells"]:
    """What the midpoint rule misses in each cell, h/24 of the second difference, added up over tokens."""
    edged = np.concatenate([slopes[:1], slopes, slopes[-1:]])
    return widths / 24 * np.abs(edged[:-2] - 2 * slopes + edged[2:]).sum(axis=1)


def largest(errors: Float[np.ndarray, " cells"], most: int) -> Int[np.ndarray, " cut"]:
    """The fewest cells that make up SHARE of the error, at most `most`."""
    order = np.argsort(-errors, kind="stable")
    needed = 1 + int(np.searchsorted(np.cumsum(errors[order]), SHARE * errors.sum()))
    return order[: min(needed, most)]


METHODS = [
    Method(
        "integrated_gradients",
        "Integrated gradients",
        "Gradients gathered on the way from no words to all words; adds up to the change in probability.",
        "Sundararajan et al. 2017",
        "n_steps to max_steps × (forward + backward) + 2 forward",
        integrated_gradients_rounds,
        {"n_steps": 10, "tolerance": 0.1, "max_steps": 60},
        {"n_steps": STEPS, "tolerance": Range(0, 1), "max_steps": STEPS},
        needs=frozenset({"gradient", "scale"}),
    ),
]
