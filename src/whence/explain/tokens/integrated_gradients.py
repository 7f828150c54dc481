"""Integrated gradients (Sundararajan et al. 2017).

  IG_i = Σ_d e_id · (1/m) Σ_{k=1..m} g_id(t_k · e),   t_k = (k − ½)/m   (midpoint rule)

The path scales the embeddings of all words from zero to their value; special tokens and positions stay as they are, so that the
scores of the words alone add up: Σ_i IG_i = ŷ(x) − ŷ(words at zero), up to the completeness error that is reported with every
explanation. Cost: m forward + m backward, and 2 forward for the error.
"""

import numpy as np

from whence.explain.parameters import STEPS
from whence.explain.tokens.method import Ask, Method, Scored
from whence.models import Intervention
from whence.run import Steps

WANT = frozenset({"word_gradient"})


def integrated_gradients_steps(ask: Ask, n_steps: int = 20) -> Steps[Scored]:
    path = [ask.passing(Intervention(scale=(k + 0.5) / n_steps), WANT) for k in range(n_steps)]
    *points, full, empty = yield [*path, ask.passing(), ask.passing(Intervention(scale=0.0))]
    products = np.stack([point.extras["word_gradient"][:, 0] for point in points]).mean(axis=0, dtype=np.float64)
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
