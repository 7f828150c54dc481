"""As much of an audit as fits into a time: how many samples the sampling methods draw, and how many examples are audited.

The speed is measured as for a plan (audit_plan.py). Then, in this order:

  1  all examples with the usual 256 samples, or with more (512, 1,024) if that fits too
  2  else fewer examples with 256 samples, down to 100
  3  else fewer samples (128, 64, 32), and half the steps of integrated gradients at most, until 100 examples fit
  4  else fewer examples with 32 samples, down to 10; less than that is refused

What was set by hand stays. A plan may be off by a quarter, so four fifths of the time are given out.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from whence.errors import BadInput
from whence.measure.audit import shard_size
from whence.measure.audit_plan import AuditCost, audit_cost, audit_work, sampled
from whence.measure.audited import Audit, Chosen
from whence.models import Port
from whence.run import DryRunner, read_json
from whence.run.engine import shown_time
from whence.run.plan import ENOUGH, Clock, counted, now

USUAL = 256
LEVELS = (1024, 512, USUAL, 128, 64, 32)
"""Samples, from the best to the cheapest."""
ENOUGH_EXAMPLES, FEWEST = 100, 10
SHARE = 0.8

Parameters = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Budget:
    """What was picked; it stands in config.json, so that a run that continues keeps it."""

    seconds: float
    """The time that was given."""
    planned: float
    """The time that it will take, in seconds."""
    examples: int
    of: int
    parameters: dict[str, dict[str, Any]]
    """Picked, not those that were set by hand."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def note(self) -> str:
        set_ = [f"{method}.{name} = {value}" for method, given in self.parameters.items() for name, value in given.items()]
        how = f" with {', '.join(set_)}" if set_ else ""
        many = f"all {self.of:,}" if self.examples == self.of else f"{self.examples:,} of {self.of:,}"
        return f"a budget of {shown_time(self.seconds)}: {many} examples are audited{how}; planned: {shown_time(self.planned)}"


def fit_budget(audit: Audit, classifier: Port, seconds: float, clock: Clock = now, enough: float = ENOUGH) -> Budget:
    chosen = Chosen(audit, classifier)
    found, sample, together = audit_cost(chosen, clock, enough), sampled(chosen), shard_size(len(audit.examples))
    levels = {level: picked(chosen, level) for level in LEVELS}
    if not any(levels.values()):
        levels = {USUAL: {}}  # no method here draws samples

    def cost(level: int) -> float:
        """Counted with the level's settings."""
        other = copy.copy(chosen)
        other.audit = replace(audit, parameters=merged(audit.parameters, levels[level]))
        return counted(DryRunner, classifier, audit_work(other), sample, together)[0].cost / len(sample)

    costs = {level: cost(level) for level in levels}
    level, examples = fitting_choice(costs, len(audit.examples), SHARE * seconds, time_of(found))
    if not examples:
        least = time_of(found)(min(FEWEST, len(audit.examples)), costs[level])
        raise BadInput(
            f"a budget of {shown_time(seconds)}: even {min(FEWEST, len(audit.examples))} examples take about "
            f"{shown_time(least)}; expected at least {shown_time(least / SHARE + 1)}, or fewer methods and measures"
        )
    return Budget(seconds, round(time_of(found)(examples, costs[level]), 1), examples, len(audit.examples), levels[level])


def time_of(found: AuditCost) -> Callable[[int, float], float]:
    """(examples, the cost of one) → seconds."""
    return lambda examples, cost: found.seconds(examples, cost)[0]


def fitting_choice(
    costs: Mapping[int, float], total: int, seconds: float, time: Callable[[int, float], float]
) -> tuple[int, int]:
    """(level, examples), where `costs` has the cost of an example at each level; no examples where nothing fits."""
    usual = USUAL if USUAL in costs else next(iter(costs))
    for level in costs:  # from the best on
        if level >= usual and time(total, costs[level]) <= seconds:
            return level, total
    for level in costs:
        if level <= usual and (most := _most(costs[level], total, seconds, time)) >= min(ENOUGH_EXAMPLES, total):
            return level, most
    cheapest = list(costs)[-1]
    most = _most(costs[cheapest], total, seconds, time)
    return cheapest, most if most >= min(FEWEST, total) else 0


def _most(cost: float, total: int, seconds: float, time: Callable[[int, float], float]) -> int:
    """The largest number of examples that fits, by bisection: time grows with it."""
    low, high = 0, total
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if time(middle, cost) <= seconds else (low, middle - 1)
    return low


def picked(chosen: Chosen, level: int) -> dict[str, dict[str, Any]]:
    """What a level sets: nothing that was set by hand, and nothing that is so anyway."""
    found: dict[str, dict[str, Any]] = {}
    for method in chosen.methods:
        by_hand, now_ = chosen.audit.parameters.get(method.name, {}), chosen.parameters(method)
        if "n_samples" in now_ and "n_samples" not in by_hand and now_["n_samples"] != level:
            found[method.name] = {"n_samples": level}
        if level < USUAL and "max_steps" in now_ and "max_steps" not in by_hand and now_["max_steps"] > now_["n_steps"]:
            found[method.name] = {"max_steps": max(now_["n_steps"], now_["max_steps"] // 2)}
    return found


def merged(given: Parameters, more: Parameters) -> dict[str, dict[str, Any]]:
    return {name: {**given.get(name, {}), **more.get(name, {})} for name in (*given, *(n for n in more if n not in given))}


def budget_before(out: Path, seconds: float) -> Budget | None:
    """What the run in this folder picked for the same time, if there is one."""
    file = out / "config.json"
    before = read_json(file, "give another --out, or remove this folder").get("budget") if file.is_file() else None
    if not isinstance(before, dict) or before.get("seconds") != seconds:
        return None
    try:
        return Budget(**before)
    except TypeError as error:
        raise BadInput(f"{file}: 'budget' is not one of ours ({error}); expected another --out") from error
