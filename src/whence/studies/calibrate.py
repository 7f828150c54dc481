"""Calibration: explainers against planted reasons, the only place where the truth is known.

A model is trained on a planted corpus. First it is shown that it relies on what was planted: where the planted words are
replaced by those of another class, the prediction must change (share = `reliance`). Then each explainer is asked, and scored by

  first      share of examples whose top word is a planted one
  rank       mean reciprocal rank of the first planted word
  average_precision   of its scores for finding the planted words

with bootstrap intervals, beside random and the chance level of `first` (the mean share of planted words).
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from whence.data import Example
from whence.errors import BadInput
from whence.explain import METHODS, TokenScores, choose_methods, default_hide, explain
from whence.measure.measure import mean
from whence.measure.statistics import bootstrap
from whence.models import Hide, Port
from whence.run import Runner, Tick, progress
from whence.run.engine import Engine, Item, LocalEngine


def planted_words(example: Example) -> np.ndarray:
    """bool[words] over all texts."""
    return np.concatenate([example.highlighted_words(name) for name in example.texts])


def reliance(classifier: Port, examples: Sequence[Example], seed: int = 0) -> float | None:
    """Share of right predictions that change when each planted word is exchanged for a planted word of another class.

    None where it is not defined: pairs (there the reason lies between two words, and exchanging one may keep the label).
    """
    if any(len(example.texts) > 1 for example in examples):
        return None
    draw = random.Random(seed)
    by_label: dict[str, list[str]] = {}
    for example in examples:
        by_label.setdefault(example.label or "", []).extend(_spans_text(example))
    swapped = []
    for example in examples:
        others = [word for label, several in by_label.items() if label != example.label for word in several]
        text = example.texts["text"]
        for start, end in reversed(example.highlights[0]["text"]):
            text = text[:start] + draw.choice(others) + text[end:]
        swapped.append(replace(example, texts={"text": text}))
    runner = Runner(classifier)
    before, after = (runner.predict(classifier.encode(several)) for several in (examples, swapped))
    right = [
        (a.label, b.label) for e, a, b in zip(examples, before, after, strict=True) if classifier.labels[a.label] == e.label
    ]
    return float(np.mean([a != b for a, b in right])) if right else 0.0


def _spans_text(example: Example) -> list[str]:
    return [example.texts["text"][a:b] for a, b in example.highlights[0]["text"]]


def recovery(explanation: TokenScores, planted: np.ndarray) -> tuple[float, float, float]:
    """(first, reciprocal rank, average precision) of one explanation."""
    order = np.argsort(-np.array(explanation.scores), kind="stable")
    rank = int(np.flatnonzero(planted[order])[0]) + 1
    return float(rank == 1), 1.0 / rank, float(average_precision_score(planted, explanation.scores))


PART = 32
"""Examples that are explained together."""
Known = tuple[Example, np.ndarray]
"""An example with its planted words."""


def calibrate_part(
    shared: tuple[Port, Sequence[str], Hide | None, int], part: Sequence[Known], tick: Tick | None
) -> tuple[list[bool], dict[str, list[tuple[float, float, float]]], dict[str, int]]:
    """(which predictions are right, by method the recovery of each example, and the forward passes)."""
    classifier, names, hide, seed = shared
    encoded, runner = classifier.encode([example for example, _ in part]), Runner(classifier)
    right = [classifier.labels[r.label] == e.label for r, (e, _) in zip(runner.predict(encoded), part, strict=True)]
    found, passes = {}, {}
    for name in names:
        with runner.ledger() as needed:
            explanations = explain(runner, encoded, METHODS[name], hide=hide, seed=seed, tick=tick)
            passes[name], _ = needed()
        found[name] = [recovery(x, words) for x, (_, words) in zip(explanations, part, strict=True)]
    return right, found, passes


def calibrate(
    classifier: Port, examples: Sequence[Example], methods: Sequence[str] = (), hide: Hide | None = None, seed: int = 0,
    engine: Engine | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A table of explainers by how well they find what was planted."""
    known = [(example, words) for example in examples if (words := planted_words(example)).any()]
    if not known:
        raise BadInput("none of the examples has a planted reason; expected a planted corpus, or one with highlights")
    chosen, notes = choose_methods(classifier, methods)
    names = [m.name for m in chosen if m.name != "random"] + ["random"]
    parts = {f"{first:05d}": known[first : first + PART] for first in range(0, len(known), PART)}
    items = [Item(name, part, len(part) * len(names)) for name, part in parts.items()]
    with progress("calibrating", len(names) * len(known)) as tick:
        shared = (classifier, names, hide, seed)
        by_part = dict((engine or LocalEngine()).spread(calibrate_part, shared, items, tick))
    done = [by_part[name] for name in parts]  # in their order, whoever was first
    rows = []
    for name in names:
        values = np.array([value for _, found, _ in done for value in found[name]])
        row: dict[str, Any] = {"method": name}
        for column, measure in enumerate(("first", "rank", "average_precision")):
            estimate = bootstrap(values[:, [column]], mean, seed)
            row[measure] = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
        row["forward_passes"] = sum(passes[name] for _, _, passes in done) / len(known)
        rows.append(row)
    accuracy = float(np.mean([one for right, _, _ in done for one in right]))
    return {
        "examples": len(known),
        "accuracy": accuracy,
        "reliance": reliance(classifier, [e for e, _ in known], seed),
        "chance_first": float(np.mean([words.mean() for _, words in known])),
        "hide": hide or default_hide(classifier),
        "seed": seed,
        "rows": sorted(rows, key=lambda row: -row["first"]["value"]),
        "notes": notes,
    }
