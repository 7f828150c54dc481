"""Integrated gradients (Sundararajan et al. 2017).

  IG_i = Σ_d x_id · (1/m) Σ_{k=1..m} g_id(t_k · x),   t_k = (k − ½)/m   (midpoint rule)

x is what the first layer reads of the words (site `embedded`). The path takes it from zero to its value; special tokens stay as
they are, so that the scores of the words alone add up: Σ_i IG_i = ŷ(x) − ŷ(words at zero), up to the completeness error that is
reported with every explanation. Below a LayerNorm the path would do nothing: a norm ignores the scale of what it reads.

While that error is more than `tolerance` of Σ_i |IG_i|, three times as many steps are taken, up to `max_steps`: every old point
is a point of the finer rule too, so nothing is computed twice. Where the error is still larger at the end, the explanation says
so (`not_converged`). Cost: m forward + m backward, m from n_steps to max_steps, and 2 forward for the error.
"""

import numpy as np

from whence.explain.parameters import STEPS, Range
from whence.explain.tokens.method import Ask, Method, Scored
from whence.models import Intervention
from whence.run import Rounds

WANT = frozenset({"gradient"})


def integrated_gradients_rounds(ask: Ask, n_steps: int = 20, tolerance: float = 0.05, max_steps: int = 60) -> Rounds[Scored]:
    content = ask.encoded.field >= 0
    steps, numbers = n_steps, list(range(n_steps))
    total = np.zeros(len(ask.encoded))
    ends = [ask.passing(), ask.passing(Intervention(scale=0.0))]
    change = 0.0
    while True:
        path = [ask.passing(Intervention(scale=(k + 0.5) / steps), WANT) for k in numbers]
        results = yield [*path, *ends]
        if ends:
            change, ends = ask.score(results[-2]) - ask.score(results[-1]), []
        total += np.stack([point.extras["gradient"][:, 0] for point in results[: len(path)]]).sum(axis=0, dtype=np.float64)
        products = total / steps
        # summed over all content tokens: a token that belongs to no word still took part in the path
        error = abs(float(products[content].sum()) - change)
        small = not content.any() or error < tolerance * float(np.abs(products[content]).sum())
        if small or 3 * steps > max_steps:
            break
        steps *= 3
        numbers = [k for k in range(steps) if k % 3 != 1]  # the points in between are those that are there already
    notes = {"completeness_error": error, "steps": float(steps)} | ({} if small else {"not_converged": 1.0})
    return Scored(ask.encoded.sum_to_words(products), notes)


METHODS = [
    Method(
        "integrated_gradients",
        "Integrated gradients",
        "Gradients gathered on the way from no words to all words; adds up to the change in probability.",
        "Sundararajan et al. 2017",
        "n_steps to max_steps × (forward + backward) + 2 forward",
        integrated_gradients_rounds,
        {"n_steps": 20, "tolerance": 0.05, "max_steps": 60},
        {"n_steps": STEPS, "tolerance": Range(0, 1), "max_steps": STEPS},
        needs=frozenset({"gradient", "scale"}),
    ),
]
