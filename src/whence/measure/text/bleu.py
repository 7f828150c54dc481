"""BLEU-4 of explanations against those that people wrote (Papineni et al. 2002), by sacrebleu (Post 2018), over the corpus.

  BLEU = BP · exp(¼ Σ_n log p_n),  n = 1 … 4

p_n: the clipped share of n-grams that any reference has; BP: the brevity penalty against the closest reference; no smoothing.
On e-SNLI the references are explanations 1 and 2, and people's own score is that of explanation 3 against them: 22.5. Cost:
counting.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics import BLEU

from whence.measure.text.tokens import Tokens, treebank

REFERENCES = 2
Statistics = Float[np.ndarray, "*batch texts 10"]
"""Of each text: its length, that of the closest reference, and of 1- to 4-grams how many match and how many there are."""


def bleu_statistics(written: Sequence[str], references: Sequence[Sequence[str]], tokens: Tokens = treebank) -> Statistics:
    """What BLEU of these texts, or of any draw of them, is made from."""
    scorer, rows = _scorer(), []
    for text, several in zip(written, references, strict=True):
        found = scorer.corpus_score([_joined(text, tokens)], [[_joined(one, tokens)] for one in several[:REFERENCES]])
        rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    return np.array(rows, dtype=np.float64)


def bleu_of(rows: Statistics) -> Float[np.ndarray, " *batch"]:
    """0 to 100, of the texts together."""
    length, reference, *counts = np.moveaxis(rows.sum(-2), -1, 0)
    matches, totals = np.stack(counts[:4]), np.stack(counts[4:])
    with np.errstate(divide="ignore"):
        logs = np.log(np.divide(matches, totals, out=np.zeros_like(totals), where=totals > 0)).mean(0)
        brevity = np.minimum(0, 1 - np.divide(reference, length, out=np.full_like(length, np.inf), where=length > 0))
    return 100 * np.exp(logs + brevity)


def bleu(written: Sequence[str], references: Sequence[Sequence[str]], tokens: Tokens = treebank) -> float:
    """0 to 100; `references` has for each text those that people wrote, of which the first two count."""
    count = min(REFERENCES, max(len(several) for several in references))
    # sacrebleu takes None where an example has fewer references, though its annotation does not say so
    streams: list[Any] = [
        [_joined(several[i], tokens) if i < len(several) else None for several in references] for i in range(count)
    ]
    return _scorer().corpus_score([_joined(text, tokens) for text in written], streams).score


def human_bleu(explanations: Sequence[Sequence[str]], tokens: Tokens = treebank) -> float | None:
    """The third explanation of each example against the first two; None where there are not three."""
    if any(len(several) <= REFERENCES for several in explanations):
        return None
    return bleu([several[REFERENCES] for several in explanations], explanations, tokens)


def _scorer() -> BLEU:
    return BLEU(tokenize="none", smooth_method="none", force=True)


def _joined(text: str, tokens: Tokens) -> str:
    return " ".join(tokens(text))
