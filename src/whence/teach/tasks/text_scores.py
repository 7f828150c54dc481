"""How good written texts are: exact match, and BLEU of rationales.

BLEU = BP · exp(¼ Σ_n log p_n), p_n the clipped share of n-grams (n = 1 … 4) that any reference has, BP the brevity penalty
against the closest reference; over the corpus, lower-cased, tokenised as sacrebleu does by default (Papineni et al. 2002,
Post 2018).
"""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics import BLEU

REFERENCES = 2
"""Of the explanations that people wrote, so many count: e-SNLI's published numbers take two of its three."""


def exact_match(pairs: Sequence[tuple[str, str]]) -> float:
    """The share of (written, expected) that are the same but for case and spaces."""
    return sum(_plain(written) == _plain(expected) for written, expected in pairs) / len(pairs)


def rationale_bleu(pairs: Sequence[tuple[str | None, Sequence[str]]]) -> float:
    """Of (rationale or None, references), 0 to 100."""
    count = min(REFERENCES, max(len(references) for _, references in pairs))
    # sacrebleu takes None where an example has fewer references, though its annotation does not say so
    streams: list[Any] = [[r[i] if i < len(r) else None for _, r in pairs] for i in range(count)]
    return BLEU(lowercase=True).corpus_score([rationale or "" for rationale, _ in pairs], streams).score


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()
