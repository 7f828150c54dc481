"""Inter-Rep: how much explanations repeat each other. Liu et al. 2022 do not define it; this reading gives their human rows.

  Inter-Rep = 1 − distinct trigrams / trigrams, pooled over all texts (inter-story repetition, Yao et al. 2019)

Lower is more diverse; 0 where no text has three tokens. It grows with the number of texts, so compare only equally many.
"""

from collections.abc import Sequence

import numpy as np

from whence.measure.text.tokens import Tokens, treebank

N = 3
PERMUTATIONS = 1000
Ngram = tuple[str, ...]


def inter_repetition(texts: Sequence[str], tokens: Tokens = treebank) -> float:
    return _repeated([_ngrams(text, tokens) for text in texts])


def repetition_difference(
    ours: Sequence[str], theirs: Sequence[str], tokens: Tokens = treebank, seed: int = 0
) -> tuple[float, float]:
    """(ours − theirs, p), both texts of the same examples in the same order.

    A bootstrap would repeat texts and so add repetition; p is of a permutation test instead, two-sided: for each example the
    two texts change places with probability one half.
    """
    pairs = [(_ngrams(a, tokens), _ngrams(b, tokens)) for a, b in zip(ours, theirs, strict=True)]
    observed = _repeated([a for a, _ in pairs]) - _repeated([b for _, b in pairs])
    draw, extreme = np.random.default_rng(seed), 0
    for _ in range(PERMUTATIONS):
        swap = draw.random(len(pairs)) < 0.5
        one, other = ([pair[int(s) ^ side] for pair, s in zip(pairs, swap, strict=True)] for side in (0, 1))
        extreme += abs(_repeated(one) - _repeated(other)) >= abs(observed) - 1e-12
    return observed, (extreme + 1) / (PERMUTATIONS + 1)


def _ngrams(text: str, tokens: Tokens) -> list[Ngram]:
    said = tokens(text)
    return list(zip(*(said[i:] for i in range(N)), strict=False))


def _repeated(texts: Sequence[Sequence[Ngram]]) -> float:
    total = sum(map(len, texts))
    return 1 - len({ngram for text in texts for ngram in text}) / total if total else 0.0
