"""The audit: every explainer on every example, every measure on every explanation, shard by shard.

A shard is a few examples with all that was computed for them, written as one Parquet file when whole. A killed audit continues
with the first shard that is missing. Shards do not depend on each other (each starts with an empty memory of passes), so an
audit that was interrupted gives the same bytes as one that was not.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence.data import Example
from whence.errors import BadInput
from whence.explain import Method, TokenScores, choose_methods, default_hide, explain, save_explanations
from whence.explain.tokens import METHODS
from whence.measure import Judged, Measure, choose_measures
from whence.measure.erasure import erasure_curve_steps
from whence.measure.summary import summarise
from whence.models import Encoded, Hide, Label, Port
from whence.run import DryRunner, RunFolder, Runner, Tick, digest, measure_speed, progress, write_json

SHARD_EXAMPLES, SHARD_TOKENS = 8, 1000
"""A shard is what a killed audit can lose: a handful of sentences, or one long document."""
REPEATED = 4
"""Every fourth example is explained a second time by methods that draw at random; the table says how many in all."""
STABILITY_SEED = 1_000_003
"""Added to the seed for the second run of a method that draws at random; their agreement is its stability."""


@dataclass
class Audit:
    """What is to be run. `parameters` override a method's own: {"lime": {"n_samples": 1000}}."""

    model: str
    data: str
    split: str
    examples: Sequence[Example]
    methods: Sequence[str] = ()
    measures: Sequence[str] = ()
    hide: Hide | None = None
    seed: int = 0
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    explanations: dict[str, list[TokenScores]] = field(default_factory=dict)
    """Explanations made elsewhere, by the name that they get in the table (`whence score`)."""
    notes: Sequence[str] = ()
    """What is to be said about how model and data were read; it stands in the report."""


Say = Callable[[str], None]


def run_audit(audit: Audit, classifier: Port, out: Path, say: Say = print) -> dict[str, Any]:
    """Run or continue; returns what results.json holds."""
    plan = _Plan(audit, classifier)
    with RunFolder(out, plan.config(), say) as folder:
        if folder.results is not None:
            say(f"{out} is finished already")
            return folder.results
        return _run(plan, folder, say)


def _run(plan: "_Plan", folder: RunFolder, say: Say) -> dict[str, Any]:
    out = folder.path
    for note in plan.notes:
        say(note)
    shards = _shards(plan.encoded)
    started, busy, rows = time.perf_counter(), 0.0, []
    finished = [folder.read_shard(f"{i:05d}") for i in range(len(shards))]
    done = sum(len(shards[i]) for i, rows_ in enumerate(finished) if rows_ is not None)
    methods = len(plan.foreign) + len(plan.methods)  # the bar moves with every method: one shard of long texts takes minutes
    with progress("auditing (examples × methods)", len(plan.encoded) * methods, done * methods) as tick:
        for i, shard in enumerate(shards):
            rows_here = finished[i]
            if rows_here is None:
                runner = Runner(plan.classifier)
                rows_here = _shard_rows(plan, shard, runner, tick)
                busy += runner.paid.model_seconds
                folder.write_shard(f"{i:05d}", rows_here)
            rows += rows_here
    seconds = time.perf_counter() - started
    write_json(out / "timing.json", {"seconds": seconds, "model_seconds": busy, "examples": len(plan.encoded) - done})
    results = summarise(plan.about(), plan.method_facts(), plan.measures, rows, plan.encoded, plan.notes, plan.audit.seed)
    save_explanations(out / "explanations.jsonl", (TokenScores.from_dict(json.loads(row["explanation"])) for row in rows))
    folder.finish(results)
    return folder.results or results


SAMPLED = 16
"""Examples on which a plan counts passes; the rest are taken to be like them."""


