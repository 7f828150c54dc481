"""What people hand over in Python, made into examples: texts, pairs, `Example`s, dicts, data frames, `datasets.Dataset`s.

One thing in, one thing out; many in, a list out. A string, a dict and an `Example` are one; whatever holds several is many.
Columns and keys have the same names as in a file (data/table.py): text, premise and hypothesis, label, id.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whence.data import Example
from whence.data.labels import Labels, known_labels
from whence.data.readers.published import RowError
from whence.data.table import Columns, example_of
from whence.errors import BadInput

HIGHEST_SEED = 2**31 - 1
LONGEST_BUDGET = 366 * 24 * 3600
_BUDGET = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([smh])", re.ASCII)
EXPECTED = "expected a text, a dict such as {'text': …}, an Example, or a list, data frame or dataset of them"


def is_one(given: Any) -> bool:
    return isinstance(given, str | Example | Mapping)


def as_examples(given: Any, pair: Any = None, columns: Columns | None = None) -> list[Example]:
    """Examples from whatever was given; `pair` holds the second text of each."""
    items = [given] if is_one(given) else rows_of(given, "the texts")
    if pair is None:
        if items and all(isinstance(item, Mapping) for item in items):
            return _from_rows(items, columns)
        return [_one(item, number, columns) for number, item in enumerate(items)]
    others = [pair] if isinstance(pair, str) else rows_of(pair, "the second texts")
    if len(items) != len(others) or isinstance(given, str) != isinstance(pair, str):
        raise BadInput(
            f"{_counted(given, items)} and {_counted(pair, others)} as second; expected one second text for each text"
        )
    return [
        Example(str(i), {"premise": _text(a, i), "hypothesis": _text(b, i)})
        for i, (a, b) in enumerate(zip(items, others, strict=True))
    ]


def rows_of(given: Any, what: str) -> list[Any]:
    """The items of a list, data frame, dataset or table, as texts, dicts or examples."""
    if given is None or isinstance(given, bytes | bytearray | int | float | Path):
        raise BadInput(f"{what} are {given!r:.60}; {EXPECTED}")
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # pandas
        return [{str(key): value for key, value in row.items()} for row in given.to_dict("records")]
    for convert in ("to_dicts", "to_pylist"):  # polars, pyarrow
        if hasattr(given, convert):
            return list(getattr(given, convert)())
    if not isinstance(given, Iterable):
        raise BadInput(f"{what} are a {type(given).__name__}; {EXPECTED}")
    return list(given)


def labels_in(examples: Sequence[Example]) -> tuple[str, ...]:
    return known_labels(example.label for example in examples).names


def _from_rows(rows: Sequence[Mapping[str, Any]], columns: Columns | None) -> list[Example]:
    keys = list(dict.fromkeys(str(key) for row in rows for key in row))
    found = (columns or Columns()).found("the data", keys)
    labels = known_labels(row.get(found.label) for row in rows) if found.label else Labels(())
    made = []
    for number, row in enumerate(rows):
        try:
            made.append(example_of({str(k): v for k, v in row.items()}, str(number), found, labels))
        except RowError as problem:
            raise BadInput(f"row {number + 1}: {problem}") from problem
    return made


def _one(item: Any, number: int, columns: Columns | None) -> Example:
    if isinstance(item, Example):
        return item
    if isinstance(item, Mapping):
        [example] = _from_rows([item], columns)
        return example
    return Example(str(number), {"text": _text(item, number)})


def _text(item: Any, number: int) -> str:
    if not isinstance(item, str):
        raise BadInput(f"item {number + 1} is {type(item).__name__} {item!r:.60}; {EXPECTED}")
    return str(item)


def _counted(given: Any, items: Sequence[Any]) -> str:
    return "a single text" if isinstance(given, str) else f"a list of {len(items)}"


def check_seed(seed: Any) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= HIGHEST_SEED:
        raise BadInput(f"seed is {seed!r:.60}; expected a whole number from 0 to {HIGHEST_SEED:,}")
    return seed


def check_limit(limit: Any) -> int | None:
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BadInput(f"limit is {limit!r:.60}; expected a whole number of at least 1, or None for all")
    return limit


def check_budget(budget: Any) -> float:
    """Seconds: of a number, or of a text such as "90s", "30m", "1.5h"."""
    wanted = "expected a number with its unit, such as 90s, 30m or 1.5h"
    found = _BUDGET.fullmatch(budget.strip()) if isinstance(budget, str) else None
    if found is not None:
        seconds = float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]
    elif isinstance(budget, int | float) and not isinstance(budget, bool):
        seconds = float(budget)
    else:
        raise BadInput(f"budget is {budget!r:.60}; {wanted}")
    if not 0 < seconds <= LONGEST_BUDGET:
        raise BadInput(f"budget is {budget!r:.60}; {wanted}, more than nothing and at most a year")
    return seconds
