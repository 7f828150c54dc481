"""Differences between models, on the same texts.

A difference between two sets of trainings resamples texts and seeds, both in pairs: the same texts for both, and the runs that
share a seed together. With one seed it resamples texts alone, and says nothing of what another seed would do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import ranksums, ttest_ind

from whence.measure.statistics import RESAMPLES, Estimate, bootstrap
from whence.studies.kit.estimates import Row, Rows, estimate, over_texts, row

Runs = Sequence[Mapping[str, Any]]
"""Of each seed the scores of a training (kit/models.py), with "labels" and "predicted" of the same test texts."""
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(gold, predicted), int[..., texts] → float[...]."""


class ByText(dict[str, float]):
    """A number for each text, by its id. Compared with others on the texts that both have."""

    @property
    def mean(self) -> float:
        return float(np.mean([*self.values()]))

    def row(self) -> Row:
        return estimate([*self.values()])

    def beside(self, other: "ByText") -> tuple[np.ndarray, np.ndarray]:
        texts = [text for text in self if text in other]
        return np.array([self[text] for text in texts]), np.array([other[text] for text in texts])

    def minus(self, other: "ByText", times: float = 1.0) -> Estimate:
        """Mean of this − times · other, bootstrapped over texts."""
        ours, theirs = self.beside(other)
        return over_texts(ours - times * theirs)

    def rank_sum(self, other: "ByText") -> float:
        """p of Wilcoxon's rank-sum test, two-sided."""
        return float(ranksums(*self.beside(other)).pvalue)


def by_text(runs: Sequence[Rows], column: str, **where: Any) -> ByText:
    """For each text (`id`) the mean over runs of a column, of the rows in which the columns `where` have these values."""
    found: dict[str, list[float]] = {}
    for rows in runs:
        for one in rows:
            if one.get(column) is not None and all(one[name] == value for name, value in where.items()):
                found.setdefault(one["id"], []).append(one[column])
    return ByText({text: float(np.mean(several)) for text, several in found.items()})


def seed_difference(ours: Sequence[Rows], theirs: Sequence[Rows], column: str, seed: int = 0, **where: Any) -> Estimate:
    """Mean over seeds and texts of ours − theirs."""
    pairs = [by_text([a], column, **where).beside(by_text([b], column, **where)) for a, b in zip(ours, theirs, strict=False)]
    gaps = np.array([one - other for one, other in pairs])
    draw = np.random.default_rng(seed)
    texts = draw.integers(0, gaps.shape[1], size=(RESAMPLES, gaps.shape[1]))
    return _over_seeds(gaps.mean(), gaps[:, texts].mean(-1), draw)


def _over_seeds(value: float, resampled: np.ndarray, draw: np.random.Generator) -> Estimate:
    """`resampled`: float[seeds, resamples of texts]; in each resample the seeds are drawn again, too."""
    seeds = draw.integers(0, len(resampled), size=resampled.shape)
    low, high = np.quantile(np.take_along_axis(resampled, seeds, axis=0).mean(0), [0.025, 0.975])
    return Estimate(float(value), float(low), float(high))


def f1_of(label: int) -> Score:
    """F1 of one label."""

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


def f1_test(ours: Runs, theirs: Runs) -> float | None:
    """p of a t-test of macro-F1 over seeds; None where there are too few, or where none differs from another."""
    first, second = ([run["macro_f1"] for run in runs] for runs in (ours, theirs))
    if min(len(first), len(second)) < 2 or np.std([*first, *second]) == 0:
        return None
    return float(ttest_ind(first, second).pvalue)


def score_difference(ours: Runs, theirs: Runs, score: Score = macro_f1, seed: int = 0) -> Estimate:
    """score of ours − score of theirs, mean over the seeds that both have."""
    runs = list(zip(ours, theirs, strict=False))
    draw, gold = np.random.default_rng(seed), np.array(ours[0]["labels"])
    texts = draw.integers(0, len(gold), size=(RESAMPLES, len(gold)))

    def gaps(index: Any) -> np.ndarray:
        return np.array(
            [score(gold[index], np.array(a["predicted"])[index]) - score(gold[index], np.array(b["predicted"])[index])
             for a, b in runs]
        )  # fmt: skip

    return _over_seeds(gaps(slice(None)).mean(), gaps(texts), draw)
