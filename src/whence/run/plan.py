"""What will it cost? The same work on a few examples, twice without a model and, for a few seconds, with it.

Without a model passes are counted, not paid. `DryRunner` answers so that nothing stops early: its count is an upper bound.
`EarlyRunner` answers so that all that can stop does: a lower bound. With the model, the work is done on more and more examples
at once, up to a whole shard, until enough seconds have passed. What is estimated is a ratio, so that few examples do:

  seconds of all ≈ examples × cost(counted on the sample) × (seconds / cost) of those that were timed
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.models import Encoded, Generated, Port, Text
from whence.models.alignment import pair_shape
from whence.run.masks import Logits, Pass
from whence.run.runner import Paid, Request, Runner


class DryRunner(Runner):
    """Counts what would be asked."""

    def _execute(self, requests: list[Request]) -> dict[str, np.ndarray]:
        rows, width = len(requests), max(len(r.encoded) for r in requests)
        asked = [sum(r.target.asked) for r in requests if isinstance(r.target, Text)]
        shapes = {
            "gradient": (width, 4),
            "attention": (width,),
            "readout": (width, len(self.classifier.labels)),
            "attention_gradient": (width,),
            "token_gradients": (width, max(asked, default=0)),
        }
        zeros = {name: np.zeros((rows, *shapes[name]), dtype=np.float32) for name in requests[0].want}
        if asked:
            zeros["choice"] = np.zeros((rows, max(asked)), dtype=np.int64)
        return {"scores": np.zeros((rows, 1 if asked else len(self.classifier.labels)), dtype=np.float32), **zeros}

    def _execute_masks(self, one: Pass) -> tuple[Logits, np.ndarray | None]:
        """Noise: a search among masks goes on only where some are better than others."""
        rows, longest = len(one.rows), max(map(len, one.masks))
        shape = np.array([pair_shape(e, one.group.sealed) for e in one.group.encoded]).max(axis=0)
        inside = one.losses is not None or one.reads_co_attention
        logits = self._noise.standard_normal((rows, longest, len(self.classifier.labels)))
        logits[..., 0] += 3.0  # the label is mostly kept: it is the first, as in the passes without a mask
        return logits, self._noise.standard_normal((rows, longest, *shape)) if inside else None

    @cached_property
    def _noise(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def _write(self, requests: list[Request]) -> list[Generated]:
        """As long as is allowed: an upper bound."""
        length = requests[0].write or 0
        return [Generated((0,) * length, (0.0,) * length, "", False) for _ in requests]


class EarlyRunner(DryRunner):
    """The least: gradients that add up to nothing at once, as the probabilities do, so that integrated gradients stop."""

    def _execute(self, requests: list[Request]) -> dict[str, np.ndarray]:
        out = super()._execute(requests)
        for row, request in zip(out.get("gradient", ()), requests, strict=False):
            first_and_last = np.flatnonzero(request.encoded.field >= 0)[[0, -1]]
            row[first_and_last] += np.array([[1.0], [-1.0]])
        return out


Passes = dict[str, tuple[float, float]]
"""Forward and backward passes by part of the work, such as a method."""
Work = Callable[[Sequence[Encoded], Runner], Passes]
"""Does something to some examples and says what each of its parts asked for."""
Clock = Callable[[], tuple[float, float]]
"""→ (seconds, seconds of CPU), each since some moment."""
ENOUGH = 5.0
"""Seconds of CPU that are measured: on a busy machine the clock runs on while nothing is learnt."""


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


class ByPart(dict[tuple[str, int], float]):
    """Passes by part and kind (0 forward, 1 backward)."""

    def __missing__(self, part: tuple[str, int]) -> float:
        return 0.0

    def plus(self, more: Passes) -> "ByPart":
        return ByPart(self | {(name, i): self[name, i] + passes[i] for name, passes in more.items() for i in range(2)})


@dataclass(frozen=True)
class Count:
    """Passes for one example, on average: estimated, and between which bounds."""

    estimated: float
    least: float
    most: float


@dataclass(frozen=True)
class Estimate:
    """Of the work on one example, on average."""

    forward: Count
    backward: Count
    parts: dict[str, dict[str, Count]]
    """Of each part alone, "forward" and "backward"."""
    requests: float
    tokens: float
    cost: float
    """At most, in forward passes of one token."""
    seconds_per_cost: tuple[float, float]
    """By the clock, and of CPU."""


def estimate(
    classifier: Port, work: Work, sample: Sequence[Encoded], together: int, clock: Clock = now, enough: float = ENOUGH
) -> Estimate:
    """`sample` stands for all examples; `together` is how many are worked on at a time."""
    most, most_of = counted(DryRunner, classifier, work, sample, together)
    least, least_of = counted(EarlyRunner, classifier, work, sample, together)
    Runner(classifier).predict(list(sample[:4]))  # the first pass of a model is slow
    size, offset, began = 1, 0, clock()[1]
    cost, spent, planned, paid = 0.0, (0.0, 0.0), Paid(), Paid()
    planned_of, paid_of = ByPart(), ByPart()
    while True:
        some = [sample[(offset + i * len(sample) // size) % len(sample)] for i in range(size)]  # from all over the sample
        offset += 1
        dry, runner = DryRunner(classifier), Runner(classifier)
        planned_of = planned_of.plus(work(some, dry))
        before = clock()
        paid_of = paid_of.plus(work(some, runner))
        after = clock()
        planned, paid = planned + dry.paid, paid + runner.paid
        cost, spent = cost + dry.paid.cost, (spent[0] + after[0] - before[0], spent[1] + after[1] - before[1])
        if after[1] - began >= enough:
            break
        if size < min(together, len(sample)):  # larger batches are faster: what was timed with smaller ones is forgotten
            size, cost, spent = min(2 * size, together, len(sample)), 0.0, (0.0, 0.0)
    share = 1 / len(sample)

    def count(low: float, high: float, expected: float, true: float) -> Count:
        return Count(share * high * true / max(1, expected), share * low, share * high)

    return Estimate(
        forward=count(least.forward, most.forward, planned.forward, paid.forward),
        backward=count(least.backward, most.backward, planned.backward, paid.backward),
        parts={
            name: {
                kind: count(least_of[name, i], most_of[name, i], planned_of[name, i], paid_of[name, i])
                for i, kind in enumerate(("forward", "backward"))
            }
            for name in dict.fromkeys(name for name, _ in most_of)
        },
        requests=share * most.requests * paid.requests / max(1, planned.requests),
        tokens=share * most.tokens * paid.tokens / max(1, planned.tokens),
        cost=share * most.cost,
        seconds_per_cost=(spent[0] / max(1.0, cost), spent[1] / max(1.0, cost)),
    )


def counted(kind: type[Runner], classifier: Port, work: Work, sample: Sequence[Encoded], together: int) -> tuple[Paid, ByPart]:
    """What the work asks of a runner of this kind, a shard at a time."""
    paid, parts = Paid(), ByPart()
    for start in range(0, len(sample), together):
        runner = kind(classifier)
        parts = parts.plus(work(sample[start : start + together], runner))
        paid = paid + runner.paid
    return paid, parts
