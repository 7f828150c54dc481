"""What a token explainer is: a generator for one example that asks for passes and returns a number for every word.

Sub-words are merged into words by summing. Scores are for the target: positive speaks for it. A method never sees the
model; it yields requests, so its cost can be counted before it is paid (`whence plan`), and many examples run side by side.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from whence.explain.parameters import Range
from whence.models import UNCHANGED, Encoded, Hide, Intervention, Target
from whence.run import Request, Result, Rounds


@dataclass
class Scored:
    """float[words], and what the method says about its own error."""

    scores: Float[np.ndarray, " words"]
    notes: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask:
    """What is to be explained: one encoded example, the target, how words are hidden, the seed."""

    encoded: Encoded
    target: Target
    hide: Hide = "mask"
    seed: int = 0

    def generator(self, method: str) -> np.random.Generator:
        """Randomness from the seed, the text and the method alone: neither batch nor order can change it."""
        return np.random.default_rng([self.seed, zlib.crc32(self.encoded.ids.tobytes()), zlib.crc32(method.encode())])

    def keeping(self, words: Bool[np.ndarray, " words"]) -> Request:
        """A pass in which only these words are seen; with all of them, the plain pass, which others have asked for already."""
        kept = self.encoded.tokens_of(words)
        return self.passing() if kept.all() else self.passing(Intervention(keep=kept, hide=self.hide))

    def passing(self, change: Intervention = UNCHANGED, want: frozenset[str] = frozenset()) -> Request:
        """A pass under a change, the example as it is by default."""
        return Request(self.encoded, change, want, self.target)

    def score(self, result: Result) -> float:
        return result.score(self.target)


@dataclass(frozen=True)
class Method:
    """One registered explainer. `rounds(ask, **parameters)` makes the generator."""

    name: str
    title: str
    about: str
    paper: str
    cost: str
    rounds: Callable[..., Rounds[Scored]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Names and defaults."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """Which values a parameter may have; every number has one."""
    needs: frozenset[str] = frozenset()
    """What the model must offer: "attention", "gradient", or a field of an intervention."""
    stochastic: bool = False
