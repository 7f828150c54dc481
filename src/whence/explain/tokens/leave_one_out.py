"""Leave-one-out: what the target's probability loses when one word is hidden.

  LOO_i = ŷ(x) − ŷ(x without word i)

Words that the model never read (beyond its limit) score 0. Cost: 1 + (number of words) forward passes.
"""

import numpy as np

from whence.explain.tokens.method import Ask, Method, Scored
from whence.run import Rounds


def leave_one_out_rounds(ask: Ask) -> Rounds[Scored]:
    seen = np.flatnonzero(ask.encoded.seen)
    everything = np.ones(ask.encoded.word_count, dtype=bool)
    without = [ask.keeping(everything & (np.arange(len(everything)) != i)) for i in seen]
    full, *changed = yield [ask.passing(), *without]
    scores = np.zeros(len(everything))
    scores[seen] = [ask.score(full) - ask.score(r) for r in changed]
    return Scored(scores)


METHODS = [
    Method(
        "leave_one_out",
        "Leave-one-out",
        "What the probability loses when the word is hidden.",
        "Robnik-Šikonja & Kononenko 2008; Li et al. 2016",
        "1 + words forward",
        leave_one_out_rounds,
    ),
]
