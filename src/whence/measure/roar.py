"""ROAR (Hooker et al. 2019): hide the words that an attribution ranks highest, train again on what is left, and measure.

  hidden words   the max(1, round(k · n / 100)) highest of an example's n words; ties: the earlier. Words of the prompt and the
                 tokenizer's own tokens are no words, so they are never hidden. The control hides as many words, drawn with a
                 seed of (seed, example), nested: what is hidden at 10 % is hidden at 20 % too, as it is with any ranking
  occluded text  each run of neighbouring hidden words becomes one mark: T5's sentinels <extra_id_0>, <extra_id_1>, … where the
                 tokenizer has them, as in T5's pre-training; else its mask token, the same one for every run

Wiegreffe et al. 2021 (§4.2) hide tokens, and do not say how k % is rounded nor whether neighbours share a sentinel. We hide
words, because half a word often gives the other half away. This file makes the texts; the training is the study's.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np

from whence.data import Example, Template, word_spans
from whence.data.words import runs
from whence.errors import BadInput

SOURCE = "text"
"""The one text of an occluded example; the template "source.i-or" gives it to a model as it is."""


def how_many(words: int, percent: float) -> int:
    """So many of `words`; half a word is rounded up."""
    return 0 if percent == 0 else min(words, max(1, int(percent * words / 100 + 0.5)))


def top_words(scores: Sequence[float], percent: float) -> list[int]:
    """The places of the highest scores, in the order of the text."""
    order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
    return sorted(order[: how_many(len(scores), percent)].tolist())


def random_scores(example_id: str, words: int, seed: int) -> list[float]:
    """A ranking of an example's words that depends on nothing else."""
    drawn = hashlib.blake2b(repr((seed, example_id)).encode(errors="surrogatepass"), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(drawn, "big")).random(words).tolist()


def marks_of(tokenizer: Any) -> Iterator[str]:
    """What hidden runs are replaced by, one after another; the last sentinel serves all that follow."""
    known = tokenizer.get_vocab()
    sentinels = [mark for i in range(len(known)) if (mark := f"<extra_id_{i}>") in known] if "<extra_id_0>" in known else []
    if not sentinels and not tokenizer.mask_token:
        raise BadInput("the tokenizer has neither sentinels (<extra_id_0>) nor a mask token; expected one of them")
    return chain(sentinels, repeat(sentinels[-1] if sentinels else tokenizer.mask_token))


def occluded_source(template: Template, example: Example, hidden: Iterable[int], marks: Iterable[str]) -> str:
    """The source that the template makes of an example, with the `hidden` words replaced.

    Words are numbered over all fields in the order of the source, as in `Encoded.words`. A run ends with its field.
    """
    shown, following = template.render(example), iter(marks)
    fields = [[(start + a, start + b) for a, b in word_spans(shown.text[start:end])] for start, end in shown.fields.values()]
    chosen = np.zeros(sum(map(len, fields)), dtype=bool)
    chosen[list(hidden)] = True
    done, written, first = "", 0, 0
    for spans in fields:
        for start, end in runs(chosen[first : first + len(spans)]):
            done += shown.text[written : spans[start][0]] + next(following)
            written = spans[end - 1][1]
        first += len(spans)
    return done + shown.text[written:]


def occluded(template: Template, example: Example, hidden: Iterable[int], marks: Iterable[str]) -> Example:
    """An example whose only text is its occluded source; label, choices and rationales stay, so that the target does."""
    return replace(
        example, texts={SOURCE: occluded_source(template, example, hidden, marks)}, highlights=(), pairs=(), edits={}
    )
