"""Integrated gradients (Sundararajan et al. 2017).

  IG_i = Σ_d x_id · ∫ g_id(t · x) dt = ∫ f_i(u) du      t = u², f_i(u) = 2u Σ_d x_id g_id(u² · x)

x is what the first layer reads of the words (site `embedded`). The path takes it from zero to its value; special tokens stay as
they are, so that the scores of the words alone add up: Σ_i IG_i = ŷ(x) − ŷ(words at zero), up to the completeness error that is
reported with every explanation. Below a LayerNorm the path would do nothing: a norm ignores the scale of what it reads.

The integral is that of the cubic spline through the f_i at some points (not-a-knot: Simpson's rule with two steps). They begin
as `n_steps` equal steps of u; f_i(0) is 0 and costs no pass, and the last point is the plain gradient, which other methods ask
for too. A transformer changes its mind within a small part of the path, early (MiniLM: in 0.1 < u < 0.45), each word at its own
place, so equal steps miss most of it, and the misses of words cancel in their sum: a small completeness error says little.
So steps are halved where the curves bend, round by round. A step of width h bends by h³/24 times |f″| at its two ends, added
up over words: about what the spline adds to the chord.

The error is what the last round changed, Σ_i |IG_i − IG_i before|; in the first round, what leaving out every other point
would. Rounds go on as long as it or the completeness error is more than `tolerance` of Σ_i |IG_i| and there are fewer than
`max_steps` points. Where one is still larger at the end, the explanation says so (`not_converged`). The true error was about
half of the estimate on MiniLM and SST (benchmarks/path_error.py).
Cost: m forward + m backward, m from n_steps to max_steps, and 2 forward for the sum.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.interpolate import CubicSpline

from whence.explain.parameters import STEPS, Range
from whence.explain.tokens.method import Ask, Method, Scored
from whence.models import UNCHANGED, Intervention
from whence.run import Request, Rounds

WANT = frozenset({"gradient"})
SHARE = 0.5
"""Of all bending: steps that make it up are halved together, so that a round has passes enough for a batch."""


def integrated_gradients_rounds(ask: Ask, n_steps: int = 10, tolerance: float = 0.05, max_steps: int = 60) -> Rounds[Scored]:
    content = ask.encoded.field >= 0
    points, slopes = np.zeros(1), np.zeros((1, len(ask.encoded)))
    new, ends = np.arange(1, n_steps + 1) / n_steps, [ask.passing(), ask.passing(Intervention(scale=0.0))]
    change, before = 0.0, None
    while True:
        results = yield [*(_gradient_at(ask, float(u)) for u in new), *ends]
        if ends:
            change, ends = ask.score(results[-2]) - ask.score(results[-1]), []
        found = [2 * u * point.extras["gradient"][:, 0] for u, point in zip(new, results, strict=False)]
        points, slopes = np.append(points, new), np.concatenate([slopes, found])
        order = np.argsort(points)
        points, slopes = points[order], slopes[order]
        products, bends = integral(points, slopes)
        if before is None:
            some = np.append(np.arange(0, n_steps, 2), n_steps)
            before = integral(points[some], slopes[some])[0] if n_steps > 1 else np.zeros(len(ask.encoded))
        # over all content tokens: a token that belongs to no word still took part in the path
        size = float(np.abs(products[content]).sum())
        unsummed = abs(float(products[content].sum()) - change)
        error = float(np.abs(products - before)[content].sum())
        small = not content.any() or max(unsummed, error) < tolerance * size
        most, before = max_steps - len(points) + 1, products
        if small or most < 1:
            break
        cut = largest(bends[:, content].sum(axis=1), most)
        new = (points[cut] + points[cut + 1]) / 2
    notes = {"completeness_error": unsummed, "steps": float(len(points) - 1)} | ({} if small else {"not_converged": 1.0})
    return Scored(ask.encoded.sum_to_words(products), notes)


def _gradient_at(ask: Ask, u: float) -> Request:
    return ask.passing(UNCHANGED if u == 1 else Intervention(scale=u**2), WANT)


def integral(
    points: Float[np.ndarray, " points"], values: Float[np.ndarray, "points tokens"]
) -> tuple[Float[np.ndarray, " tokens"], Float[np.ndarray, "steps tokens"]]:
    """Of the cubic splines through the values, and how much each step bends."""
    spline = CubicSpline(points, values)
    second = np.abs(spline(points, 2))
    return spline.integrate(points[0], points[-1]), np.diff(points)[:, None] ** 3 / 24 * (second[1:] + second[:-1])


def largest(bends: Float[np.ndarray, " steps"], most: int) -> Int[np.ndarray, " cut"]:
    """The fewest steps that make up SHARE of the bending, at most `most`."""
    order = np.argsort(-bends, kind="stable")
    needed = 1 + int(np.searchsorted(np.cumsum(bends[order]), SHARE * bends.sum()))
    return order[: min(needed, most)]


METHODS = [
    Method(
        "integrated_gradients",
        "Integrated gradients",
        "Gradients gathered on the way from no words to all words; adds up to the change in probability.",
        "Sundararajan et al. 2017",
        "n_steps to max_steps × (forward + backward) + 2 forward",
        integrated_gradients_rounds,
        {"n_steps": 10, "tolerance": 0.05, "max_steps": 60},
        {"n_steps": STEPS, "tolerance": Range(0, 1), "max_steps": STEPS},
        needs=frozenset({"gradient", "scale"}),
    ),
]
