"""What a trained model itself relies on, as a prior for the next one: numbers for its predicted label, negative ones as 0.

  attention_gradient   α_i · ∂ŷ/∂α_i                  1 forward + 1 backward pass a text
  leave_one_out        ŷ(x) − ŷ(x without word i)     1 + words forward passes a text; all tokens of a word have its number

Both need `model`, the folder of a model that reads the same tokens: the baseline, trained without any salience. Other priors
say which words matter before anything is trained; these ask whether a salience that is itself faithful makes attention so.
"""

import numpy as np
from jaxtyping import Float

from whence.errors import BadInput
from whence.models import Classifier, Encoded, Hide, Intervention, Label
from whence.run import Request, Rounds, Runner
from whence.teach.salience.prior import Prior, Tokens

CHUNK = 200
"""Texts that are asked about side by side."""


def attention_gradient(tokens: Tokens, _: Tokens, model: str) -> Float[np.ndarray, " tokens"]:
    def rounds(encoded: Encoded) -> Rounds[np.ndarray]:
        [base] = yield [Request(encoded)]
        wanted = frozenset({"attention", "attention_gradient"})
        [result] = yield [Request(encoded, want=wanted, target=Label(base.label))]
        return result.extras["attention"] * result.extras["attention_gradient"]

    return _scores(tokens, model, rounds)


def leave_one_out(tokens: Tokens, _: Tokens, model: str, hide: Hide) -> Float[np.ndarray, " tokens"]:
    def rounds(encoded: Encoded) -> Rounds[np.ndarray]:
        seen, words = np.flatnonzero(encoded.seen), np.arange(encoded.word_count)
        without = [Intervention(keep=encoded.tokens_of(words != i), hide=hide) for i in seen]
        base, *changed = yield [Request(encoded), *(Request(encoded, change) for change in without)]
        lost = np.zeros(len(words) + 1)  # the last place is that of tokens without a word
        lost[seen] = [base.probabilities[base.label] - result.probabilities[base.label] for result in changed]
        return lost[encoded.word]

    return _scores(tokens, model, rounds)


def _scores(tokens: Tokens, model: str, rounds: object) -> Float[np.ndarray, " tokens"]:
    classifier = Classifier.load(model)
    found = [np.zeros(0)]
    for start in range(0, len(tokens.encoded), CHUNK):
        ours = tokens.encoded[start : start + CHUNK]
        theirs = classifier.encode([e.example for e in ours])
        if any(not np.array_equal(a.ids, b.ids) for a, b in zip(theirs, ours, strict=True)):
            raise BadInput(f"the model {model} of a salience prior reads other tokens; expected the same vocabulary and data")
        found += Runner(classifier, remembered=0).drive(rounds(e) for e in theirs)  # type: ignore[operator]
    return np.maximum(np.concatenate(found), 0.0)


PRIORS = [
    Prior(
        "attention_gradient", "α∇α of a model that was trained before (`model`: its folder).", "Serrano & Smith 2019",
        attention_gradient, {"model": None},
    ),
    Prior(
        "leave_one_out", "What a model that was trained before (`model`: its folder) loses without a word.",
        "Li et al. 2016", leave_one_out, {"model": None, "hide": "delete"},
    ),
]  # fmt: skip
