"""Attention as explanation: the pooled attention α_i, head-averaged ([CLS] row of the last layer, or a BiLSTM's one layer; of a
sequence-to-sequence model the last decoder layer's cross-attention, mean over the tokens that it writes).

  attention            α_i                       (1 forward)
  attention_gradient   α_i · ∂ŷ/∂α_i             (1 forward + 1 backward; Serrano & Smith 2019)

With H heads, both factors are means over heads: (1/H Σ_h α_hi) · (1/H Σ_h ∂ŷ/∂α_hi). It is the product of means, not the mean
of the head-wise products: heads that disagree in sign cancel.

Special tokens get attention too; it is left out, not shared among the words.
"""

from whence.explain.tokens.method import Ask, Method, Scored
from whence.run import Rounds

NEEDS = frozenset({"attention"})


def attention_rounds(ask: Ask) -> Rounds[Scored]:
    [result] = yield [ask.passing(want=NEEDS)]
    return Scored(ask.encoded.sum_to_words(result.extras["attention"]))


def attention_gradient_rounds(ask: Ask) -> Rounds[Scored]:
    [result] = yield [ask.passing(want=frozenset({"attention", "attention_gradient"}))]
    return Scored(ask.encoded.sum_to_words(result.extras["attention"] * result.extras["attention_gradient"]))


METHODS = [
    Method(
        "attention",
        "Attention α",
        "How much attention the word gets where the model reads the sentence.",
        "Bahdanau et al. 2015",
        "1 forward",
        attention_rounds,
        needs=NEEDS,
    ),
    Method(
        "attention_gradient",
        "α∇α",
        "Attention times its gradient: attention that matters to the output.",
        "Serrano & Smith 2019",
        "1 forward + 1 backward",
        attention_gradient_rounds,
        needs=NEEDS,
    ),
]
