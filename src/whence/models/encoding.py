"""From words to a model's tokens and back, by character offsets of the unchanged text.

A token belongs to the first word that it shares a character with; special tokens and lone spaces belong to none. Where one
token holds several words (Chinese, odd spacing), its first word carries the others: they are hidden together and share a score.
Texts longer than the model's limit are cut by the tokenizer, and `Encoded.unseen` says how many words were lost; words of which
the tokenizer makes nothing (a normaliser drops them) are `Encoded.dropped`. Reports must show both.
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
SPECIAL, PROMPT = -1, -2
"""Values of `Encoded.field` for tokens that belong to no text: the tokenizer's own, and the words of a template."""
CUT, DROPPED = -1, -2
"""Values of `Encoded.carrier` for words that no token holds: beyond the model's limit, or not known to the tokenizer."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """One example as a model reads it. `words` numbers the words of all fields in one row: first text, then second."""

    example: Example
    fields: tuple[str, ...]
    spans: tuple[tuple[Span, ...], ...]
    ids: Int[np.ndarray, " tokens"]
    types: Int[np.ndarray, " tokens"] | None
    field: Int[np.ndarray, " tokens"]
    """Which text a token comes from; SPECIAL or PROMPT for none."""
    word: Int[np.ndarray, " tokens"]
    """Which word, counted over all fields; -1 for none."""
    carrier: Int[np.ndarray, " words"]
    """The word whose tokens hold this one: itself, the first word of a token that holds several, or CUT or DROPPED."""
    candidates: tuple[tuple[int, ...], ...] = ()
    """A generator's candidates as token ids; a classifier's are its labels."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def word_count(self) -> int:
        return len(self.carrier)

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
        """Words that have a token of their own: the units that can be hidden and scored."""
        return self.carrier == np.arange(self.word_count)

    @property
    def unseen(self) -> int:
        """Words beyond the model's limit."""
        return int((self.carrier == CUT).sum())

    @property
    def dropped(self) -> int:
        """Words of which the tokenizer makes nothing."""
        return int((self.carrier == DROPPED).sum())

    def share(self, scores: np.ndarray) -> np.ndarray:
        """Scores of the units → of all words: words in one token get equal shares, so that sums stay."""
        held = np.maximum(self.carrier, 0)
        return np.where(self.carrier >= 0, scores[held] / np.bincount(held, minlength=self.word_count)[held], scores)

    def gather(self, scores: np.ndarray) -> np.ndarray:
        """The other way round: a unit's score is the sum over the words that it carries; the others have 0."""
        held = self.carrier >= 0
        return np.bincount(self.carrier[held], weights=scores[held], minlength=self.word_count)

    def tokens_of(self, words: Bool[np.ndarray, " words"]) -> Bool[np.ndarray, " tokens"]:
        """Spread a choice of words over their tokens; tokens that belong to no word are always kept."""
        extended = np.ones(len(words) + 1, dtype=bool)  # the last one: no word (-1)
        extended[:-1] = words
        return extended[self.word]

    def sum_to_words(self, values: np.ndarray) -> np.ndarray:
        """Merge sub-words by summing: float[tokens] → float[words]; 0 for words that the model never read."""
        inside = self.word >= 0
        return np.bincount(self.word[inside], weights=values[inside], minlength=self.word_count)

    def only(self, field: int) -> "Encoded":
        """Other fields belong to no word, so that they are neither scored nor hidden: the query of a document, for instance."""
        words = np.where(self.field == field, self.word, -1)
        return replace(self, word=words, carrier=np.where(self.word_fields == field, self.carrier, DROPPED))


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
    texts = [[storable(example.texts[name]) for example in examples] for name in names[0]]
    options = {"return_offsets_mapping": True, "return_token_type_ids": True, "add_special_tokens": True, "padding": False}
    if limit is None:
        batch = tokenizer(*texts, truncation=False, **options)
    else:
        batch = tokenizer(*texts, truncation=True, max_length=limit, **options)
    uses_types = "token_type_ids" in tokenizer.model_input_names
    found = []
    for i, example in enumerate(examples):
        ids = batch["input_ids"][i]
        field = np.array([SPECIAL if s is None else s for s in batch.sequence_ids(i)], dtype=np.int64)
        spans = tuple(tuple(word_spans(example.texts[name])) for name in names[0])
        word, carrier = match_words(spans, field, batch["offset_mapping"][i], limit is not None and len(ids) >= limit)
        types = np.array(batch["token_type_ids"][i], dtype=np.int64) if uses_types else None
        found.append(Encoded(example, names[0], spans, np.array(ids, dtype=np.int64), types, field, word, carrier))
    return found


def _fields(example: Example) -> tuple[str, ...]:
    names = tuple(example.texts)
    if names not in (FIELDS["text"], FIELDS["pair"]):
        raise BadInput(f"example '{example.id}' has fields {names}: a classifier reads ('text',) or ('premise', 'hypothesis')")
    return names


def storable(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def match_words(
    spans: Sequence[Sequence[Span]], field: Int[np.ndarray, " tokens"], offsets: Sequence[Span], full: bool
) -> tuple[Int[np.ndarray, " tokens"], Int[np.ndarray, " words"]]:
    """(`Encoded.word`, `Encoded.carrier`). `offsets` are in the token's own text; `full`: the text may have been cut."""
    start, end = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
    word = np.full(len(field), -1, dtype=np.int64)
    carriers: list[np.ndarray] = []
    before = 0
    for f, field_spans in enumerate(spans):
        carrier = np.full(len(field_spans), DROPPED)
        if field_spans:
            word_starts, word_ends = np.array(field_spans).T
            here = np.flatnonzero((field == f) & (end > start))
            candidate = np.searchsorted(word_ends, start[here], side="right")  # first word that ends after the token starts
            candidate = np.minimum(candidate, len(field_spans) - 1)
            overlaps = (word_starts[candidate] < end[here]) & (word_ends[candidate] > start[here])
            word[here[overlaps]] = candidate[overlaps] + before
            last = np.searchsorted(word_starts, end[here], side="left")  # one past the last word that the token touches
            for first, stop in zip(candidate[overlaps].tolist(), last[overlaps].tolist(), strict=True):
                if stop > first + 1:
                    held = carrier[first + 1 : stop]
                    held[held < 0] = first + before
            carrier[candidate[overlaps]] = candidate[overlaps] + before
            if full:
                carrier[(carrier < 0) & (word_starts >= end[here].max(initial=0))] = CUT
        carriers.append(carrier)
        before += len(field_spans)
    return word, np.concatenate(carriers) if carriers else np.zeros(0, dtype=np.int64)
