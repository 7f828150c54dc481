"""Leave-one-out τ: does the explanation rank words as hiding each one alone does?

  τ_b(scores, ŷ(x) − ŷ(x without word i)) over the words that the model read (Jain & Wallace 2019; Attanasio et al. 2023)

Leave-one-out itself scores 1 by definition. Not defined where either ranking is constant or there are fewer than two words.
Cost: 1 + words forward passes, shared by all explanations of an example.
"""

import numpy as np
from scipy.stats import kendalltau

from whence.explain.tokens import Ask
from whence.explain.tokens.leave_one_out import leave_one_out_rounds
from whence.measure.measure import Judged, Measure, Value
from whence.run import Rounds

_FEW = 128
"""Words up to which all pairs are compared at once; beyond, sorting is cheaper."""


def loo_tau_rounds(judged: Judged) -> Rounds[Value]:
    effects = yield from leave_one_out_rounds(Ask(judged.encoded, judged.target, judged.hide))
    return rank_agreement(judged.scores[judged.encoded.seen], effects.scores[judged.encoded.seen])


def rank_agreement(a: np.ndarray, b: np.ndarray) -> Value:
    """Kendall's τ_b, or None where it is not defined."""
    if len(a) < 2 or (a == a[0]).all() or (b == b[0]).all():
        return None
    if len(a) > _FEW or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return (float(kendalltau(a, b).statistic),)
    # all pairs at once: for the words of a sentence 50 times faster than scipy, whose time goes into looking at its arguments
    above_a, above_b = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    agreeing = np.vdot(above_a, above_b) / 2
    tau = agreeing / np.sqrt(np.count_nonzero(above_a) / 2) / np.sqrt(np.count_nonzero(above_b) / 2)
    return (float(min(1.0, max(-1.0, tau))),)


MEASURES = [
    Measure("loo_tau", "Leave-one-out τ", "Rank correlation with the effect of hiding each word alone.", "Jain & Wallace 2019",
            "higher", -1.0, 1.0, "0", loo_tau_rounds, family="faithfulness", favours="leave_one_out"),
]  # fmt: skip
