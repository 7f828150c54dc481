"""What a measure is: a test of one explanation, as a generator that asks for passes and returns a value.

A measure says which direction is good, its range, and what chance would score. `None` means that it is not defined for an
example (a constant ranking has no rank correlation); such examples are left out and counted. The value of a whole corpus is the
mean unless the measure brings its own `aggregate`, over the rows of many examples: float[..., examples, columns] → float[...].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from whence.explain import TokenScores
from whence.models import Encoded, Hide, Target
from whence.run import Rounds

Family = Literal["faithfulness", "plausibility", "counterfactual", "repeatability", "other"]
Unit = Literal["number", "share"]
Value = tuple[float, ...] | None


@dataclass(frozen=True)
class Judged:
    """One explanation of one example under test; hiding is done as when it was made."""

    encoded: Encoded
    explanation: TokenScores
    hide: Hide
    target: Target
    """What was explained."""

    @property
    def scores(self) -> Float[np.ndarray, " words"]:
        """Of the units that can be hidden; words that another one carries have 0 (`Encoded.gather`)."""
        return self.encoded.gather(np.array(self.explanation.scores))


def mean(rows: Float[np.ndarray, "*batch examples columns"]) -> Float[np.ndarray, " *batch"]:
    return rows[..., 0].mean(axis=-1)


@dataclass(frozen=True)
class Measure:
    name: str
    title: str
    about: str
    paper: str
    direction: Literal["higher", "lower"]
    low: float
    high: float
    chance: str
    """What random scores get, in words: the random row of every table is the number."""
    rounds: Callable[[Judged], Rounds[Value]]
    aggregate: Callable[[np.ndarray], np.ndarray] = mean
    needs_highlights: bool = False
    family: Family = "other"
    """Only faithfulness decides which explanation is recommended."""
    unit: Unit = "number"
    """A share is shown in per cent."""
    favours: str = ""
    """The method that is perfect on this measure by construction, and so is not judged on it."""

    def better(self, a: float, b: float) -> bool:
        return a > b if self.direction == "higher" else a < b
