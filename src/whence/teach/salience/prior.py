"""What a salience prior is: a number ≥ 0 for every token of every text, computed for a whole corpus at once.

A prior sees a `Tokens`, all tokens of all texts in one row, so that it is array work and never a loop over texts. Two ways make
its numbers a distribution σ for each text:

  normalised   over content tokens (of both texts of a pair) Σσ = 1; special tokens 0; a text whose numbers are all 0: uniform
  softmaxed    exp(number) over all tokens, special ones included (SaLoss' released code)
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from whence.models import Encoded


@dataclass(frozen=True)
class Tokens:
    """Texts in their flat form. `labels` are those of the texts, as the model numbers them."""

    encoded: Sequence[Encoded]
    labels: Int[np.ndarray, " texts"]

    @cached_property
    def starts(self) -> Int[np.ndarray, " texts+1"]:
        """Where each text begins in the row of all tokens."""
        return np.cumsum([0, *(len(e) for e in self.encoded)])

    @cached_property
    def text(self) -> Int[np.ndarray, " tokens"]:
        """Which text a token belongs to."""
        return np.repeat(np.arange(len(self.encoded)), np.diff(self.starts))

    @cached_property
    def ids(self) -> Int[np.ndarray, " tokens"]:
        return _joined([e.ids for e in self.encoded])

    @cached_property
    def fields(self) -> Int[np.ndarray, " tokens"]:
        """0 or 1, the first or second text of a pair; -1 for special tokens."""
        return _joined([e.field for e in self.encoded])

    @property
    def content(self) -> Bool[np.ndarray, " tokens"]:
        return self.fields >= 0

    def counts(self, width: int) -> csr_array:
        """How often each token is in each text's content: int[texts, width]; `width` is above every id."""
        rows, columns = self.text[self.content], self.ids[self.content]
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.encoded), width))

    @cached_property
    def digest(self) -> str:
        """Everything that a prior may read: tokens, fields, labels, and which words are highlighted."""
        hashed = hashlib.sha256(self.ids.tobytes() + self.fields.tobytes() + self.starts.tobytes() + self.labels.tobytes())
        for e in self.encoded:
            if e.example.highlights:
                hashed.update(e.word.tobytes() + json.dumps([dict(h) for h in e.example.highlights]).encode())
        return hashed.hexdigest()


@dataclass(frozen=True)
class Prior:
    """One registered prior: `score(tokens, fitted_on, **options)` → float[tokens of all texts], ≥ 0.

    `fitted_on` are the texts from which a prior learns what it must learn (document frequencies, labels); a prior that reads
    each text by itself ignores it.
    """

    name: str
    about: str
    paper: str
    score: Callable[..., Float[np.ndarray, " tokens"]]
    options: Mapping[str, Any] = field(default_factory=dict)


def normalised(scores: Float[np.ndarray, " tokens"], tokens: Tokens) -> Float[np.ndarray, " tokens"]:
    kept = np.where(tokens.content, scores, 0.0)
    total = np.bincount(tokens.text, kept, len(tokens.encoded))[tokens.text]
    size = np.bincount(tokens.text, tokens.content, len(tokens.encoded))[tokens.text]
    uniform = tokens.content / np.maximum(size, 1)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), uniform)


def softmaxed(scores: Float[np.ndarray, " tokens"], tokens: Tokens) -> Float[np.ndarray, " tokens"]:
    if not len(scores):
        return scores
    highest = np.full(len(tokens.encoded), -np.inf)
    np.maximum.at(highest, tokens.text, scores)
    powers = np.exp(scores - highest[tokens.text])
    return powers / np.bincount(tokens.text, powers, len(tokens.encoded))[tokens.text]


def _joined(rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
