"""Does attention rank words as gradients and leave-one-out do? (Jain & Wallace 2019, §4.1)

  τ_b(α, g), τ_b(α, Δ), τ_b(g, Δ) over the text's tokens, each with its p-value
  g_i = |Σ_d e_id · ∂ŷ/∂e_id| with the attention held fixed;   Δ_i = |ŷ(x without token i) − ŷ(x)|

Not defined (None) where a vector is constant or has fewer than two entries; such texts are left out and counted. With the
attention held fixed, a gradient sees what a token says, not how it draws attention. Cost: 2 + tokens forward passes and one
backward pass for each text.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from whence.models import Encoded, Intervention, Label
from whence.run import Request, Rounds


class Correlation(NamedTuple):
    """(τ, p) of each couple; None where not defined."""

    attention_gradient: tuple[float, float] | None
    attention_leave_one_out: tuple[float, float] | None
    gradient_leave_one_out: tuple[float, float] | None
    predicted: int


def correlation_rounds(encoded: Encoded) -> Rounds[Correlation]:
    text = np.flatnonzero(encoded.field >= 0)
    [base] = yield [Request(encoded, want=frozenset({"attention"}))]
    attention = base.extras["attention"]
    fixed = Request(encoded, Intervention(attention=attention), frozenset({"gradient"}), Label(base.label))
    without = [Request(encoded, Intervention(keep=np.arange(len(encoded)) != i, hide="delete")) for i in text]
    graded, *erased = yield [fixed, *without]
    alpha, gradient = attention[text], np.abs(graded.extras["gradient"][text, 0])
    effect = np.array([np.abs(r.probabilities - base.probabilities).mean() for r in erased])
    return Correlation(_tau(alpha, gradient), _tau(alpha, effect), _tau(gradient, effect), base.label)


def _tau(a: np.ndarray, b: np.ndarray) -> tuple[float, float] | None:
    if len(a) < 2 or (a == a[0]).all() or (b == b[0]).all():
        return None
    found = kendalltau(a, b)
    return float(found.statistic), float(found.pvalue)
