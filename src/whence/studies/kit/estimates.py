"""Numbers as a table's row holds them, {"ours", "low", "high"}, with how sure they are; and differences between models.

Over a few runs: mean and Student's t. Over texts: percentile bootstrap. A difference between two sets of trainings resamples
texts and seeds, both in pairs: the same texts for both, and the runs that share a seed together. With one seed it resamples
texts alone, and says nothing of what another seed would do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest, ranksums, sem, t, ttest_ind

from whence.measure.measure import mean
from whence.measure.statistics import RESAMPLES, Aggregate, Estimate, bootstrap

Row = dict[str, float | None]
NOTHING: Row = {"ours": None, "low": None, "high": None}
Runs = Sequence[Mapping[str, Any]]
"""Of each seed the scores of a training (kit/models.py), with "labels" and "predicted" of the same test texts."""
Rows = Sequence[Mapping[str, Any]]
ByText = dict[str, float]


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


def share(values: Sequence[float]) -> Estimate:
    """Of zeros and ones the mean, with Wilson's 95 % interval, which is not empty where all of few agree."""
    around = binomtest(round(sum(values)), len(values)).proportion_ci(method="wilson")
    return Estimate(float(np.mean(values)), float(around.low), float(around.high))


def row(found: Estimate, scale: float = 1.0) -> Row:
    return {"ours": scale * found.value, "low": scale * found.low, "high": scale * found.high}


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


def by_text(runs: Sequence[Rows], column: str, **where: Any) -> ByText:
    """For each text (`id`) the mean over runs of a column, of the rows in which the columns `where` have these values."""
    found: dict[str, list[float]] = {}
    for rows in runs:
        for one in rows:
            if one.get(column) is not None and all(one[name] == value for name, value in where.items()):
                found.setdefault(one["id"], []).append(one[column])
    return {text: float(np.mean(several)) for text, several in found.items()}


def common(ours: ByText, theirs: ByText) -> tuple[np.ndarray, np.ndarray]:
    """The values of both on the texts that both have."""
    texts = [text for text in ours if text in theirs]
    return np.array([ours[text] for text in texts]), np.array([theirs[text] for text in texts])


def paired(ours: ByText, theirs: ByText, weight: float = 1.0) -> Estimate:
    """Mean of ours − weight · theirs on the texts that both have, bootstrapped over texts."""
    one, other = common(ours, theirs)
    return bootstrap((one - weight * other)[:, None], mean)


def seed_difference(ours: Sequence[Rows], theirs: Sequence[Rows], column: str, seed: int = 0, **where: Any) -> Estimate:
    """Mean over seeds and texts of ours − theirs; texts and seeds are resampled in pairs."""
    pairs = [common(by_text([a], column, **where), by_text([b], column, **where)) for a, b in zip(ours, theirs, strict=False)]
    gaps = np.array([one - other for one, other in pairs])
    draw = np.random.default_rng(seed)
    texts = draw.integers(0, gaps.shape[1], size=(RESAMPLES, gaps.shape[1]))
    return _over_seeds(gaps.mean(), gaps[:, texts].mean(-1), draw)


def _over_seeds(value: float, resampled: np.ndarray, draw: np.random.Generator) -> Estimate:
    """`resampled`: float[seeds, resamples of texts]; in each resample the seeds are drawn again, too."""
    seeds = draw.integers(0, len(resampled), size=resampled.shape)
    low, high = np.quantile(np.take_along_axis(resampled, seeds, axis=0).mean(0), [0.025, 0.975])
    return Estimate(float(value), float(low), float(high))


def rank_sum(ours: ByText, theirs: ByText) -> float:
    """p of Wilcoxon's rank-sum test, two-sided, on the texts that both have."""
    return float(ranksums(*common(ours, theirs)).pvalue)


def t_test(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """p of two sets of runs; None where there are too few, or where none differs from another."""
    if min(len(ours), len(theirs)) < 2 or np.std([*ours, *theirs]) == 0:
        return None
    return float(ttest_ind(ours, theirs).pvalue)


def f1_of(label: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """F1 of one label: (gold, predicted), int[..., texts] → float[...]."""

    def score(gold: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        hits = ((gold == label) & (predicted == label)).sum(-1)
        return 2 * hits / np.maximum(1, (gold == label).sum(-1) + (predicted == label).sum(-1))

    return score


def macro_f1(gold: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Mean of F1 over the gold labels."""
    return np.mean([f1_of(label)(gold, predicted) for label in np.unique(gold)], axis=0)


def f1_row(runs: Runs) -> Row:
    """Macro-F1, mean over seeds, with an interval that resamples texts and the deviation between seeds."""
    labelled = np.array([runs[0]["labels"], *(run["predicted"] for run in runs)]).T

    def score(rows: np.ndarray) -> np.ndarray:
        return np.mean([macro_f1(rows[..., 0], rows[..., seed]) for seed in range(1, rows.shape[-1])], axis=0)

    deviation = float(np.std([run["macro_f1"] for run in runs], ddof=1)) if len(runs) > 1 else None
    return {**row(bootstrap(labelled, score)), "sd": deviation}


def score_difference(
    ours: Runs, theirs: Runs, score: Callable[[np.ndarray, np.ndarray], np.ndarray] = macro_f1, seed: int = 0
) -> Estimate:
    """score of ours − score of theirs, mean over the seeds that both have; texts and seeds are resampled in pairs."""
    runs = list(zip(ours, theirs, strict=False))
    draw, gold = np.random.default_rng(seed), np.array(ours[0]["labels"])
    texts = draw.integers(0, len(gold), size=(RESAMPLES, len(gold)))

    def gaps(index: Any) -> np.ndarray:
        return np.array(
            [score(gold[index], np.array(a["predicted"])[index]) - score(gold[index], np.array(b["predicted"])[index])
             for a, b in runs]
        )  # fmt: skip

    return _over_seeds(gaps(slice(None)).mean(), gaps(texts), draw)
