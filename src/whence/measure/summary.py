"""From the columns of an audit to its results: tables with intervals and paired tests, curves, agreement, examples to look at.

Pure functions of the columns: nothing here calls a model.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from whence.explain.ranks import rank_agreement
from whence.measure.gathered import Gathered, Of
from whence.measure.measure import Measure, mean
from whence.measure.statistics import Estimate, against_the_best, bootstrap, holm, paired_difference

RANDOM = "random"
SHOWN = 4
"""Examples of each kind in the report."""


TESTS = {
    "vs_random": "Paired permutation test against random explanations; p is corrected for the number of methods (Holm).",
    "vs_best": "Paired permutation test against the best method. It was chosen on the same examples, so p is corrected for all "
    "pairs of methods (Bonferroni), and the difference itself leans in its favour.",
}
"""What the p-values of the table are."""
STABILITY = {
    "title": "Stability",
    "about": "Rank correlation between two runs with different seeds, estimated from the two halves of one; 1 for methods that "
    "draw nothing at random.",
    "paper": "–",
    "direction": "higher",
    "low": -1.0,
    "high": 1.0,
    "chance": "0",
    "family": "repeatability",
    "unit": "number",
    "favours": "",
}


def summarise(
    about: dict[str, Any], methods: dict[str, dict[str, Any]], measures: Sequence[Measure], found: Gathered,
    shown: Callable[[Sequence[int]], list[dict[str, Any]]], notes: Sequence[str], seed: int,
) -> dict[str, Any]:  # fmt: skip
    """`shown`: what the report shows of the examples with these numbers in `found`."""
    for name, mine in found.of.items():
        methods[name]["passes"] = {kind: total / mine.count for kind, total in mine.passes.items()}
        methods[name]["notes"] = mine.notes
    values = {m.name: {name: mine.values(m.name) for name, mine in found.of.items()} for m in measures}
    table = [line for m in measures for line in measure_lines(m, values[m.name], seed)]
    table += stability_lines(found.of, seed)
    about["accuracy"] = float(np.mean(found.right)) if found.right else None
    shares = np.linspace(0, 1, 21).round(2).tolist()
    return {
        "audit": about,
        "methods": methods,
        "measures": {m.name: _measure_facts(m) for m in measures} | {"stability": STABILITY},
        "table": table,
        "curves": {
            name: {"share": shares, "probability": (mine.curve / mine.count).tolist()}
            for name, mine in found.of.items()
            if mine.curve is not None
        },
        "tests": TESTS,
        "agreement": agreement(found.of),
        "examples": chosen_examples(values, len(found.places), shown),
        "notes": list(notes),
    }


def _measure_facts(m: Measure) -> dict[str, Any]:
    return {
        name: getattr(m, name)
        for name in ("title", "about", "paper", "direction", "low", "high", "chance", "family", "unit", "favours")
    }


def measure_lines(measure: Measure, values: Mapping[str, np.ndarray], seed: int) -> list[dict[str, Any]]:
    """A line for each method: value, interval, paired tests against random and against the best.

    `values` has a row for each example, which is not a number where the measure is not defined. Comparisons use the examples
    on which both are. p-values against random are corrected for the number of methods (Holm). The best is chosen on the same
    examples, so p-values against it are corrected for all pairs of methods.
    """
    defined = {name: mine[_defined(mine)] for name, mine in values.items()}
    known = {name: mine for name, mine in defined.items() if len(mine)}
    lines: list[dict[str, Any]] = []
    if not known:
        return lines
    score = {name: float(measure.aggregate(mine)) for name, mine in known.items()}
    real = [name for name in known if name != RANDOM]
    best = max(real, key=lambda name: score[name] if measure.direction == "higher" else -score[name]) if real else RANDOM
    against = {
        other: _compared(measure, values, [n for n in known if n not in (other, RANDOM)], other, seed)
        for other in {RANDOM, best} if other in known
    }  # fmt: skip
    if RANDOM in against:
        found = against[RANDOM]
        for name, p in zip(found, holm([found[name]["p"] for name in found]), strict=True):
            found[name]["p"] = p
    for gap in against[best].values() if best != RANDOM else ():
        gap["p"] = against_the_best(gap["p"], len(real))
    return [
        _line(name, measure.name, bootstrap(mine, measure.aggregate, seed), len(mine), len(values[name]) - len(mine))
        | {"best": name == best, "vs_random": against.get(RANDOM, {}).get(name), "vs_best": against.get(best, {}).get(name)}
        for name, mine in known.items()
    ]


def _line(method: str, measure: str, found: Estimate, n: int, excluded: int) -> dict[str, Any]:
    return {
        "method": method, "measure": measure, "value": found.value, "low": found.low, "high": found.high, "n": n,
        "excluded": excluded, "best": False, "vs_random": None, "vs_best": None,
    }  # fmt: skip


def _defined(values: np.ndarray) -> np.ndarray:
    return ~np.isnan(values).any(axis=1) if values.shape[1] else np.zeros(len(values), dtype=bool)


def _compared(
    measure: Measure, values: Mapping[str, np.ndarray], names: Sequence[str], other: str, seed: int
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in names:
        both = _defined(values[name]) & _defined(values[other])
        if both.any():
            found[name] = paired_difference(values[name][both], values[other][both], measure.aggregate, seed).to_dict()
    return found


def stability_lines(of: Mapping[str, Of], seed: int) -> list[dict[str, Any]]:
    """Methods that draw at random: τ between two seeds. The others repeat themselves exactly, by construction."""
    lines = []
    for name, mine in of.items():
        taus = mine.stability if mine.repeated else [(1.0,)] * mine.count
        if taus:
            excluded = (mine.repeated or mine.count) - len(taus)
            lines.append(_line(name, "stability", bootstrap(np.array(taus), mean, seed), len(taus), excluded))
    return lines


def agreement(of: Mapping[str, Of], top: float = 0.2) -> dict[str, Any]:
    """Mean Kendall τ and mean overlap of the top 20 % of words (at least one), for each pair of methods."""
    names = list(of)
    scores = {name: list(mine.scores.values()) for name, mine in of.items()}
    tops = {
        name: [set(np.argsort(-s, kind="stable")[: max(1, int(np.ceil(top * len(s))))].tolist()) for s in mine]
        for name, mine in scores.items()
    }
    taus: list[list[float | None]] = [[None] * len(names) for _ in names]
    overlap: list[list[float | None]] = [[None] * len(names) for _ in names]
    for i, a in enumerate(names):
        for j, b in enumerate(names[: i + 1]):
            found = [t[0] for x, y in zip(scores[a], scores[b], strict=True) if (t := rank_agreement(x, y)) is not None]
            taus[i][j] = taus[j][i] = float(np.mean(found)) if found else None
            shared = [len(x & y) / len(x) for x, y in zip(tops[a], tops[b], strict=True) if x]
            overlap[i][j] = overlap[j][i] = float(np.mean(shared)) if shared else None
    examples = len(next(iter(scores.values())))
    return {"methods": names, "examples": examples, "top": top, "kendall": taus, "top_k_overlap": overlap}


def chosen_examples(
    values: Mapping[str, Mapping[str, np.ndarray]], count: int, shown: Callable[[Sequence[int]], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Typical: nearest to the median decision flip of all methods together. Worst: where flipping took the most words."""
    flips = [mine[:, 0] for name, mine in values.get("decision_flip", {}).items() if name != RANDOM]
    score = np.mean(flips, axis=0) if flips else np.zeros(count)
    typical = np.argsort(np.abs(score - np.median(score)), kind="stable")[:SHOWN].tolist()
    worst = [i for i in np.argsort(-score, kind="stable").tolist() if i not in typical][:SHOWN]
    why = ["typical"] * len(typical) + ["worst"] * len(worst)
    return [{**one, "why": reason} for one, reason in zip(shown([*typical, *worst]), why, strict=True)]
