"""Integrated gradients (Sundararajan et al. 2017).

  IG_i = Σ_d x_id · (1/m) Σ_{k=1..m} g_id(t_k · x),   t_k = (k − ½)/m   (midpoint rule)

x is what the first layer reads of the words (site `embedded`). The path takes it from zero to its value; special tokens stay as
they are, so that the scores of the words alone add up: Σ_i IG_i = ŷ(x) − ŷ(words at zero), up to the completeness error that is
reported with every explanation. Below a LayerNorm the path would do nothing: a norm ignores the scale of what it reads.
Cost: m forward + m backward, and 2 forward for the error.
"""

import numpy as np

from whence.explain.parameters import STEPS
from whence.explain.tokens.method import Ask, Method, Scored
from whence.models import Intervention
from whence.run import Steps

WANT = frozenset({"gradient"})


def integrated_gradients_steps(ask: Ask, n_steps: int = 20) -> Steps[Scored]:
    path = [ask.passing(Intervention(scale=(k + 0.5) / n_steps), WANT) for k in range(n_steps)]
    *points, full, empty = yield [*path, ask.passing(), ask.passing(Intervention(scale=0.0))]
    products = np.stack([point.extras["gradient"][:, 0] for point in points]).mean(axis=0, dtype=np.float64)
    change = ask.score(full) - ask.score(empty)
    # summed over all content tokens: a token that belongs to no word still took part in the path
    error = abs(float(products[ask.encoded.field >= 0].sum()) - change)
    return Scored(ask.encoded.sum_to_words(products), {"completeness_error": error})


METHODS = [
    Method(
        "integrated_gradients",
        "Integrated gradients",
        "Gradients gathered on the way from no words to all words; adds up to the change in probability.",
        "Sundararajan et al. 2017",
        "n_steps × (forward + backward) + 2 forward",
        integrated_gradients_steps,
        {"n_steps": 20},
        {"n_steps": STEPS},
        needs=frozenset({"gradient", "scale"}),
    ),
]
