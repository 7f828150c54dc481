"""From the rows of an audit to its results: tables with intervals and paired tests, curves, agreement, examples to look at.

Pure functions of the rows: nothing here calls a model.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whence.data import FIELDS
from whence.measure.loo_tau import rank_agreement
from whence.measure.measure import Measure, mean
from whence.measure.statistics import against_the_best, bootstrap, holm, paired_difference
from whence.models import Encoded

Row = Mapping[str, Any]
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
    "about": "Rank correlation between two runs with other seeds; 1 for methods that draw nothing at random.",
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
    about: dict[str, Any], methods: dict[str, dict[str, Any]], measures: Sequence[Measure], rows: Sequence[Row],
    encoded: Sequence[Encoded], notes: Sequence[str], seed: int,
) -> dict[str, Any]:  # fmt: skip
    by_method = {name: [row for row in rows if row["method"] == name] for name in methods}
    for name, mine in by_method.items():
        methods[name]["passes"] = {kind: float(np.mean([row[kind] for row in mine])) for kind in ("forward", "backward")}
        errors = [json.loads(row["explanation"])["notes"].get("completeness_error") for row in mine]
        methods[name]["notes"] = {"completeness_error": float(np.mean(errors))} if None not in errors else {}
        late = sum("not_converged" in json.loads(row["explanation"])["notes"] for row in mine)
        methods[name]["notes"] |= {"examples_not_converged": late} if late else {}
    values = {
        m.name: {name: [json.loads(row["values"])[m.name] for row in mine] for name, mine in by_method.items()}
        for m in measures
    }
    table = [line for m in measures for line in measure_lines(m, values[m.name], seed)]
    table += stability_lines(by_method, seed)
    gold = [row for row in by_method[RANDOM] if row["label"] is not None]
    about["accuracy"] = float(np.mean([_same(row["label"], row["predicted"]) for row in gold])) if gold else None
    shares = np.linspace(0, 1, 21).round(2).tolist()
    return {
        "audit": about,
        "methods": methods,
        "measures": {m.name: _measure_facts(m) for m in measures} | {"stability": STABILITY},
        "table": table,
        "curves": {
            n: {"share": shares, "probability": np.mean([r["curve"] for r in mine], axis=0).tolist()}
            for n, mine in by_method.items()
            if mine[0]["curve"] is not None
        },
        "tests": TESTS,
        "agreement": agreement(by_method),
        "examples": chosen_examples(by_method, values, encoded),
        "notes": list(notes),
    }


def _same(a: str, b: str) -> bool:
    return a.lower() == b.lower()


def _measure_facts(m: Measure) -> dict[str, Any]:
    return {
        name: getattr(m, name)
        for name in ("title", "about", "paper", "direction", "low", "high", "chance", "family", "unit", "favours")
    }


def measure_lines(measure: Measure, values: Mapping[str, Sequence[Any]], seed: int) -> list[dict[str, Any]]:
    """A line for each method: value, interval, paired tests against random and against the best.

    Comparisons use the examples on which both are defined. p-values against random are corrected for the number of methods
    (Holm). The best is chosen on the same examples, so p-values against it are corrected for all pairs of methods.
    """
    rows = {name: [v for v in mine if v is not None] for name, mine in values.items()}
    known = {name: np.array(mine, dtype=np.float64) for name, mine in rows.items() if mine}
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
    for name, mine in known.items():
        estimate = bootstrap(mine, measure.aggregate, seed)
        lines.append({
            "method": name, "measure": measure.name, "value": estimate.value, "low": estimate.low, "high": estimate.high,
            "n": len(mine), "excluded": len(values[name]) - len(mine), "best": name == best,
            "vs_random": against.get(RANDOM, {}).get(name), "vs_best": against.get(best, {}).get(name),
        })  # fmt: skip
    return lines


def _compared(
    measure: Measure, values: Mapping[str, Sequence[Any]], names: Sequence[str], other: str, seed: int
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in names:
        both = [(a, b) for a, b in zip(values[name], values[other], strict=True) if a is not None and b is not None]
        if both:
            a, b = (np.array(side, dtype=np.float64) for side in zip(*both, strict=True))
            found[name] = paired_difference(a, b, measure.aggregate, seed).to_dict()
    return found


def stability_lines(by_method: Mapping[str, Sequence[Row]], seed: int) -> list[dict[str, Any]]:
    """Methods that draw at random: τ between two seeds. The others repeat themselves exactly, by construction."""
    lines = []
    for name, mine in by_method.items():
        taus: list[tuple[float, ...]] = [(1.0,)] * len(mine)
        repeated = [row for row in mine if row["repeated"] is not None]
        if repeated:
            both = [rank_agreement(_scores(row), np.array(row["repeated"])) for row in repeated]
            taus = [tau for tau in both if tau is not None]
        if taus:
            estimate = bootstrap(np.array(taus), mean, seed)
            lines.append(
                {
                    "method": name,
                    "measure": "stability",
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "n": len(taus),
                    "excluded": len(repeated or mine) - len(taus),
                    "best": False,
                    "vs_random": None,
                    "vs_best": None,
                }
            )
    return lines


def _scores(row: Row) -> np.ndarray:
    return np.array(json.loads(row["explanation"])["scores"])


def agreement(by_method: Mapping[str, Sequence[Row]], top: float = 0.2) -> dict[str, Any]:
    """Mean Kendall τ and mean overlap of the top 20 % of words (at least one), for each pair of methods."""
    names = list(by_method)
    scores = {name: [_scores(row) for row in mine] for name, mine in by_method.items()}
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
    return {"methods": names, "top": top, "kendall": taus, "top_k_overlap": overlap}


def chosen_examples(
    by_method: Mapping[str, Sequence[Row]], values: Mapping[str, Mapping[str, Sequence[Any]]], encoded: Sequence[Encoded]
) -> list[dict[str, Any]]:
    """Typical: nearest to the median decision flip of all methods together. Worst: where flipping took the most words."""
    real = [name for name in by_method if name != RANDOM]
    flips = values.get("decision_flip") or {}
    score = np.array([np.mean([flips[n][i][0] for n in real]) if real and flips else 0.0 for i in range(len(encoded))])
    typical = np.argsort(np.abs(score - np.median(score)), kind="stable")[:SHOWN].tolist()
    worst = [i for i in np.argsort(-score, kind="stable").tolist() if i not in typical][:SHOWN]
    return [_shown(i, why, by_method, encoded[i]) for why, several in (("typical", typical), ("worst", worst)) for i in several]


def _shown(i: int, why: str, by_method: Mapping[str, Sequence[Row]], encoded: Encoded) -> dict[str, Any]:
    row, example = by_method[RANDOM][i], encoded.example
    marked = {
        name: sorted({s for annotator in example.highlights for s in annotator.get(name, ())})
        for name in FIELDS["text"] + FIELDS["pair"]
    }
    return {
        "id": example.id,
        "why": why,
        "label": example.label,
        "predicted": row["predicted"],
        "probability": row["probability"],
        "texts": dict(example.texts),
        "spans": {n: [list(s) for s in spans] for n, spans in zip(encoded.fields, encoded.spans, strict=True)},
        "scores": {name: json.loads(mine[i]["explanation"])["scores"] for name, mine in by_method.items()},
        "highlights": {name: [list(s) for s in spans] for name, spans in marked.items() if spans},
        "unseen_words": encoded.unseen,
    }
