"""Which words of the input a written label and a written rationale come from, apart (Wiegreffe et al. 2021, §4.2).

  a(X)_L = Σ_{k in label} w_k a_k,   a(X)_R = Σ_{k in rationale} w_k a_k,   a_k[i] = Σ_d |∂ logit of token k / ∂ x_id|

Teacher-forced on the model's own greedy output. Delimiter and end belong to neither. Tokens of the prompt, and the tokenizer's
own, are no words and get no score. In the paper every w_k is 1. `text_shares` gives the others: the share of other texts after
which the model would write another token at place k, so that "because", and a rationale that is always the same, count nothing.

Cost of `importances` for each example: a forward pass, and a backward pass for each token with w_k > 0, 8 at a time.
Cost of `text_shares`: `OTHERS` forward passes. Cost of `shaken_importances`: that, and `importances` for each draw of noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from whence.data import Example
from whence.explain.text.rationale import Rationale
from whence.explain.text.write import generator_of, noise_on
from whence.models import Encoded, Text
from whence.run import Request, Runner

WANT = frozenset({"token_gradients"})
OTHERS = 4
DRAWS = 4
SHAKEN = 0.25
"""Variance of the noise of `shaken_importances`, in units of the embeddings' own: little enough to change few outputs."""


@dataclass(frozen=True, eq=False)
class Importance:
    """Of every word that the model read on its own; words that share a token are one."""

    id: str
    words: tuple[str, ...]
    label: Float[np.ndarray, " words"]
    rationale: Float[np.ndarray, " words"]


def importances(
    runner: Runner,
    examples: Sequence[Example],
    rationales: Sequence[Rationale],
    shares: Sequence[Float[np.ndarray, " written"]] | None = None,
    noise: float = 0.0,
    seed: int = 0,
) -> list[Importance | None]:
    """None where no token of the label, or none of the rationale, has a weight. `shares` are the weights; without them every
    token counts 1. `noise` is a variance on the input embeddings."""
    encoded = generator_of(runner).encode(examples)
    weights = [
        np.array([part != "" for part in r.parts]) * (1.0 if shares is None else shares[i]) for i, r in enumerate(rationales)
    ]
    both = [i for i, r in enumerate(rationales) if {"label", "rationale"} <= set(np.array(r.parts)[weights[i] > 0])]
    results = runner.run([
        Request(encoded[i], noise_on(examples[i], noise, seed), WANT, Text(rationales[i].ids, tuple((weights[i] > 0).tolist())))
        for i in both
    ])  # fmt: skip
    found: list[Importance | None] = [None] * len(rationales)
    for i, result in zip(both, results, strict=True):
        asked = weights[i] > 0
        parts = np.array(rationales[i].parts)[asked]
        norms = result.extras["token_gradients"][:, : len(parts)] * weights[i][asked]
        label, rationale = (_by_word(encoded[i], norms[:, parts == part].sum(1)) for part in ("label", "rationale"))
        words = tuple(word for word, seen in zip(encoded[i].words, encoded[i].seen, strict=True) if seen)
        found[i] = Importance(rationales[i].id, words, label, rationale)
    return found


def text_shares(
    runner: Runner, examples: Sequence[Example], rationales: Sequence[Rationale], seed: int = 0, first: int = 0
) -> list[Float[np.ndarray, " written"]]:
    """For each written token the share of other texts, drawn at random, after which the model would write another there. The
    rationales are those of some examples, from number `first` on."""
    order = np.random.default_rng(seed).permutation(len(examples))
    found = [np.zeros(len(r.ids)) for r in rationales]
    asked = [i for i, r in enumerate(rationales) if any(r.parts)]
    said = [Text(rationales[i].ids, tuple(part != "" for part in rationales[i].parts)) for i in asked]
    steps = range(1, min(OTHERS, len(examples) - 1) + 1)
    for k in steps:
        other = dict(zip(order.tolist(), np.roll(order, -k).tolist(), strict=True))
        read = generator_of(runner).encode([examples[other[first + i]] for i in asked])
        results = runner.run([Request(item, target=text) for item, text in zip(read, said, strict=True)])
        for i, text, result in zip(asked, said, results, strict=True):
            here = np.array(text.asked)
            found[i][here] += (result.extras["choice"] != np.array(text.ids)[here]) / len(steps)
    return found


def shaken_importances(
    runner: Runner,
    examples: Sequence[Example],
    rationales: Sequence[Rationale],
    shares: Sequence[Float[np.ndarray, " written"]],
    draws: int = DRAWS,
    seed: int = 0,
    noise: float | None = None,
) -> list[list[Importance | None]]:
    """By draw and example: the importances under a little noise, the same noise for label and rationale."""
    noise = SHAKEN * generator_of(runner).embedding_variance if noise is None else noise
    return [importances(runner, examples, rationales, shares, noise, seed * draws + d) for d in range(draws)]


def _by_word(encoded: Encoded, by_token: np.ndarray) -> np.ndarray:
    return encoded.sum_to_words(by_token)[encoded.seen]
