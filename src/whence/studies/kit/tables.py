"""Tables as generators of rows. The docstring is the caption, and names in braces are filled in when the table is made:

@table("table2", "Table 2: is attention needed?", "corpus, model, ours, low, high, paper")
def table_2(found: Found) -> TableRows:
    \"""F1 on test, mean over {found.seeds} seeds.\"""
    for corpus in found.corpora:
        yield {"corpus": TITLES[corpus], …, "paper": published(PAPER, "table_2", corpus)}
"""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec

from whence.studies.study import Table

TableRows = Iterator[dict[str, Any]]
Given = ParamSpec("Given")


def table(name: str, title: str, columns: str) -> Callable[[Callable[Given, TableRows]], Callable[Given, Table]]:
    """`columns`: in their order, parted by commas, or "" for those that the rows have. A caption knows the function's arguments
    and the names of its module."""

    def decorate(make: Callable[Given, TableRows]) -> Callable[Given, Table]:
        @wraps(make)
        def made(*args: Given.args, **kwargs: Given.kwargs) -> Table:
            rows = list(make(*args, **kwargs))
            named = columns.split(", ") if columns else list(dict.fromkeys(column for row in rows for column in row))
            known = inspect.signature(make).bind(*args, **kwargs).arguments
            return Table(name, title, caption(make, **known), named, rows)

        return made

    return decorate


def corner_table(name: str, title: str, columns: str, of: str = "corners") -> Callable[[Callable[[Any], TableRows]], Any]:
    """A `table` of a study that keeps what it found by corpus, in corners: the function yields the rows of one corner, and
    "corpus" is put in front of each. The caption knows all that was `found`."""

    def decorate(make: Callable[[Any], TableRows]) -> Callable[[Any], Table]:
        def made(found: Any) -> Table:
            rows = [{"corpus": corner.title, **row} for corner in getattr(found, of) for row in make(corner)]
            return Table(name, title, caption(make, found=found), columns.split(", "), rows)

        return made

    return decorate


def caption(make: Callable[..., Any], **known: Any) -> str:
    """The docstring of a function that makes a table or figure, on one line, with what is known filled in."""
    return " ".join((inspect.getdoc(make) or "").split()).format_map({**make.__globals__, **known})
