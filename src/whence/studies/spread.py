"""The mean of a few runs or of many texts, with how sure it is, as a table's row and in words."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import sem, t


def interval(values: Sequence[float]) -> dict[str, float | None]:
    """{"ours", "low", "high"}: mean and 95 % interval by Student's t; none for a single value."""
    if not len(values):
        return {"ours": None, "low": None, "high": None}
    mean = float(np.mean(values))
    if len(values) < 2:
        return {"ours": mean, "low": None, "high": None}
    half = float(sem(values) * t.ppf(0.975, len(values) - 1))
    return {"ours": mean, "low": mean - half, "high": mean + half}


def shown(values: Sequence[float]) -> str:
    """ "0.823 (0.815 to 0.830)": mean and range."""
    if not len(values):
        return "not run"
    spread = f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else ""
    return f"{float(np.mean(values)):.3f}{spread}"
