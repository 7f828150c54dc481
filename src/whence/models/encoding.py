"""From words to a model's tokens and back, by character offsets of the unchanged text.

A token belongs to the first word that it shares a character with; special tokens and lone spaces belong to none. Texts longer
than the model's limit are cut by the tokenizer, and `Encoded.unseen` says how many words were lost: reports must show it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import regex
from jaxtyping import Bool, Int

from whence.data import FIELDS, Example, Span, word_spans
from whence.errors import BadInput
from whence.models.intervention import Hide

_SURROGATE = regex.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class Encoded:
    """One example as a model reads it. `words` numbers the words of all fields in one row: first text, then second."""

    example: Example
    fields: tuple[str, ...]
    spans: tuple[tuple[Span, ...], ...]
    ids: Int[np.ndarray, " tokens"]
    types: Int[np.ndarray, " tokens"] | None
    field: Int[np.ndarray, " tokens"]
    """Which text a token comes from; -1 for special tokens."""
    word: Int[np.ndarray, " tokens"]
    """Which word, counted over all fields; -1 for none."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def word_count(self) -> int:
        return sum(len(s) for s in self.spans)

    @property
    def word_fields(self) -> np.ndarray:
        """The field of every word → int[words]."""
        return np.repeat(np.arange(len(self.spans)), [len(s) for s in self.spans])

    @property
    def words(self) -> list[str]:
        texts = [self.example.texts[name] for name in self.fields]
        return [text[a:b] for text, spans in zip(texts, self.spans, strict=True) for a, b in spans]

    @property
    def seen(self) -> Bool[np.ndarray, " words"]:
        """Words that have at least one token: those that the model gets to read."""
        seen = np.zeros(self.word_count, dtype=bool)
        seen[self.word[self.word >= 0]] = True
        return seen

    @property
    def unseen(self) -> int:
        return int(self.word_count - self.seen.sum())

    def tokens_of(self, words: Bool[np.ndarray, " words"]) -> Bool[np.ndarray, " tokens"]:
        """Spread a choice of words over their tokens; tokens that belong to no word are always kept."""
        return np.append(words, True)[self.word]

    def sum_to_words(self, values: np.ndarray) -> np.ndarray:
        """Merge sub-words by summing: float[tokens] → float[words]; 0 for words that the model never read."""
        inside = self.word >= 0
        return np.bincount(self.word[inside], weights=values[inside], minlength=self.word_count)


def hide_tokens(encoded: Encoded, keep: np.ndarray, hide: Hide, mask_id: int | None, pad_id: int | None) -> Encoded:
    """The encoded example with the tokens outside `keep` hidden. Done on ids: the text is never written out and read again."""
    if len(keep) != len(encoded):
        raise ValueError(f"keep has {len(keep)} entries; expected one for each of the {len(encoded)} tokens")
    if hide == "delete":
        types = None if encoded.types is None else encoded.types[keep]
        return replace(encoded, ids=encoded.ids[keep], types=types, field=encoded.field[keep], word=encoded.word[keep])
    blank = mask_id if hide == "mask" else pad_id
    if blank is None:
        raise BadInput(f"hide='{hide}': the tokenizer has no {hide} token; expected one of the other ways (mask, pad, delete)")
    return replace(encoded, ids=np.where(keep, encoded.ids, blank))


def encode(tokenizer: Any, examples: Sequence[Example], limit: int | None) -> list[Encoded]:
    """Tokenise in one call; texts longer than `limit` tokens are cut, longest text of a pair first."""
    if not examples:
        return []
    names = [_fields(example) for example in examples]
    if len(set(names)) > 1:
        raise BadInput(f"one batch mixes examples with fields {sorted(set(names))}; expected the same fields in all")
    # Lone surrogates cannot be written as UTF-8; the replacement is one character as well, so offsets stay true.
    texts = [[_storable(example.texts[name]) for example in examples] for name in names[0]]
    options = {"return_offsets_mapping": True, "return_token_type_ids": True, "add_special_tokens": True, "padding": False}
    if limit is None:
        batch = tokenizer(*texts, truncation=False, **options)
    else:
        batch = tokenizer(*texts, truncation=True, max_length=limit, **options)
    uses_types = "token_type_ids" in tokenizer.model_input_names
    return [
        _encoded(example, names[0], batch["input_ids"][i], batch["token_type_ids"][i] if uses_types else None,
                 batch.sequence_ids(i), batch["offset_mapping"][i])
        for i, example in enumerate(examples)
    ]  # fmt: skip


def _fields(example: Example) -> tuple[str, ...]:
    names = tuple(example.texts)
    if names not in (FIELDS["text"], FIELDS["pair"]):
        raise BadInput(f"example '{example.id}' has fields {names}: a classifier reads ('text',) or ('premise', 'hypothesis')")
    return names


def _storable(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _encoded(
    example: Example, names: tuple[str, ...], ids: list[int], types: list[int] | None, sequences: list[int | None],
    offsets: list[Span],
) -> Encoded:  # fmt: skip
    spans = tuple(tuple(word_spans(example.texts[name])) for name in names)
    field = np.array([-1 if s is None else s for s in sequences], dtype=np.int64)
    start, end = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
    word = np.full(len(ids), -1, dtype=np.int64)
    before = 0
    for f, field_spans in enumerate(spans):
        if field_spans:
            word_starts, word_ends = np.array(field_spans).T
            here = np.flatnonzero((field == f) & (end > start))
            candidate = np.searchsorted(word_ends, start[here], side="right")  # first word that ends after the token starts
            candidate = np.minimum(candidate, len(field_spans) - 1)
            overlaps = (word_starts[candidate] < end[here]) & (word_ends[candidate] > start[here])
            word[here[overlaps]] = candidate[overlaps] + before
        before += len(field_spans)
    return Encoded(
        example, names, spans, np.array(ids, dtype=np.int64), None if types is None else np.array(types, dtype=np.int64),
        field, word,
    )  # fmt: skip