def plan_audit(audit: Audit, classifier: Port) -> dict[str, Any]:
    """Passes, tokens and an estimate of time for an audit; runs nothing but a few batches to learn the model's speed."""
    plan = _Plan(audit, classifier)
    step = max(1, len(plan.encoded) // SAMPLED)
    sample = plan.encoded[::step][:SAMPLED]
    plan.repeated = {e.example.id for e in sample[::REPEATED]}
    runner = DryRunner(classifier)
    rows = _shard_rows(plan, sample, runner)
    share = len(plan.encoded) / len(sample)
    speed = measure_speed(classifier, plan.encoded)
    per_pass = runner.paid.tokens / max(1, runner.paid.forward)
    plain, with_gradient = runner.paid.forward - runner.paid.backward, runner.paid.backward
    seconds = share * per_pass * (plain / speed.forward + with_gradient / speed.backward)
    of = {row["method"]: {"forward": row["forward"], "backward": row["backward"]} for row in rows}
    return {
        "examples": len(plan.encoded),
        "sampled": len(sample),
        "requests": round(share * runner.paid.requests),
        "forward": round(share * runner.paid.forward),
        "backward": round(share * with_gradient),
        "tokens": round(share * runner.paid.tokens),
        "tokens_per_second": {"forward": speed.forward, "backward": speed.backward},
        "seconds": seconds,
        "passes_per_example": of,
    }


class _Plan:
    """An audit with every choice filled in."""

    def __init__(self, audit: Audit, classifier: Port) -> None:
        self.audit, self.classifier = audit, classifier
        self.hide: Hide = audit.hide or default_hide(classifier)
        chosen, notes = choose_methods(classifier, audit.methods) if audit.methods or not audit.explanations else ([], [])
        self.notes = [*audit.notes, *notes]
        # a random explainer is in every comparison, asked for or not
        self.methods: list[Method] = [m for m in chosen if m.name != "random"] + [METHODS["random"]]
        _check(audit, classifier)
        self.measures: list[Measure] = choose_measures(audit.examples, audit.measures)
        every = classifier.encode(audit.examples)
        self.encoded: list[Encoded] = [e for e in every if e.seen.any()]
        self.wordless = len(every) - len(self.encoded)
        if not self.encoded:
            raise BadInput(f"{audit.data}: in none of its {len(every)} texts does the model read a word; nothing to explain")
        if self.wordless:
            self.notes.append(
                f"{self.wordless} of {len(every)} examples are left out: the model reads no word in them (empty or blank text)"
            )
        self.repeated = {e.example.id for e in self.encoded[::REPEATED]}
        self.foreign = {name: {e.id: e for e in several} for name, several in audit.explanations.items()}
        for name, given in self.foreign.items():
            for encoded in self.encoded:
                _fitting(given, encoded, classifier, name)

    def explain(self, runner: Runner, shard: list[Encoded], method: Method, seed: int = 0) -> list[TokenScores]:
        parameters = self.audit.parameters.get(method.name, {})
        return explain(runner, shard, method, hide=self.hide, seed=self.audit.seed + seed, parameters=parameters)

    def config(self) -> dict[str, Any]:
        audit = self.audit
        return {
            "job": "audit",
            "model": audit.model,
            "fingerprint": self.classifier.fingerprint,
            "labels": list(self.classifier.labels),
            "data": audit.data,
            "split": audit.split,
            "examples": len(audit.examples),
            "examples_sha256": digest(audit.examples),
            "hide": self.hide,
            "seed": audit.seed,
            "methods": {m.name: {**m.parameters, **audit.parameters.get(m.name, {})} for m in self.methods},
            "explanations": {name: _scores_digest(several) for name, several in audit.explanations.items()},
            "measures": [m.name for m in self.measures],
        }

    def about(self) -> dict[str, Any]:
        cut = [e.unseen for e in self.encoded if e.unseen]
        return {
            "model": self.audit.model,
            "fingerprint": self.classifier.fingerprint,
            "data": self.audit.data,
            "split": self.audit.split,
            "examples": len(self.encoded),
            "texts_without_words": self.wordless,
            "task": "pair" if len(self.encoded[0].fields) == 2 else "text",
            "labels": list(self.classifier.labels),
            "hide": self.hide,
            "seed": self.audit.seed,
            "texts_cut": len(cut),
            "words_unread": sum(cut),
            "max_tokens": self.classifier.max_tokens,
        }

    def method_facts(self) -> dict[str, dict[str, Any]]:
        ours = {
            m.name: {"title": m.title, "about": m.about, "paper": m.paper, "cost": m.cost, "stochastic": m.stochastic,
                     "parameters": {**m.parameters, **self.audit.parameters.get(m.name, {})}}
            for m in self.methods
        }  # fmt: skip
        given = {
            "about": "Explanations read from a file.",
            "paper": "–",
            "cost": "unknown",
            "stochastic": False,
            "parameters": {},
        }
        return {name: {"title": name, **given} for name in self.foreign} | ours


def _check(audit: Audit, classifier: Port) -> None:
    """What would end in a wrong table is refused before anything is run."""
    if not audit.examples:
        raise BadInput(f"{audit.data}: no examples to audit; expected at least one")
    for what, several in (
        ("ids of the examples", [e.id for e in audit.examples]),
        ("labels of the model", classifier.labels),
        ("methods", audit.methods),
        ("measures", audit.measures),
        *((f"ids in {name}", [e.id for e in given]) for name, given in audit.explanations.items()),
    ):
        twice = [name for name, times in Counter(several).items() if times > 1]
        if twice:
            raise BadInput(f"{audit.data}: {what}: '{twice[0]}' occurs more than once; expected each once")
    for name in audit.explanations:
        if name in METHODS:
            raise BadInput(f"explanations are called '{name}', as a method of ours is; expected another name for them")
    for name in audit.parameters:
        if name not in METHODS:
            raise BadInput(f"parameters for '{name}', which is no method; expected one of {', '.join(METHODS)}")


def _scores_digest(explanations: Sequence[TokenScores]) -> str:
    return hashlib.sha256(json.dumps([[x.id, x.target, x.scores] for x in explanations]).encode()).hexdigest()[:16]


def _shards(encoded: Sequence[Encoded]) -> list[list[Encoded]]:
    shards: list[list[Encoded]] = []
    for one in encoded:
        last = shards[-1] if shards else []
        if last and len(last) < SHARD_EXAMPLES and sum(map(len, last)) + len(one) <= SHARD_TOKENS:
            last.append(one)
        else:
            shards.append([one])
    return shards


def _shard_rows(plan: _Plan, shard: list[Encoded], runner: Runner, tick: Tick | None = None) -> list[dict[str, Any]]:
    """One row for each example and method: the explanation, its values on every measure, its curve and its cost."""
    rows = []
    base = {e.example.id: r for e, r in zip(shard, runner.predict(shard), strict=True)}
    for name in [*plan.foreign, *(m.name for m in plan.methods)]:
        again: list[TokenScores] = []
        forward = backward = 0
        if name in plan.foreign:
            explanations = [_fitting(plan.foreign[name], e, plan.classifier, name) for e in shard]
        else:
            with runner.ledger() as needed:
                explanations = plan.explain(runner, shard, METHODS[name])
                forward, backward = needed()
            if METHODS[name].stochastic:
                twice = [e for e in shard if e.example.id in plan.repeated]
                again = plan.explain(runner, twice, METHODS[name], STABILITY_SEED)
        repeated = {x.id: list(x.scores) for x in again}
        labels = plan.classifier.labels
        judged = [Judged(e, x, plan.hide, Label(labels.index(x.target))) for e, x in zip(shard, explanations, strict=True)]
        values = {m.name: runner.drive([m.steps(j) for j in judged]) for m in plan.measures}
        # all passes of the curve are decision flip's: without it the picture would have to be paid for
        curves = runner.drive([erasure_curve_steps(j) for j in judged]) if "decision_flip" in values else [None] * len(judged)
        for i, (encoded, explanation) in enumerate(zip(shard, explanations, strict=True)):
            result = base[encoded.example.id]
            rows.append({
                "id": encoded.example.id, "method": name, "label": encoded.example.label, "predicted": labels[result.label],
                "probability": float(result.probabilities[result.label]), "explanation": json.dumps(explanation.to_dict()),
                "values": json.dumps({m: values[m][i] for m in values}), "curve": curves[i],
                "repeated": repeated.get(encoded.example.id),
                "forward": forward / len(shard), "backward": backward / len(shard),
            })  # fmt: skip
        if tick:
            tick(len(shard))
    return rows


def _fitting(given: dict[str, TokenScores], encoded: Encoded, classifier: Port, name: str) -> TokenScores:
    """The explanation of this example from a file, checked against the example's own text and words."""
    found = given.get(encoded.example.id)
    if found is None:
        raise BadInput(f"{name}: no explanation of example '{encoded.example.id}'; expected one for each example")
    if dict(found.texts) != dict(encoded.example.texts):
        raise BadInput(f"{name}: the explanation of '{encoded.example.id}' belongs to another text than the data has")
    if len(found.scores) != encoded.word_count:
        raise BadInput(
            f"{name}: '{found.id}' has {len(found.scores)} scores; expected one for each of {encoded.word_count} words"
        )
    if dict(found.spans) != dict(zip(encoded.fields, encoded.spans, strict=True)):
        raise BadInput(f"{name}: '{found.id}' has other words than Whence finds in that text; expected the same word spans")
    if found.target not in classifier.labels:
        raise BadInput(f"{name}: '{found.id}' explains label '{found.target}'; the model knows {', '.join(classifier.labels)}")
    return found
