"""Prediction evolution: at which words of its explanation does a step-wise model change its mind? (Liu et al. 2022, Figure 4)

  m_s = ½ Σ_label |p_s − p_{s−1}|,  p_s the label's distribution after step s, p_0 before the first

  share  = Σ m_s over the steps that read a deciding word / Σ m_s,  pooled over texts
  chance = the same, expected if each text's movements were spread over its steps at random: such steps / steps

Step s writes token s and has read the tokens before it (the first one nothing but the start, the last one all), so whatever
token s changes is seen in p_{s+1}: its movement is that of the step that reads it (`read_at`).

The paper shows pictures. Deciding words are known where they were planted, or are what people highlighted. Cost: none; the
distributions come with the explanation.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from whence.data import covered, word_spans
from whence.data.words import Span
from whence.measure.statistics import Estimate, bootstrap

PERMUTATIONS = 2000


@dataclass(frozen=True)
class Movement:
    share: Estimate
    chance: float
    gain: Estimate
    """Share − chance."""
    p: float
    """The chance of a share this large if movements were shuffled within each text."""
    texts: int
    left_out: int
    """Texts that have no movement, no step that reads a deciding token, or no other."""


def movement(evolution: Float[np.ndarray, "steps+1 labels"]) -> Float[np.ndarray, " steps"]:
    """Total variation distance between one step and the next."""
    return 0.5 * np.abs(np.diff(np.asarray(evolution, dtype=np.float64), axis=0)).sum(-1)


def read_at(marked: Bool[np.ndarray, " tokens"]) -> Bool[np.ndarray, " tokens+1"]:
    """Of every step, the one that writes the end included: whether the token that it reads is marked."""
    return np.concatenate([[False], marked])


def deciding_tokens(tokens: Sequence[str], words: Collection[str]) -> Bool[np.ndarray, " tokens"]:
    """Tokens (which put together are the text) that are, or are part of, one of these words, in any case."""
    text, wanted = "".join(tokens), {word.casefold() for word in words}
    return tokens_in(tokens, [(a, b) for a, b in word_spans(text) if text[a:b].casefold() in wanted])


def tokens_in(tokens: Sequence[str], spans: Sequence[Span]) -> Bool[np.ndarray, " tokens"]:
    """Tokens (which put together are the text) that share a character with one of these spans of it."""
    ends = np.cumsum([len(token) for token in tokens]).tolist()
    return covered(list(zip([0, *ends], ends, strict=False)), spans)


def movement_share(moves: Sequence[np.ndarray], deciding: Sequence[np.ndarray], seed: int = 0) -> Movement | None:
    """Of many texts: float[steps] and bool[steps] of each; None where nothing moved."""
    pairs = [(m, d) for m, d in zip(moves, deciding, strict=True) if m.sum() > 0 and 0 < d.sum() < len(d)]
    if not pairs:
        return None
    rows = np.array([[m[d].sum(), m.sum() * d.mean(), m.sum()] for m, d in pairs])
    draw, shuffled = np.random.default_rng(seed), np.zeros(PERMUTATIONS)
    for m, d in pairs:
        shuffled += draw.permuted(np.tile(m, (PERMUTATIONS, 1)), axis=1)[:, d].sum(1)
    extreme = int((shuffled >= rows[:, 0].sum() - 1e-12).sum())
    return Movement(
        bootstrap(rows, lambda r: r[..., 0].sum(-1) / r[..., 2].sum(-1), seed), float(rows[:, 1].sum() / rows[:, 2].sum()),
        bootstrap(rows, lambda r: (r[..., 0] - r[..., 1]).sum(-1) / r[..., 2].sum(-1), seed),
        (1 + extreme) / (1 + PERMUTATIONS), len(pairs), len(moves) - len(pairs),
    )  # fmt: skip
