"""The audit of written rationales: what is to be run, and its results from the rows of its shards. Pure functions; the passes
are in association_run.py.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from whence.data import Example
from whence.explain.parameters import Range
from whence.explain.text import Rationale
from whence.explain.text.importance import Importance
from whence.measure.agreement import agreement
from whence.measure.measure import mean
from whence.measure.rationale_quality import names_label
from whence.measure.robustness import IN_VARIANCES, Robustness, robustness, word_f1
from whence.measure.shared_importance import depending, shared_importance
from whence.measure.statistics import bootstrap
from whence.measure.text.bleu import bleu
from whence.models.generator import Generator

SHOWN = 4


@dataclass(frozen=True)
class WrittenRationale:
    """What can be set of this audit, as methods declare it: `--set rationale.draws=2`."""

    name: str = "rationale"
    parameters: ClassVar[Mapping[str, Any]] = {"levels": len(IN_VARIANCES) - 1, "draws": 4, "max_tokens": 200}
    ranges: ClassVar[Mapping[str, Range]] = {
        "levels": Range(1, len(IN_VARIANCES) - 1), "draws": Range(2, 100), "max_tokens": Range(2, 10_000),
    }  # fmt: skip


@dataclass(frozen=True)
class RationaleAudit:
    """What is to be run; `settings` are the parameters of `WrittenRationale`, filled in."""

    model: str
    data: str
    split: str
    examples: Sequence[Example]
    settings: Mapping[str, Any]
    seed: int = 0
    notes: Sequence[str] = field(default_factory=list)

    def grid(self, scale: float = 1.0) -> tuple[float, ...]:
        """Noise levels in units of the embeddings' variance: 0, and so many of the usual ones, evenly chosen, × `scale`."""
        places = np.linspace(0, len(IN_VARIANCES) - 1, self.settings["levels"] + 1).round().astype(int)
        return tuple(scale * IN_VARIANCES[i] for i in places)


def about(audit: RationaleAudit, model: Generator) -> dict[str, Any]:
    assert model.template is not None
    return {
        "model": audit.model, "fingerprint": model.fingerprint, "data": audit.data, "split": audit.split,
        "examples": len(audit.examples), "labels": list(model.labels), "template": model.template.name, "seed": audit.seed,
    }  # fmt: skip


def _importance(row: Mapping[str, Any] | None) -> Importance | None:
    if row is None:
        return None
    return Importance(row["id"], tuple(row["words"]), np.array(row["label"]), np.array(row["rationale"]))


def results_of(
    audit: RationaleAudit, model: Generator, rows: Sequence[Mapping[str, Any]], scale: float
) -> tuple[dict[str, Any], list[Rationale]]:
    draws, grid = audit.settings["draws"], audit.grid(scale)
    by_example = [[[Rationale.from_dict(one) for one in level] for level in json.loads(row["written"])] for row in rows]
    written = [[[levels[v][d if v else 0] for levels in by_example] for d in range(draws)] for v in range(len(grid))]
    clean = written[0][0]
    failing = robustness(written, audit.seed)
    depends = depending(clean, [np.array(row["shares"]) for row in rows])
    shaken = [[_importance(one) for one in draw] for draw in zip(*(json.loads(row["shaken"]) for row in rows), strict=True)]
    shared = shared_importance(shaken, depends, audit.seed)
    plain = agreement([_importance(json.loads(row["plain"])) for row in rows], audit.seed)
    gold = [_gold(model, example) for example in audit.examples]
    known = [g for g in gold if g is not None]
    facts = about(audit, model) | {
        "accuracy": float(np.mean([r.label == g for r, g in zip(clean, gold, strict=True) if g is not None]))
        if known
        else None,
        "majority": max(Counter(known).values()) / len(known) if known else None,
    }
    found = {
        "levels": _levels(audit, grid, failing, written, gold),
        "rationales": _rationale_facts(clean, audit.examples),
        "robustness": {
            "verdict": failing.verdict, "told": failing.told(), "label_collapse": failing.label_collapse,
            "rationale_collapse": failing.rationale_collapse, "distance": asdict(failing.distance),
            "steps": asdict(failing.steps), "coupling": failing.coupling, "coupling_low": failing.coupling_interval[0],
            "coupling_high": failing.coupling_interval[1], "p": failing.p, "draws": draws,
        },
        "agreement": {
            "verdict": shared.verdict, "shared": None if shared.value is None else asdict(shared.value), "p": shared.p,
            "depends": shared.depends, "examples": shared.examples, "left_out": shared.left_out,
            "plain": None if plain is None else {**asdict(plain.value), "p": plain.p, "null": plain.null},
        },
        "examples": [
            _shown(example, [level[0][i] for level in written], grid) for i, example in enumerate(audit.examples[:SHOWN])
        ],
    }  # fmt: skip
    return {"audit": facts, "association": found, "notes": [*audit.notes, *_finer(grid)]}, clean


