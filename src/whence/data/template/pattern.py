"""Patterns: text with fields in braces, "premise: {premise}". Only the pattern is ever parsed, never what is filled in.

`{{` and `}}` are braces, as in Python. What Python allows besides a name ("{text:>9}", "{text.x}") is refused.
"""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from whence.data.words import Span

Slot = tuple[str, str | None]
"""(text, the field that follows it); the last slot of a pattern has no field."""


@dataclass(frozen=True)
class Rendered:
    """A text and where each field stands in it: "premise", …, "choice 0", …, "rationale", as far as the template shows them."""

    text: str
    fields: Mapping[str, Span]

    def place(self, field: str, span: Span) -> Span:
        """Where a span of a field's own text (a word, a highlight) stands in the whole text."""
        start = self.fields[field][0]
        return start + span[0], start + span[1]

    def after(self, before: str) -> "Rendered":
        moved = len(before)
        return Rendered(before + self.text, {name: (a + moved, b + moved) for name, (a, b) in self.fields.items()})


@lru_cache(maxsize=256)
def slots_of(pattern: str) -> tuple[Slot, ...]:
    """The pattern's text and fields in order; ValueError for a pattern that cannot be read."""
    slots: list[Slot] = []
    text = ""
    for literal, field, spec, conversion in string.Formatter().parse(pattern):
        text += literal
        if spec or conversion:
            raise ValueError(f"'{field}' is followed by ':' or '!'")
        if field is not None:
            slots.append((text, field))
            text = ""
    return (*slots, (text, None))


def fields_of(pattern: str) -> tuple[str, ...]:
    return tuple(field for _, field in slots_of(pattern) if field is not None)


def filled(pattern: str, value: Callable[[str], str | Rendered]) -> Rendered:
    """The pattern with `value(field)` in the place of each field; of a rendered value, its own fields are kept."""
    text, fields = "", dict[str, Span]()
    for literal, field in slots_of(pattern):
        text += literal
        if field is not None:
            given = value(field)
            part = Rendered(given, {field: (0, len(given))}) if isinstance(given, str) else given
            fields |= {name: (a + len(text), b + len(text)) for name, (a, b) in part.fields.items()}
            text += part.text
    return Rendered(text, fields)
