"""Which words of an explanation tell its label to somebody who reads nothing else?

  r_t = ½ Σ_label |q(label | words 1 … t) − q(label | words 1 … t − 1)|        a word tells if r_t ≥ TELLS

q counts the labels of the training explanations that begin alike, each label once more than it was seen. Words in fewer
than COMMON of the training explanations are one blank: what remains ("a _ is not") is how labels are explained, not what about.
After a beginning that no training explanation has, the reader learns nothing more.

Deciding words (evolution.py) are those of the input on which the label turns; telling words are those of the explanation that
give it away. "A dancer is not a fox." decides by "dancer" and "fox", and tells at "not". Cost: none.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from whence.data import word_spans, words
from whence.measure.text.evolution import tokens_in

COMMON = 0.03
TELLS = 0.1
BLANK = ""


class Reader:
    """What explanations alone say of labels; learned from `told`: (explanation, number of its label)."""

    def __init__(self, told: Iterable[tuple[str, int]], labels: int) -> None:
        both = [([word.casefold() for word in words(text)], label) for text, label in told]
        found = Counter(word for said, _ in both for word in set(said))
        self.common = {word for word, count in found.items() if count >= COMMON * len(both)}
        self.counts: dict[tuple[str, ...], np.ndarray] = defaultdict(lambda: np.zeros(labels))
        for said, label in both:
            known = self._blanked(said)
            for end in range(len(known) + 1):
                self.counts[known[:end]][label] += 1
        self.counts.default_factory = None

    def _blanked(self, said: Sequence[str]) -> tuple[str, ...]:
        return tuple(word if word in self.common else BLANK for word in said)

    def moves(self, text: str) -> Float[np.ndarray, " words"]:
        known = self._blanked([word.casefold() for word in words(text)])
        beliefs = [self._belief(())]
        for end in range(1, len(known) + 1):
            beliefs.append(self._belief(known[:end]) if known[:end] in self.counts else beliefs[-1])
        return 0.5 * np.abs(np.diff(np.array(beliefs), axis=0)).sum(-1)

    def _belief(self, known: tuple[str, ...]) -> Float[np.ndarray, " labels"]:
        seen = self.counts[known] + 1
        return seen / seen.sum()

    def telling_tokens(self, tokens: Sequence[str]) -> Bool[np.ndarray, " tokens"]:
        """Tokens (which put together are the text) that are, or are part of, a word that tells."""
        text = "".join(tokens)
        return tokens_in(tokens, [s for s, move in zip(word_spans(text), self.moves(text), strict=True) if move >= TELLS])