def _finer(grid: Sequence[float]) -> list[str]:
    if grid[-1] == IN_VARIANCES[-1]:
        return []
    return [
        f"Noise levels reach from {grid[1]:.3g} to {grid[-1]:.3g} of the variance of the model's word table. This grid is finer"
        " than the usual one, whose first level breaks more than half of the labels of this model."
    ]


def _gold(model: Generator, example: Example) -> str | None:
    """The right label as the model would write it."""
    if example.label is None:
        return None
    names = model.template_for(example).candidates(example, model.labels)
    known = [label.casefold() for label in model.labels]
    return names[known.index(example.label.casefold())] if example.label.casefold() in known else None


def _levels(
    audit: RationaleAudit,
    grid: Sequence[float],
    failing: Robustness,
    written: Sequence[Sequence[Sequence[Rationale]]],
    gold: Sequence[str | None],
) -> list[dict[str, Any]]:
    found = []
    for v, unit in enumerate(grid):
        right = [np.mean([float(row[i].label == g) for row in written[v]]) for i, g in enumerate(gold) if g is not None]
        estimates = {
            "accuracy": bootstrap(np.array(right)[:, None], mean, audit.seed) if right else None,
            "stable": bootstrap(failing.stable[v].mean(0)[:, None], mean, audit.seed),
            "similar": bootstrap(failing.similar[v].mean(0)[:, None], mean, audit.seed),
        }
        numbers = {name: None if value is None else asdict(value) for name, value in estimates.items()}
        found.append({"noise": unit, "variance": failing.variances[v], **numbers})
    return found


def _rationale_facts(clean: Sequence[Rationale], examples: Sequence[Example]) -> dict[str, Any]:
    there = [r for r in clean if r.text]
    told = [(r.text, e.explanations) for r, e in zip(clean, examples, strict=True) if e.explanations]
    return {
        "labels_written": float(np.mean([r.label is not None for r in clean])),
        "written": len(there) / len(clean),
        "cut": float(np.mean([not r.ended for r in clean])),
        "words": float(np.mean([len(r.text.split()) for r in there])) if there else None,
        "different": len({r.text for r in there}) / len(there) if there else None,
        "names_label": float(names_label([r.text for r in there], [r.label for r in there]).mean()) if there else None,
        "like_people": float(np.mean([max(word_f1(text, one) for one in people) for text, people in told])) if told else None,
        "bleu": bleu([text for text, _ in told], [people for _, people in told]) if told else None,
    }


def _shown(example: Example, by_level: Sequence[Rationale], grid: Sequence[float]) -> dict[str, Any]:
    levels = [{"noise": unit, "label": r.label, "text": r.text} for unit, r in zip(grid, by_level, strict=True)]
    people = list(example.explanations[:1])
    return {"id": example.id, "label": example.label, "people": people, "rationale": by_level[0].to_dict(), "levels": levels}
