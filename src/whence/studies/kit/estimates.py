"""Numbers as a table's row holds them, {"ours", "low", "high"}, with how sure they are.

Over a few runs: mean and Student's t. Over texts: percentile bootstrap.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest, sem, t

from whence.measure.measure import mean
from whence.measure.statistics import Aggregate, Estimate, bootstrap

Row = dict[str, float | None]
NOTHING: Row = {"ours": None, "low": None, "high": None}
Rows = Sequence[Mapping[str, Any]]


def interval(values: Sequence[float]) -> Row:
    """Mean and 95 % interval by Student's t; none for a single value."""
    if not len(values):
        return dict(NOTHING)
    middle = float(np.mean(values))
    if len(values) < 2:
        return {"ours": middle, "low": None, "high": None}
    half = float(sem(values) * t.ppf(0.975, len(values) - 1))
    return {"ours": middle, "low": middle - half, "high": middle + half}


def estimate(values: Sequence[Any] | np.ndarray, aggregate: Aggregate = mean, scale: float = 1.0) -> Row:
    """Value and bootstrap interval over examples; `values` are numbers or rows of numbers."""
    if not len(values):
        return dict(NOTHING)
    rows = np.array(values, dtype=np.float64)
    return row(bootstrap(rows.reshape(len(rows), -1), aggregate), scale)


def over_texts(values: Sequence[float] | np.ndarray) -> Estimate:
    """Mean of one number for each text, bootstrapped."""
    return bootstrap(np.array(values, dtype=np.float64)[:, None], mean)


def share(values: Sequence[float]) -> Estimate:
    """Of zeros and ones the mean, with Wilson's 95 % interval, which is not empty where all of few agree."""
    around = binomtest(round(sum(values)), len(values)).proportion_ci(method="wilson")
    return Estimate(float(np.mean(values)), float(around.low), float(around.high))


def row(found: Estimate, scale: float = 1.0) -> Row:
    return {"ours": scale * found.value, "low": scale * found.low, "high": scale * found.high}


def difference(name: str, found: Estimate) -> Row:
    """A difference in a row that is about something else."""
    return {name: found.value, "from": found.low, "to": found.high}


def band(rows: Rows, middle: str) -> dict[str, list[float | None]]:
    """Rows as the points of a curve, or the bars of a group, with their intervals."""
    return {name: [one[column] for one in rows] for name, column in ((middle, "ours"), ("low", "low"), ("high", "high"))}


def shown(values: Sequence[float]) -> str:
    """ "0.823 (0.815 to 0.830)": mean and range."""
    if not len(values):
        return "not run"
    around = f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else ""
    return f"{float(np.mean(values)):.3f}{around}"


def signed(found: Estimate, digits: int = 3) -> str:
    """ "+0.004 (−0.002 to +0.010)": a difference and its interval."""
    value, low, high = (f"{x:+.{digits}f}".replace("-", "−") for x in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def average(rows: Rows, column: str) -> float:
    return float(np.mean([row[column] for row in rows]))
