"""PPL: how usual a text is to a language model, here an n-gram model with interpolated Kneser–Ney smoothing.

  p(w | h) = max(c(hw) − D, 0) / c(h·) + D · N₁₊(h·) / c(h·) · p(w | h')        h': h without its first word
  p(w)     = max(c(w) − D, 0) / c(·)  + D · N₁₊(·) / c(·) · 1 / |V|

c are counts for the longest n-grams, and for shorter ones the number of different words before them; N₁₊(h·) the number of
different words after h; D = n₁ / (n₁ + 2 n₂) for each length (Ney et al. 1994; Chen & Goodman 1999), at least 0.1, so that
nothing is impossible. V: the words of the training texts, the end of a text, and one for every word that is not among them.

  PPL = exp(−Σ log p / tokens), ends of texts counted; `without_ends`: Σ over the same, divided by words alone, as KenLM is used

Liu et al. 2022 do not say which model theirs is. Ours learns from the training explanations of the same corpus, so a low PPL
says "like the training set", and people who write freely have a high one. Cost: counting; no passes.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from whence.errors import BadInput
from whence.measure.text.tokens import Tokens, treebank

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
ORDER = 5
LEAST_DISCOUNT = 0.1
Ngram = tuple[str, ...]


@dataclass(frozen=True)
class Perplexity:
    value: float
    without_ends: float
    unknown: float
    """The share of words that the model has never seen."""


class KneserNey:
    def __init__(self, texts: Sequence[Sequence[str]], order: int = ORDER, discounts: Sequence[float] | None = None) -> None:
        """`texts` are tokens; `discounts` D of each length, the shortest first; None: estimated."""
        if not texts:
            raise BadInput("a language model was given no texts; expected at least one to learn from")
        self.order = order
        self.vocabulary = frozenset({END, UNKNOWN, *(word for text in texts for word in text)})
        longest = Counter(ngram for text in texts for ngram in _ngrams(_padded(text, order), order))
        counts: list[Counter[Ngram]] = [longest]
        for _ in range(order - 1):  # of every shorter n-gram, how many different words stand before it
            counts.insert(0, Counter(ngram[1:] for ngram in counts[0]))
        self.counts = counts
        self.discounts = tuple(map(_discount, counts)) if discounts is None else tuple(discounts)
        self._after: list[dict[Ngram, tuple[int, int]]] = [_after(one) for one in counts]

    def probability(self, word: str, history: Ngram) -> float:
        """Of a word after at most `order` − 1 words; words outside the vocabulary count as one."""
        word = word if word in self.vocabulary else UNKNOWN
        found = 1 / len(self.vocabulary)
        for n in range(self.order):
            before = history[len(history) - n :] if n else ()
            if len(before) < n:
                break
            total, kinds = self._after[n].get(before, (0, 0))
            if total:
                d = self.discounts[n]
                found = max(self.counts[n][*before, word] - d, 0) / total + d * kinds / total * found
        return found

    def surprisal(self, texts: Sequence[Sequence[str]]) -> Float[np.ndarray, "texts 3"]:
        """Of each text: −Σ log p of its words and its end, its words, and how many of them the model has never seen."""
        rows = []
        for text in texts:
            known = [word if word in self.vocabulary else UNKNOWN for word in text]
            steps = _ngrams(_padded(known, self.order), self.order)
            logs = sum(math.log(self.probability(word, tuple(history))) for *history, word in steps)
            rows.append([-logs, len(text), known.count(UNKNOWN)])
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def perplexity(self, texts: Sequence[Sequence[str]]) -> Perplexity:
        logs, words, unknown = self.surprisal(texts).sum(0)
        if not words:
            return Perplexity(math.nan, math.nan, math.nan)
        return Perplexity(_exp(logs / (words + len(texts))), _exp(logs / words), unknown / words)


def perplexity_of(rows: Float[np.ndarray, "*batch texts 3"]) -> Float[np.ndarray, " *batch"]:
    """PPL of texts by their `surprisal`."""
    logs, words = rows[..., 0].sum(-1), rows[..., 1].sum(-1)
    return np.exp(np.minimum(700, logs / (words + rows.shape[-2])))


def text_model(texts: Sequence[str], tokens: Tokens = treebank, order: int = ORDER) -> KneserNey:
    return KneserNey([tokens(text) for text in texts], order)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def _padded(text: Sequence[str], order: int) -> list[str]:
    return [START] * (order - 1) + list(text) + [END]


def _ngrams(line: Sequence[str], n: int) -> list[Ngram]:
    return [tuple(line[i : i + n]) for i in range(len(line) - n + 1)]


def _after(counts: Counter[Ngram]) -> dict[Ngram, tuple[int, int]]:
    """Of every history: how often it is followed, and by how many different words."""
    found: dict[Ngram, list[int]] = defaultdict(lambda: [0, 0])
    for ngram, count in counts.items():
        found[ngram[:-1]][0] += count
        found[ngram[:-1]][1] += 1
    return {history: (total, kinds) for history, (total, kinds) in found.items()}


def _discount(counts: Counter[Ngram]) -> float:
    once, twice = (sum(count == n for count in counts.values()) for n in (1, 2))
    return max(LEAST_DISCOUNT, once / (once + 2 * twice)) if once else LEAST_DISCOUNT
