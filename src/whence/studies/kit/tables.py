"""Tables as generators of rows. The docstring is the caption, and names in braces are filled in when the table is made:

@table("table2", "Table 2: is attention needed?", "corpus, model, ours, low, high, paper")
def table_2(found: Found) -> TableRows:
    \"""F1 on test, mean over {found.seeds} seeds.\"""
    for corpus in found.corpora:
        yield {"corpus": TITLES[corpus], …, "paper": published(paper.F1, corpus)}
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec

from whence.studies.study import Table

TableRows = Iterator[dict[str, Any]]
Given = ParamSpec("Given")


def table(name: str, title: str, columns: str) -> Callable[[Callable[Given, TableRows]], Callable[Given, Table]]:
    """`columns`: in their order, parted by commas. A caption knows the function's arguments and the names of its module."""

    def decorate(make: Callable[Given, TableRows]) -> Callable[Given, Table]:
        @wraps(make)
        def made(*args: Given.args, **kwargs: Given.kwargs) -> Table:
            return Table(name, title, caption(make, *args, **kwargs), columns.split(", "), list(make(*args, **kwargs)))

        return made

    return decorate


def caption(make: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The docstring of a function that makes a table or figure, on one line, filled in for these arguments."""
    known = {**make.__globals__, **inspect.signature(make).bind(*args, **kwargs).arguments}
    return " ".join((inspect.getdoc(make) or "").split()).format_map(known)


def published(table: Mapping[Any, Any], *keys: Any) -> Any:
    """What the paper has there, or None."""
    for key in keys:
        table = (table or {}).get(key)  # type: ignore[assignment]
    return table


def read_numbers(text: str, columns: Sequence[Any]) -> dict[str, dict[Any, float]]:
    """A table as a paper prints it, a line for each row: "name: 0.5 0.6 …"."""
    rows = (line.partition(":") for line in text.strip().splitlines())
    numbers = {name.strip(): [int(n) if n.isdigit() else float(n) for n in several.split()] for name, _, several in rows}
    return {name: dict(zip(columns, values, strict=True)) for name, values in numbers.items()}
