"""A paper's numbers, which are data: `paper.toml` beside the code of the study that repeats it, tables as they are printed.

[table_2]
columns = ["base", "uniform"]
SST = [0.831, 0.822]                       # "–" where the paper has no number

Columns at the top of the file are those of all tables that have none of their own. Two lists of columns mean every column of
the second below each of the first. Rows may be grouped ([table_1.da]), or start with a number that names them.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import product
from typing import Any

MISSING = "–"


@cache
def read_paper(package: str) -> dict[str, Any]:
    """Of each table its rows, by name and column."""
    tables = tomllib.loads(resources.files(package).joinpath("paper.toml").read_text(encoding="utf-8"))
    columns = tables.pop("columns", [])
    return {name: _named(table, table.pop("columns", columns)) for name, table in tables.items()}


def published(numbers: Mapping[Any, Any] | None, *keys: Any) -> Any:
    """What the paper has there, or None."""
    for key in keys:
        numbers = (numbers or {}).get(key)
    return numbers


def _named(cells: Any, columns: Sequence[Any]) -> dict[Any, Any]:
    if isinstance(cells, dict):
        return {name: _named(inner, columns) for name, inner in cells.items()}
    if isinstance(cells[0], list):
        return {row: _named(numbers, columns) for row, *numbers in cells}
    if not isinstance(columns[0], list):
        return {column: cell for column, cell in zip(columns, cells, strict=True) if cell != MISSING}
    found: dict[Any, Any] = {outer: {} for outer in columns[0]}
    for (outer, inner), cell in zip(product(*columns), cells, strict=True):
        found[outer][inner] = cell
    return found
