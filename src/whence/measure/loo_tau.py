"""Leave-one-out τ: does the explanation rank words as hiding each one alone does?

  τ_b(scores, ŷ(x) − ŷ(x without word i)) over the words that the model read (Jain & Wallace 2019; Attanasio et al. 2023)

Leave-one-out itself scores 1 by definition. Not defined where either ranking is constant or there are fewer than two words.
Cost: 1 + words forward passes, shared by all explanations of an example.
"""

from whence.explain.ranks import rank_agreement
from whence.explain.tokens import Ask
from whence.explain.tokens.leave_one_out import leave_one_out_rounds
from whence.measure.measure import Judged, Measure, Value
from whence.run import Rounds


def loo_tau_rounds(judged: Judged) -> Rounds[Value]:
    effects = yield from leave_one_out_rounds(Ask(judged.encoded, judged.target, judged.hide))
    return rank_agreement(judged.scores[judged.encoded.seen], effects.scores[judged.encoded.seen])


MEASURES = [
    Measure("loo_tau", "Leave-one-out τ", "Rank correlation with the effect of hiding each word alone.", "Jain & Wallace 2019",
            "higher", -1.0, 1.0, "0", loo_tau_rounds, family="faithfulness", favours="leave_one_out"),
]  # fmt: skip
