"""Explanations as JSON lines, one on each; what is loaded equals what was saved."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from whence.data import Span
from whence.data.corpus import BadRow
from whence.data.files import json_rows
from whence.errors import BadInput
from whence.run import write_atomically

Value = TypeVar("Value")


class Storable(Protocol):
    def to_dict(self) -> dict[str, Any]:
        """With the field "format", which says what kind of explanation it is."""


def save_lines(path: Path, explanations: Iterable[Storable]) -> None:
    """One after another: there may be more than memory holds."""

    def write(place: Path) -> None:
        with place.open("w", encoding="ascii") as file:  # a text may hold lone surrogates, which UTF-8 cannot
            file.writelines(json.dumps(explanation.to_dict()) + "\n" for explanation in explanations)

    write_atomically(path, write)


def load_lines(path: Path, format_: str, from_dict: Callable[[Mapping[str, Any]], Value]) -> list[Value]:
    return [value for _, value in numbered_lines(path, format_, from_dict)]


def numbered_lines(path: Path, format_: str, from_dict: Callable[[Mapping[str, Any]], Value]) -> Iterator[tuple[int, Value]]:
    """(row number, explanation)."""
    for item in json_rows(path):
        if isinstance(item, BadRow):
            raise BadInput(str(item))
        row, value = item
        if value.get("format") != format_:
            raise BadInput(f'{path}, row {row}: format is {json.dumps(value.get("format"))}; expected "{format_}"')
        try:
            yield row, from_dict(value)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:  # 1e999 is no whole number
            raise BadInput(f"{path}, row {row}: not an explanation of this format ({error!r})") from error


def read_spans(row: Mapping[str, Any]) -> dict[str, tuple[Span, ...]]:
    """The word spans of a stored explanation, each inside its text."""
    spans = {name: tuple((int(a), int(b)) for a, b in several) for name, several in row["spans"].items()}
    for name, several in spans.items():
        if any(not 0 <= a < b <= len(row["texts"][name]) for a, b in several):
            raise BadInput(f"explanation of '{row['id']}': a word span lies outside the text '{name}'")
    return spans
