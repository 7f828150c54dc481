"""The report of a study: one HTML file that needs no network and no script, with the paper's claims and numbers beside ours.

All texts are hostile: the template escapes what it is given, plots.py escapes its own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whence.report.numbers import finite, plain
from whence.report.page import write_page
from whence.report.plots import draw
from whence.run.engine import shown_time

COMPARED = ("ours", "low", "high", "paper")
SCALES = {
    "smoke": "smoke: a small run that shows that all parts work; its numbers say little about the paper",
    "small": "small: a reduced run for a small machine",
    "full": "full: the paper's own setting",
}

MARKS = {
    "holds": ("✓ Holds", "holds"),
    "does not hold": ("✗ Does not hold", "fails"),
    "undecided": ("? Undecided", "undecided"),
}
"""What stands beside a claim, and its class."""
LONG_TABLE = 50
"""Tables with more rows are folded."""


def write_study_report(results: Mapping[str, Any], path: Path) -> None:
    """Writes the page; `results` is what a study keeps as results.json."""
    write_page("study.html", _view(results), path)


def _view(results: Mapping[str, Any]) -> dict[str, Any]:
    claims = results["claims"]
    return {
        "study": results,
        "scale": SCALES[results["scale"]],
        "reduced": [(_words(name), plain(v["here"]), plain(v["full"])) for name, v in results["reduced"].items()],
        "claims": [{**claim, "stand": MARKS[claim["verdict"]]} for claim in claims],
        "holding": sum(claim["verdict"] == "holds" for claim in claims),
        "undecided": sum(claim["verdict"] == "undecided" for claim in claims),
        "long_table": LONG_TABLE,
        "tables": [compared(table) for table in results["tables"].values()],
        "figures": [
            {**figure, "panels": draw(figure["kind"], figure["data"], figure["title"])}
            for figure in results["figures"].values()
        ],
        "spent": shown_time(results["seconds"]),
        "pieces": [(name, shown_time(s)) for name, s in sorted(results["pieces"].items(), key=lambda item: -item[1])],
        "settings": [(_words(name), plain(value)) for name, value in results["settings"].items()],
        "versions": results["versions"],
    }


def compared(table: Mapping[str, Any]) -> dict[str, Any]:
    """Ours with its interval, the paper's number and the difference side by side; the other columns as they are given."""
    rows = table["rows"]
    has = {name: any(finite(row.get(name)) for row in rows) for name in COMPARED}
    # a column without a value says nothing: p over seeds where there was one seed
    names = [n for n in table["columns"] if n not in COMPARED and any(row.get(n) is not None for row in rows)]
    compared = [name for name in ("ours", "paper") if has[name]] + (["difference"] if has["ours"] and has["paper"] else [])
    first = next((i for i, name in enumerate(table["columns"]) if name in COMPARED), len(table["columns"]))
    at = sum(name in table["columns"][:first] for name in names)
    names[at:at] = compared
    digits = {name: places(row.get(name) for row in rows) for name in names}
    shared = places(row.get(name) for row in rows for name in ("ours", "paper"))  # an interval may touch 0
    digits |= dict.fromkeys(compared, shared)
    numeric = {name: name in compared or any(finite(row.get(name)) for row in rows) for name in names}
    return {
        "title": table["title"],
        "caption": table["caption"],
        "columns": [{"title": _words(name), "number": numeric[name]} for name in names],
        "rows": [
            [{**_cell(row, name, digits[name]), "title": _words(name), "number": numeric[name]} for name in names]
            for row in rows
        ],
        "intervals": has["low"] and has["high"],
    }


def _cell(row: Mapping[str, Any], name: str, digits: int | None) -> dict[str, str]:
    ours, low, high, paper = (row.get(key) for key in COMPARED)
    if name == "ours" and finite(low) and finite(high):
        return {"text": shown_number(ours, digits), "below": f"{shown_number(low, digits)} – {shown_number(high, digits)}"}
    if name == "p" and finite(row.get("p")):
        return {"text": "< 0.001" if row["p"] < 0.001 else f"{row['p']:.3f}", "below": ""}
    if name != "difference":
        return {"text": shown_number(row.get(name), digits), "below": ""}
    if not (finite(ours) and finite(paper)):
        return {"text": "–", "below": ""}
    gap = ours - paper  # type: ignore[operator]
    inside = finite(low) and finite(high) and low <= paper <= high  # type: ignore[operator]
    sign = "+" if round(gap, 4 if digits is None else digits) > 0 else ""
    return {"text": sign + shown_number(gap, digits), "below": "paper in interval" if inside else ""}


def places(values: Iterable[Any]) -> int | None:
    """Decimals that suit a whole column: 0 for counts, fewer for large numbers; None where some are too small for that."""
    found = [abs(value) for value in values if finite(value) and not isinstance(value, bool)]
    if all(isinstance(value, int) for value in found):
        return 0
    if any(0 < value < 0.002 for value in found):
        return None
    return 3 if max(found) < 10 else 2 if max(found) < 100 else 1


def shown_number(value: Any, digits: int | None = None) -> str:
    """A number with so many decimals, or as short as it can be; texts and lists as they are."""
    if digits is None or not finite(value) or isinstance(value, bool):
        return "–" if isinstance(value, float) and not finite(value) else plain(value)
    return f"{value:,.{digits}f}".replace("-", "−")


def _words(name: str) -> str:
    shown = name.replace("_", " ")
    return shown[:1].upper() + shown[1:] if shown.isascii() else shown  # λ is a symbol, not a word
