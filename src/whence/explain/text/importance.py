"""Which words of the input a written label and a written rationale come from, apart (Wiegreffe et al. 2021, §4.2).

  a(X)_L = Σ_{k in label} a_k,   a(X)_R = Σ_{k in rationale} a_k,   a_k[i] = Σ_d |∂ logit of token k / ∂ x_id|

Teacher-forced on the model's own greedy output. Delimiter and end belong to neither. Tokens of the prompt, and the tokenizer's
own, are no words and get no score. Cost: two forward passes, and one backward pass for each token of both parts, 32 at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from whence.data import Example
from whence.explain.text.rationale import Rationale
from whence.explain.text.write import generator_of
from whence.models import Encoded, Text
from whence.run import Request, Runner

WANT = frozenset({"token_gradients"})


@dataclass(frozen=True, eq=False)
class Importance:
    """Of every word that the model read on its own; words that share a token are one."""

    id: str
    words: tuple[str, ...]
    label: Float[np.ndarray, " words"]
    rationale: Float[np.ndarray, " words"]


def importances(runner: Runner, examples: Sequence[Example], rationales: Sequence[Rationale]) -> list[Importance | None]:
    """None where the model wrote no label, or no rationale."""
    encoded = generator_of(runner).encode(examples)
    asked = [np.array([part != "" for part in r.parts], dtype=bool) for r in rationales]
    both = [i for i, r in enumerate(rationales) if {"label", "rationale"} <= set(r.parts)]
    results = runner.run(
        [Request(encoded[i], want=WANT, target=Text(rationales[i].ids, tuple(asked[i].tolist()))) for i in both]
    )
    found: list[Importance | None] = [None] * len(rationales)
    for i, result in zip(both, results, strict=True):
        parts = np.array(rationales[i].parts)[asked[i]]
        norms = result.extras["token_gradients"][:, : len(parts)]
        label, rationale = (_by_word(encoded[i], norms[:, parts == part].sum(1)) for part in ("label", "rationale"))
        words = tuple(word for word, seen in zip(encoded[i].words, encoded[i].seen, strict=True) if seen)
        found[i] = Importance(rationales[i].id, words, label, rationale)
    return found


def _by_word(encoded: Encoded, by_token: np.ndarray) -> np.ndarray:
    return encoded.sum_to_words(by_token)[encoded.seen]
