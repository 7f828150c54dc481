"""One example: its texts, its label, and what people said about why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Literal

import numpy as np

from whence.data.words import Span, covered, word_spans

Task = Literal["text", "pair", "choice"]
FIELDS: dict[Task, tuple[str, ...]] = {
    "text": ("text",),
    "pair": ("premise", "hypothesis"),
    "choice": ("question",),
}
"""The names of an example's texts, in the order in which a model reads them."""

Highlights = Mapping[str, tuple[Span, ...]]
"""Character spans by field name, as one annotator marked them."""


@dataclass(frozen=True, slots=True)
class Example:
    """A text, a pair (premise, hypothesis) or a question with choices.

    The label of a question is the letter of the right choice. `highlights` has one entry per annotator. `pairs` are gold
    alignments: (span in the first text, span in the second). `meta` keeps what only some corpora have (a parse, a subcase, a
    template), as strings. `edits` are the spans by field that a counterpart with another label lacks (`counterfactual`).
    """

    id: str
    texts: Mapping[str, str]
    label: str | None = None
    choices: tuple[str, ...] = ()
    highlights: tuple[Highlights, ...] = ()
    explanations: tuple[str, ...] = ()
    pairs: tuple[tuple[Span, Span], ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    @property
    def answer(self) -> str | None:
        """The label in words: of a question, the text of the right choice."""
        if self.label is None or not self.choices:
            return self.label
        place = ascii_uppercase.find(self.label) if len(self.label) == 1 else -1
        return self.choices[place] if 0 <= place < len(self.choices) else self.label

    def highlighted_words(self, name: str) -> np.ndarray:
        """Words of field `name` that any annotator marked → bool[words]."""
        marked = [span for annotator in self.highlights for span in annotator.get(name, ())]
        return covered(word_spans(self.texts[name]), marked)

    def edited_words(self, name: str) -> np.ndarray:
        """Words of field `name` that the counterpart lacks → bool[words]."""
        return covered(word_spans(self.texts[name]), self.edits.get(name, ()))
