"""An audit's results, asked the questions that the verdict and the tables need: who beats random, who is best, who leads."""

import math
from collections.abc import Mapping
from typing import Any

from whence.report.numbers import counted, finite, shown_passes

SURE = 0.05
"""Below this p a difference counts."""


class Reading:
    """An audit's results, asked the questions that the verdict and the tables need."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.audit, self.methods, self.measures = results["audit"], results["methods"], results["measures"]
        self.rows = {(row["method"], row["measure"]): row for row in results["table"] if finite(row["value"])}
        self.faithfulness = [m for m in self.family("faithfulness") if any(measure == m for _, measure in self.rows)]
        candidates = [name for name in self.methods if name != "random"]
        self.ranked = sorted(candidates, key=lambda m: (-self.share(m, self.leads), -self.share(m, self.beats), self.passes(m)))

    def family(self, name: str) -> list[str]:
        """The measures of a family, in the order in which they were measured."""
        return [m for m, facts in self.measures.items() if facts.get("family") == name]

    def title(self, method: str) -> str:
        return str(self.methods[method]["title"])

    def measure(self, name: str) -> str:
        """The measure's title for the middle of a sentence."""
        title = str(self.measures[name]["title"])
        return title[0].lower() + title[1:] if title[1:2].islower() else title

    def passes(self, method: str) -> float:
        """Forward and backward together; infinite for explanations made elsewhere, whose cost nobody knows."""
        total = sum(float(count) for count in self.methods[method]["passes"].values())
        return total if total or method == "random" else math.inf

    def price(self, method: str) -> str:
        """What one explanation costs, as a sentence."""
        if not math.isfinite(self.passes(method)):
            return "Its cost is not known."
        forward, backward = (self.methods[method]["passes"].get(kind, 0) for kind in ("forward", "backward"))
        if not backward:
            return f"It costs {counted(forward, 'forward pass', 'forward passes')} per text."
        both = f"{shown_passes(forward)} forward and {counted(backward, 'backward pass', 'backward passes')}"
        return f"It costs {both} per text."

    def judged(self, measure: str) -> list[str]:
        """The methods that count on a measure: not random, not the one that it favours, and only with a value."""
        own = self.measures[measure].get("favours")
        return [m for m in self.methods if m not in ("random", own) and (m, measure) in self.rows]

    def judged_on(self, method: str) -> list[str]:
        return [m for m in self.faithfulness if method in self.judged(m)]

    def goodness(self, method: str, measure: str) -> float:
        """The value, turned so that more is better."""
        value = float(self.rows[method, measure]["value"])
        return value if self.measures[measure]["direction"] == "higher" else -value

    def best(self, measure: str) -> str:
        return max(self.judged(measure), key=lambda m: self.goodness(m, measure))

    def standing(self, method: str, measure: str) -> int:
        """Against random: 1 better, -1 worse, 0 not told apart."""
        gap = self.rows[method, measure]["vs_random"]
        if gap is None or not finite(gap["p"]) or gap["p"] >= SURE or gap["difference"] == 0:
            return 0
        return 1 if (gap["difference"] > 0) == (self.measures[measure]["direction"] == "higher") else -1

    def beats(self, method: str, measure: str) -> bool:
        return self.standing(method, measure) > 0

    def close(self, method: str, measure: str) -> bool:
        """The best, or not measurably worse than the best."""
        row = self.rows[method, measure]
        if self.has_own(measure):
            best = self.rows[self.best(measure), measure]
            return bool(row["high"] >= best["low"] and row["low"] <= best["high"])
        return bool(row["best"]) or self.level(method, measure)

    def level(self, method: str, measure: str) -> bool:
        """Not told apart from the best by the paired test."""
        gap = self.rows[method, measure]["vs_best"]
        return gap is not None and finite(gap["p"]) and gap["p"] >= SURE

    def has_own(self, measure: str) -> bool:
        """Whether one of the methods is perfect on the measure by construction."""
        return self.measures[measure].get("favours") in self.methods

    def leads(self, method: str, measure: str) -> bool:
        return self.beats(method, measure) and self.close(method, measure)

    def share(self, method: str, of: Any) -> float:
        measures = self.judged_on(method)
        return sum(of(method, m) for m in measures) / len(measures) if measures else 0.0

    @property
    def recommended(self) -> str | None:
        first = next(iter(self.ranked), None)
        return first if first is not None and self.share(first, self.beats) > 0 else None
