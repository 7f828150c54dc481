"""How numbers read in the verdict and the report. A measure's unit says how its values are shown."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return str(value)


def decimal(value: float, digits: int) -> str:
    """So many digits after the point, and more for what would otherwise look like 0."""
    small = 0 < abs(value) < 0.5 * 10**-digits
    return (f"{value:.1g}" if small else f"{value:z.{digits}f}").replace("-", "−")


def shown_share(value: Any, digits: int = 0, bare: bool = False) -> str:
    return (decimal(100 * value, digits) + ("" if bare else "\u202f%")) if finite(value) else "–"


def shown_value(measure: Mapping[str, Any], value: Any, digits: int = 0, bare: bool = False) -> str:
    """A value of a measure: a share in per cent, all else as it is; `bare` leaves the sign of the unit out."""
    if measure.get("unit") == "share":
        return shown_share(value, digits, bare)
    return decimal(value, 2 + digits) if finite(value) else "–"


def shown_tick(measure: Mapping[str, Any], value: float) -> str:
    if measure.get("unit") == "share":
        return shown_share(value)
    return f"{value:.4g}".replace("-", "−") if abs(value) > 1e-9 else "0"


def shown_gap(measure: Mapping[str, Any], gap: Mapping[str, float]) -> str:
    """A difference in words: how large, its interval, how sure."""
    points = measure.get("unit") == "share"
    value, low, high = (decimal(100 * gap[k], 0) if points else decimal(gap[k], 2) for k in ("difference", "low", "high"))
    value = ("+" if gap["difference"] > 0 else "") + value + (" points" if points else "")
    return f"difference {value}, 95\u202f% interval {low} to {high}, {shown_p(gap['p'])}"


def shown_p(p: float) -> str:
    return "p not known" if not finite(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def shown_passes(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:.1f}"


def counted(count: float, one: str, many: str | None = None) -> str:
    shown = shown_passes(count)
    return f"{shown} {one if shown == '1' else many or one + 's'}"


def in_words(count: int) -> str:
    return WORDS[count] if 0 <= count < len(WORDS) else f"{count:,}"


def part_of(part: int, whole: int) -> str:
    """ "all four", "both", "three of the four"."""
    if part == whole:
        return "both" if whole == 2 else f"all {in_words(whole)}"
    return f"{in_words(part) if part else 'none'} of the {in_words(whole)}"


def listed(items: Iterable[str], word: str = "and") -> str:
    *most, last = items
    return f"{', '.join(most)} {word} {last}" if most else last
