"""BLEU-4 of explanations against those that people wrote (Papineni et al. 2002), by sacrebleu (Post 2018), over the corpus.

  BLEU = BP · exp(¼ Σ_n log p_n),  n = 1 … 4

p_n: the clipped share of n-grams that any reference has; BP: the brevity penalty against the closest reference; no smoothing.
On e-SNLI the references are explanations 1 and 2, and people's own score is that of explanation 3 against them: 22.5. Cost:
counting.
"""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics import BLEU

from whence.measure.text.tokens import Tokens, treebank

REFERENCES = 2


def bleu(written: Sequence[str], references: Sequence[Sequence[str]], tokens: Tokens = treebank) -> float:
    """0 to 100; `references` has for each text those that people wrote, of which the first two count."""
    count = min(REFERENCES, max(len(several) for several in references))
    # sacrebleu takes None where an example has fewer references, though its annotation does not say so
    streams: list[Any] = [
        [" ".join(tokens(several[i])) if i < len(several) else None for several in references] for i in range(count)
    ]
    scorer = BLEU(tokenize="none", smooth_method="none", force=True)
    return scorer.corpus_score([" ".join(tokens(text)) for text in written], streams).score


def human_bleu(explanations: Sequence[Sequence[str]], tokens: Tokens = treebank) -> float | None:
    """The third explanation of each example against the first two; None where there are not three."""
    if any(len(several) <= REFERENCES for several in explanations):
        return None
    return bleu([several[REFERENCES] for several in explanations], explanations, tokens)
