"""A black box: any function from a list of texts to probabilities.

Methods that only hide words work on it; those that need gradients or attention are refused by name. A hidden word is taken out
of the text with the space before it, or its place is taken by a mask word that the function knows.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from whence.data import Example, word_spans
from whence.errors import BadInput
from whence.models.encoding import SPECIAL, Encoded
from whence.models.intervention import Hide, Intervention
from whence.models.port import Port
from whence.models.target import Target

Predict = Callable[[list[Any]], Any]
"""Gets texts, or (premise, hypothesis) tuples; gives one row of probabilities for each."""


class BlackBox(Port):
    def __init__(self, predict: Predict, labels: Sequence[str], mask: str | None = None) -> None:
        if len(labels) < 2:
            raise BadInput(f"{len(labels)} labels were given for the function's outputs; expected at least 2")
        self.predict, self.labels, self.mask = predict, tuple(labels), mask

    @property
    def name(self) -> str:
        return f"function {getattr(self.predict, '__qualname__', type(self.predict).__name__)}"

    @property
    def honours(self) -> frozenset[str]:
        return frozenset({"keep"})

    @property
    def fingerprint(self) -> str:
        """Of what can be known of a function: its name and labels. A changed function with an old name is not noticed."""
        return hashlib.sha256(repr((self.name, self.labels, self.mask)).encode()).hexdigest()[:16]

    @property
    def hides(self) -> tuple[Hide, ...]:
        return ("delete",) if self.mask is None else ("mask", "delete")

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """A token is a word; before them stands one that stands for the whole text, so that equal ids mean equal texts."""
        found = []
        for example in examples:
            names, texts = tuple(example.texts), list(example.texts.values())
            spans = tuple(tuple(word_spans(text)) for text in texts)
            field = np.concatenate([[SPECIAL], *(np.full(len(s), f) for f, s in enumerate(spans))]).astype(np.int64)
            count = len(field) - 1
            whole = int.from_bytes(hashlib.blake2b(repr(texts).encode(), digest_size=7).digest(), "big")
            ids, words = np.append(whole, np.arange(count)).astype(np.int64), np.arange(count)
            found.append(Encoded(example, names, spans, ids, None, field, np.append(-1, words), words))
        return found

    def run(
        self,
        encoded: Sequence[Encoded],
        changes: Sequence[Intervention],
        want: frozenset[str],
        targets: Sequence[Target | None],
    ) -> dict[str, np.ndarray]:
        texts = [self._text(e, c) for e, c in zip(encoded, changes, strict=True)]
        given = np.asarray(self.predict(texts), dtype=np.float64)
        if given.shape != (len(texts), len(self.labels)):
            expected = f"({len(texts)}, {len(self.labels)}): a row for each text, a column for each label"
            raise BadInput(f"{self.name} gave an array of shape {given.shape}; expected {expected}")
        if not np.isfinite(given).all() or (given < 0).any() or (given > 1 + 1e-6).any():
            raise BadInput(f"{self.name} gave numbers that are no probabilities; expected values from 0 to 1")
        return {"scores": given.astype(np.float32)}

    def probabilities(self, scores: Float[np.ndarray, "*rows candidates"]) -> Float[np.ndarray, "*rows candidates"]:
        return scores

    def _text(self, encoded: Encoded, change: Intervention) -> Any:
        kept = np.ones(encoded.word_count, dtype=bool) if change.keep is None else change.keep[1:]
        if change.keep is not None and change.hide not in self.hides:
            raise BadInput(f"hide='{change.hide}': {self.name} cannot; expected one of {', '.join(self.hides)}")
        shown, first = [], 0
        for name, spans in zip(encoded.fields, encoded.spans, strict=True):
            here = kept[first : first + len(spans)]
            shown.append(self._without(encoded.example.texts[name], spans, here, change.hide))
            first += len(spans)
        return shown[0] if len(shown) == 1 else tuple(shown)

    def _without(self, text: str, spans: Sequence[tuple[int, int]], kept: np.ndarray, hide: Hide) -> str:
        parts, at = [], 0
        for (start, end), stays in zip(spans, kept, strict=True):
            gap, word = text[at:start], text[start:end]
            parts += [gap, word] if stays else [gap, self.mask or ""] if hide == "mask" else []
            at = end
        return "".join([*parts, text[at:]])
