"""What will an audit cost? Passes counted on a sample, and seconds measured on some of it (run/plan.py).

What is timed is all that is done for an example: reading, tokenising, explaining, measuring, storing, gathering. The tests at
the end are timed on columns of random numbers. Starting up and loading are left out.
"""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from whence.explain.ranks import rank_agreement
from whence.measure.audit import shard_size
from whence.measure.audit_rows import explanation_of, schema, shard_rows, text_of
from whence.measure.audited import READ_AT_ONCE, Audit, Chosen
from whence.measure.gathered import AGREED, Gathered
from whence.measure.measure import Measure
from whence.measure.statistics import LARGE
from whence.measure.summary import RANDOM, measure_lines
from whence.models import Encoded, Port
from whence.run import DryRunner, Runner
from whence.run.folder import parquet
from whence.run.plan import ENOUGH, Clock, Estimate, Passes, Work, estimate, now

SAMPLED = 32
"""Examples that stand for all, evenly spread."""
READS = 6
"""Times that a corpus is read from its start: to count, check, describe and cut it, and for what the report shows."""
TESTED = 256
"""Examples of the columns on which the tests are timed."""


Seconds = tuple[float, float]
"""By the clock, and of CPU."""


@dataclass(frozen=True)
class AuditCost:
    """What grows with the number of examples, for one of them."""

    each: Estimate
    sampled: int
    reading: Seconds
    encoding: Seconds
    """Of the first examples, which are encoded once more to see what they are."""
    tests: Seconds
    """Of one more example, up to `LARGE` of them."""
    agreeing: Seconds
    """The same, up to `AGREED`."""

    def seconds(self, examples: int, cost: float | None = None) -> Seconds:
        """`cost`: of an example, in place of that with the settings that were measured."""
        a, b = (
            examples * ((self.each.cost if cost is None else cost) * self.each.seconds_per_cost[i] + READS * self.reading[i])
            + min(examples, READ_AT_ONCE) * self.encoding[i] + min(examples, LARGE) * self.tests[i]
            + min(examples, AGREED) * self.agreeing[i]
            for i in range(2)
        )  # fmt: skip
        return a, b


def plan_audit(audit: Audit, classifier: Port, clock: Clock = now, enough: float = ENOUGH) -> dict[str, Any]:
    """Passes, tokens and an estimate of time for an audit; runs it on a few examples to learn the model's speed."""
    chosen = Chosen(audit, classifier)
    found, count = audit_cost(chosen, clock, enough), len(audit.examples)
    seconds, cpu = found.seconds(count)
    return {**planned(found.each, count), "sampled": found.sampled, "seconds": seconds, "cpu_seconds": cpu}


def planned(each: Estimate, count: int) -> dict[str, Any]:
    """Passes of `count` examples, each with the bounds between which it lies."""
    kinds = {"forward": each.forward, "backward": each.backward}
    return {
        "examples": count,
        "requests": round(count * each.requests),
        **{kind: round(count * passes.estimated) for kind, passes in kinds.items()},
        "range": {kind: [round(count * passes.least), round(count * passes.most)] for kind, passes in kinds.items()},
        "tokens": round(count * each.tokens),
        "passes_per_example": {
            name: {kind: passes.estimated for kind, passes in of.items()}
            | {"range": {kind: [passes.least, passes.most] for kind, passes in of.items()}}
            for name, of in each.parts.items()
        },
    }


def audit_cost(chosen: Chosen, clock: Clock = now, enough: float = ENOUGH) -> AuditCost:
    sample = sampled(chosen)
    each = estimate(chosen.classifier, audit_work(chosen), sample, shard_size(len(chosen.audit.examples)), clock, enough)
    few = min(TESTED, len(chosen.audit.examples))
    reading = _timed(clock, few, lambda: sum(1 for _ in islice(chosen.audit.examples, few)))
    encoding = _timed(clock, len(sample), lambda: chosen.classifier.encode([e.example for e in sample]))
    return AuditCost(each, len(sample), reading, encoding, *_tests(chosen, sample, clock))


def sampled(chosen: Chosen) -> list[Encoded]:
    every = max(1, len(chosen.audit.examples) // SAMPLED)
    return chosen.encode(islice(chosen.audit.examples, 0, None, every))[:SAMPLED]


def audit_work(chosen: Chosen) -> Work:
    """All that is done for a shard, but for the disk."""
    columns = schema(chosen.measures)

    def work(some: Sequence[Encoded], runner: Runner) -> Passes:
        again = chosen.classifier.encode([e.example for e in some])
        rows = shard_rows(chosen, again, range(len(again)), runner)
        if not isinstance(runner, DryRunner):
            rows = pq.read_table(io.BytesIO(parquet(rows, columns))).to_pylist()
            Gathered(chosen.names, chosen.measures, len(again)).add(0, rows)
            for row in rows:
                json.dumps(explanation_of(row, chosen).to_dict())
        return {
            name: (sum(row["forward"] for row in mine), sum(row["backward"] for row in mine))
            for name in chosen.names
            for mine in [[row for row in rows if text_of(row["method"]) == name]]
        }

    return work


def _tests(chosen: Chosen, sample: Sequence[Encoded], clock: Clock) -> tuple[Seconds, Seconds]:
    """Of an example: its part in the tests of all methods and measures, and in the agreement of all pairs of methods.

    Tests are timed on three columns for each measure, which are three intervals and three comparisons; of m methods there are
    m intervals and 2m − 3 comparisons, which take longer.
    """
    names = [name for name in chosen.names if name != RANDOM]
    shown, comparisons = [*names[:2], RANDOM], max(1, 2 * len(names) - 1)
    few = min(TESTED, len(chosen.audit.examples))
    rows = shard_rows(chosen, list(sample), range(len(sample)), DryRunner(chosen.classifier))
    found = Gathered(chosen.names, chosen.measures, len(sample))
    found.add(0, rows)
    draw = np.random.default_rng(0)

    def column(measure: Measure, method: str) -> np.ndarray:
        """As many rows as there will be, of the shape that this measure's have, and no two alike."""
        return draw.random((few, found.of[method].values(measure.name).shape[1]))

    columns = [(m, {name: column(m, name) for name in shown}) for m in chosen.measures]
    one = _timed(clock, few, lambda: [measure_lines(m, values, 0) for m, values in columns])
    words = [draw.random((2, e.word_count)) for e in sample]
    pair = _timed(clock, len(words), lambda: [rank_agreement(x, y) for x, y in words])
    times, pairs = comparisons / max(1, 2 * len(shown) - 3), len(chosen.names) * (len(chosen.names) + 1) / 2
    return (one[0] * times, one[1] * times), (pair[0] * pairs, pair[1] * pairs)


def _timed(clock: Clock, parts: int, work: Callable[[], object]) -> Seconds:
    """For each of the `parts`."""
    before = clock()
    work()
    after = clock()
    return (after[0] - before[0]) / parts, (after[1] - before[1]) / parts
