"""Three-valued verdicts: a claim is decided only where the interval of what it is about does not hold the bound."""

from collections.abc import Iterable, Mapping, Sequence

from whence.measure.statistics import Estimate
from whence.studies.study import Claim, Earlier, Verdict

HOLDS: Verdict = "holds"
FAILS: Verdict = "does not hold"
UNDECIDED: Verdict = "undecided"


def above(found: Estimate, bound: float = 0.0) -> Verdict:
    return HOLDS if found.low > bound else FAILS if found.high < bound else UNDECIDED


def below(found: Estimate, bound: float = 0.0) -> Verdict:
    return HOLDS if found.high < bound else FAILS if found.low > bound else UNDECIDED


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """All of several things; of nothing, nothing is known."""
    found = set(verdicts)
    return FAILS if FAILS in found else UNDECIDED if UNDECIDED in found or not found else HOLDS


def at_least(verdicts: Sequence[Verdict], least: float) -> Verdict:
    """So many of several things."""
    sure, possible = verdicts.count(HOLDS), len(verdicts) - verdicts.count(FAILS)
    return UNDECIDED if not verdicts else HOLDS if sure >= least else FAILS if possible < least else UNDECIDED


def most(verdicts: Sequence[Verdict]) -> Verdict:
    """More than half of several things."""
    return at_least(verdicts, len(verdicts) // 2 + 1)


def higher(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Verdict:
    """Of two rows of a table by themselves: sure where their intervals do not overlap."""
    return HOLDS if ours["low"] > theirs["high"] else FAILS if ours["high"] < theirs["low"] else UNDECIDED


def claim(text: str, verdict: Verdict, evidence: str, earlier: Mapping[str, bool] | None = None) -> Claim:
    """`earlier`: rules that were changed after looking, and whether our numbers meet them."""
    return Claim(text, verdict, evidence, [Earlier(rule, plainly(met)) for rule, met in (earlier or {}).items()])


def plainly(true: bool) -> Verdict:
    """Of an earlier rule, which knew no interval, or of a thing that was counted and not estimated."""
    return HOLDS if true else FAILS
