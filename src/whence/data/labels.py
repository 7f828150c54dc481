"""The labels of a user's own data: which there are, and which spellings mean the same one.

Spellings that differ only in case or in spaces around them are one label, named by the most frequent of them; the notes say so.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from whence.data.readers.published import RowError


@dataclass(frozen=True)
class Labels:
    """The names of a corpus' labels, in order."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def of(self, value: object) -> str:
        """The label that a value in the data means."""
        spelling = spelled(value)
        if spelling in self.names:
            return spelling
        alike = [name for name in self.names if _folded(name) == _folded(spelling)]
        if len(alike) != 1:
            raise RowError(f"label '{spelling}'; expected one of {', '.join(self.names)}")
        return alike[0]


def known_labels(values: Iterable[object]) -> Labels:
    """The different labels among `values`; as numbers in their order, where they all are, else by alphabet."""
    counts = Counter(spelled(value) for value in values if not missing(value))
    groups: dict[str, list[str]] = {}
    for spelling, _ in counts.most_common():
        groups.setdefault(_folded(spelling), []).append(spelling)
    names = {group[0].strip(): group for group in groups.values()}
    notes = tuple(
        f"labels that differ only in case or in spaces around them are read as one: {', '.join(map(repr, sorted(group)))} "
        f"as {name!r}"
        for name, group in sorted(names.items())
        if len(group) > 1
    )
    numbers = all(re.fullmatch("-?[0-9]{1,18}", name) for name in names)
    return Labels(tuple(sorted(names, key=lambda name: (int(name) if numbers else 0, name))), notes)


def missing(value: object) -> bool:
    """Nothing, a blank, or what data frames use for nothing."""
    if isinstance(value, str):
        return not value.strip()
    blank = isinstance(value, float) and math.isnan(value)
    return value is None or blank or type(value).__name__ in ("NAType", "NaTType")


def spelled(value: object) -> str:
    """A label as text; 1.0, which data frames and sheets make of 1 where a cell is empty, is 1 again."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _folded(label: str) -> str:
    return label.strip().casefold()
