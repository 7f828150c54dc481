"""All rows of an audit as columns, gathered shard by shard: what the summary is made from.

Of every example only its numbers are kept; words, texts and curves are added up or forgotten. Agreement between methods is
measured on at most `AGREED` examples, evenly spread.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from whence.measure.audit_rows import text_of
from whence.measure.measure import Measure

AGREED = 2000
Row = Mapping[str, Any]


class Of:
    """The columns of one method."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self._values: dict[str, list[np.ndarray]] = {m.name: [] for m in measures}
        self.stability: list[tuple[float, ...]] = []
        self.repeated = 0
        self.curve: np.ndarray | None = None
        """The sum of all."""
        self.scores: dict[int, np.ndarray] = {}
        """Of the examples on which methods are compared, by number."""
        self.count = 0
        self.passes = {"forward": 0.0, "backward": 0.0}
        self.completeness_error: list[float] = []
        self.not_converged = 0

    def add(self, rows: Sequence[Row], every: int) -> None:
        self.count += len(rows)
        for name, mine in self._values.items():
            mine.append(_matrix([row[f"measure.{name}"] for row in rows]))
        for row in rows:
            if row["stability"] is not None:
                self.repeated += 1
                self.stability += [tuple(row["stability"])] if row["stability"] else []
            if row["curve"] is not None:
                self.curve = np.array(row["curve"]) + (0.0 if self.curve is None else self.curve)
            if row["number"] % every == 0:
                self.scores[row["number"]] = np.array(row["scores"])
            for kind in self.passes:
                self.passes[kind] += row[kind]
            notes = dict(row["notes"])
            self.completeness_error += [notes["completeness_error"]] if "completeness_error" in notes else []
            self.not_converged += "not_converged" in notes

    def values(self, measure: str) -> Float[np.ndarray, "examples columns"]:
        """Not a number where the measure is not defined."""
        width = max(part.shape[1] for part in self._values[measure])
        # a shard in which it is defined nowhere does not know its width
        parts = [part if part.shape[1] else np.full((len(part), width), np.nan) for part in self._values[measure]]
        return np.concatenate(parts)

    @property
    def notes(self) -> dict[str, float]:
        whole = len(self.completeness_error) == self.count
        error = {"completeness_error": float(np.mean(self.completeness_error))} if whole else {}
        return error | ({"examples_not_converged": self.not_converged} if self.not_converged else {})


class Gathered:
    def __init__(self, names: Sequence[str], measures: Sequence[Measure], examples: int) -> None:
        self.of = {name: Of(measures) for name in names}
        self.every = max(1, -(-examples // AGREED))
        """Methods are compared on one in so many examples."""
        self.places: list[tuple[int, int]] = []
        """Of each example in which the model reads a word: its shard, and its number in the corpus."""
        self.right: list[bool] = []
        self.texts_cut = self.words_unread = 0

    def add(self, shard: int, rows: Sequence[Row]) -> None:
        by_method: dict[str, list[Row]] = {}
        for row in rows:
            by_method.setdefault(text_of(row["method"]), []).append(row)
        for name, mine in by_method.items():
            self.of[name].add(mine, self.every)
        for row in next(iter(by_method.values()), []):  # what is the same for all methods
            self.places.append((shard, row["number"]))
            self.texts_cut += row["unseen"] > 0
            self.words_unread += row["unseen"]
            if row["label"] is not None:
                self.right.append(text_of(row["label"]).lower() == text_of(row["predicted"]).lower())


def _matrix(values: Sequence[Sequence[float] | None]) -> np.ndarray:
    width = max((len(value) for value in values if value is not None), default=0)
    return np.array([[np.nan] * width if value is None else value for value in values]).reshape(len(values), width)
