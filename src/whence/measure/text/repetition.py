"""Inter-Rep: how much explanations repeat each other. Liu et al. 2022 do not define it; this reading gives their human rows.

  Inter-Rep = 1 − distinct trigrams / trigrams, pooled over all texts (inter-story repetition, Yao et al. 2019)

Lower is more diverse; 0 where no text has three tokens. It grows with the number of texts, so compare only equally many.
"""

from collections.abc import Sequence

from whence.measure.text.tokens import Tokens, treebank

N = 3


def inter_repetition(texts: Sequence[str], tokens: Tokens = treebank) -> float:
    every: list[tuple[str, ...]] = []
    for text in texts:
        said = tokens(text)
        every += zip(*(said[i:] for i in range(N)), strict=False)
    return 1 - len(set(every)) / len(every) if every else 0.0
