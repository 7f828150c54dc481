"""A small T5 from scratch that is ready to compare two sentences and to name the words in which they differ.

Such a model needs four skills that pretrained ones have, and that random weights take thousands of steps to find: to see which
words stand nowhere else, to know in which sentence a word stands, to write down a word that was read, and to know that "Dog" is
"dog". So some heads and five coordinates of the word table start by hand; everything is trained from there on:

  word table          ONE is 1 for every token, ENDS 4 for </s>, STOPS 4 for sentence ends; tokens that differ in case or in the
                      space before them start close to each other
  encoder, heads 1–3  score 8·cos(word, other word), 5 for </s>, never the own place; reading </s> adds to NEW
  encoder, head 4     looks to the left for a sentence end; reading one adds to LATER
  decoder, heads 1–3  of every cross-attention look for NEW; in the last layer they add the word itself to what is written
  further layers of the encoder: heads 1–3 look for NEW, so that words that differ meet

Heads 1–3 see the words through orthonormal rows P, so a word that is copied (value P, output Pᵀ) is most like itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration

from whence.models.small_t5 import HEADS, LOOKING, SAME, plain_t5

ONE, ENDS, STOPS, NEW, LATER = range(5)
OURS = 5
"""Coordinates of the word table that are not the word's own."""
MARK = 4.0
NOWHERE = 5.0
"""The score of </s>: between that of the same word and that of any other."""
FOUND = 1.4
"""The weight of NEW in the scores of those who look for it."""
VARIED = 0.3
"""How far "Dog" starts from "dog": the share of its own in standard deviations."""
SENTENCE_ENDS = (".", "?", "!")
RIGHT = slice(16, None)
"""T5's buckets of relative places: 0 the own one, then those to the left, from 16 on those to the right."""


def copying_t5(tokenizer: Any, size: int, layers: int, dropout: float) -> T5ForConditionalGeneration:
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    model = plain_t5(len(tokenizer), pad, end, size, layers, dropout)
    own = torch.linalg.qr(torch.randn(size - OURS, size - OURS))[0]
    rows = nn.functional.pad(own, (OURS, 0)).split(size // HEADS - 1)[:LOOKING]
    with torch.no_grad():
        _mark(model.shared.weight, tokenizer.get_vocab(), end)
        _compare(model.encoder.block[0].layer[0].SelfAttention, rows)
        crossing = [block.layer[1].EncDecAttention for block in model.decoder.block]
        _copy(crossing[-1], rows)
        for attention in (*crossing, *(block.layer[0].SelfAttention for block in model.encoder.block[1:])):
            _look_for_new_words(attention)
    return model


def _mark(table: Float[Tensor, "tokens size"], vocabulary: dict[str, int], end: int) -> None:
    table[:, :OURS] = 0.0
    table[:, ONE] = 1.0
    table[end, ENDS] = MARK
    table[[vocabulary[stop] for stop in SENTENCE_ENDS if stop in vocabulary], STOPS] = MARK
    for first, *others in _same_words(vocabulary):
        table[others, OURS:] = (1 - VARIED**2) ** 0.5 * table[first, OURS:] + VARIED * table[others, OURS:]


def _same_words(vocabulary: dict[str, int]) -> Iterable[list[int]]:
    found = defaultdict(list)
    for token, number in sorted(vocabulary.items(), key=lambda item: item[1]):
        found[token.removeprefix("▁").casefold() or token].append(number)
    return found.values()


def _compare(attention: Any, rows: Sequence[Float[Tensor, "rows size"]]) -> None:
    query, key, value, output = (getattr(attention, name).weight for name in "qkvo")
    width = query.shape[0] // HEADS
    output[[NEW, LATER]] = 0.0
    for head, own in enumerate(rows):
        first, last = head * width, (head + 1) * width - 1
        query[first:last] = key[first:last] = own * (SAME / len(own)) ** 0.5
        _look(query, key, last, ENDS, NOWHERE / MARK)
        _tell(value, output, first, ENDS, NEW, 0.5)
    first = LOOKING * width
    query[first:] = 0.0
    _look(query, key, first, STOPS, 2.0)
    _tell(value, output, first, STOPS, LATER, 1.0)
    places = attention.relative_attention_bias.weight
    places.zero_()
    places[0] = -2 * SAME
    places[RIGHT, LOOKING] = -2 * SAME


def _copy(attention: Any, rows: Sequence[Float[Tensor, "rows size"]]) -> None:
    value, output = attention.v.weight, attention.o.weight
    width = value.shape[0] // HEADS
    for head, own in enumerate(rows):
        first, last = head * width, (head + 1) * width - 1
        value[first:last], output[:, first:last] = own, own.T


def _look_for_new_words(attention: Any) -> None:
    width = attention.q.weight.shape[0] // HEADS
    for head in range(LOOKING):
        _look(attention.q.weight, attention.k.weight, (head + 1) * width - 1, NEW, FOUND)


def _look(query: Tensor, key: Tensor, row: int, coordinate: int, weight: float) -> None:
    """Every token looks for this coordinate."""
    query[row] = key[row] = 0.0
    query[row, ONE], key[row, coordinate] = 1.0, weight


def _tell(value: Tensor, output: Tensor, row: int, read: int, written: int, weight: float) -> None:
    value[row] = output[:, row] = 0.0
    value[row, read], output[written, row] = 1.0, weight
