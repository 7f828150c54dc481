"""What will it cost? `whence.plan`: passes, steps or pieces, and an estimate of time, before any of it is paid.

Nothing is written. The work is done on a few examples, for a few seconds, to learn how fast it is here.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whence.api.audits import prepare_audit, prepare_rationales
from whence.api.inputs import check_seed
from whence.api.model import checked_device, load
from whence.api.speed import mask_speed, training_step
from whence.api.work import architecture_for, check_scale, planted_corpus, training_corpus, training_job
from whence.data.table import Columns
from whence.errors import BadInput, unknown
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments
from whence.explain.parameters import check_parameters
from whence.measure.association_run import passes, writes_rationales
from whence.measure.audit_plan import SAMPLED, plan_audit, planned, sampled
from whence.measure.audited import Chosen
from whence.models import Classifier, Encoded
from whence.run import DryRunner, Runner
from whence.run.plan import Passes, estimate
from whence.studies.costs import plan_study
from whence.studies.planted_model import EPOCHS

VERBS = ("audit", "explain", "align", "calibrate", "train", "study")
BACKWARD = 2.0
"""A backward pass takes about as long as so many forward passes."""
SAMPLED_PAIRS = 16
"""Pairs on which the passes of alignment methods are counted."""


def plan(
    verb: str = "audit",
    *,
    model: Any = None,
    data: Any = None,
    methods: Sequence[str] = (),
    measures: Sequence[str] = (),
    split: str | None = None,
    limit: int | None = None,
    hide: str | None = None,
    seed: int = 0,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    data_root: str | Path | None = None,
    columns: Columns | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    options: Mapping[str, Any] | None = None,
    task: str = "classification",
    template: str | None = None,
    device: Any = None,
    name: str | None = None,
    scale: str = "small",
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The cost of a verb, called with the arguments that the verb itself would get.

    verb       "audit", "explain", "align", "calibrate", "train" or "study"
    task       of a training, with `template`, `epochs`, `batch_size`, `options` and `device` as in `whence.train`
    name       of the study; with `scale` and `settings` as in `whence.study`
    """
    if verb not in VERBS:
        raise unknown("verb to plan", verb, VERBS)
    common: dict[str, Any] = {"split": split, "limit": limit, "seed": seed, "data_root": data_root, "columns": columns}
    if verb == "study":
        if name is None:
            raise BadInput("no study was named; expected one, such as `whence plan study attention`")
        root = None if data_root is None else Path(data_root)
        found = plan_study(name, check_scale(scale), check_seed(seed), root, settings or {})
        return {"verb": verb, "study": name, "scale": scale, **found}
    if verb == "calibrate":
        corpus = planted_corpus(data or "shortcuts", seed)
        if model is None:
            chosen = architecture_for(corpus, None)
            job = training_job(corpus.name, chosen, epochs=EPOCHS, seed=seed)
            return {"verb": verb, **training_step(job, corpus, checked_device(device))}
        return {"verb": verb, **_explaining(model, corpus.name, methods, hide, parameters, common | {"limit": limit or 200})}
    if model is None or data is None:
        raise BadInput(f"a plan of {verb} needs a model and data; got {'no model' if model is None else 'no data'}")
    if verb == "train":
        job = training_job(
            data, model, task=task, template=template, options=options, limit=limit, epochs=epochs, batch_size=batch_size,
            seed=seed,
        )  # fmt: skip
        return {"verb": verb, **training_step(job, training_corpus(data, data_root, columns), checked_device(device))}
    if verb == "align":
        return {"verb": verb, **_aligning(model, data, methods, parameters, common)}
    if verb == "explain":
        return {"verb": verb, **_explaining(model, data, methods or ["integrated_gradients"], hide, parameters, common)}
    loaded = load(model)
    if not methods and not measures and writes_rationales(loaded.classifier):
        about = prepare_rationales(loaded, data, split, limit, hide, seed, data_root, columns, parameters or {})
        return {"verb": verb, "examples": len(about.examples), "rationale": passes(about)}
    job_, classifier = prepare_audit(
        model, data, methods=methods, measures=measures, hide=hide, parameters=parameters, **common
    )
    return {"verb": verb, **plan_audit(job_, classifier)}


def _explaining(
    model: Any, data: Any, methods: Sequence[str], hide: str | None, parameters: Any, common: Mapping[str, Any]
) -> dict[str, Any]:
    """Making explanations alone, without measuring them."""
    job, classifier = prepare_audit(model, data, methods=methods, hide=hide, parameters=parameters, **common)
    chosen = Chosen(job, classifier)
    makers = [m for m in chosen.methods if not methods or m.name in methods]

    def work(some: Sequence[Encoded], runner: Runner) -> Passes:
        passes: Passes = {}
        for method in makers:
            with runner.ledger() as needed:
                made = chosen.explain(runner, classifier.encode([e.example for e in some]), method)
                passes[method.name] = needed()
            for explanation in made:
                json.dumps(explanation.to_dict())
        return passes

    sample, count = sampled(chosen), len(job.examples)
    each = estimate(classifier, work, sample, SAMPLED)
    seconds, cpu = (count * each.cost * rate for rate in each.seconds_per_cost)
    return {**planned(each, count), "sampled": len(sample), "seconds": seconds, "cpu_seconds": cpu}


def _aligning(
    model: Any, data: Any, methods: Sequence[str], parameters: Mapping[str, Any] | None, common: Mapping[str, Any]
) -> dict[str, Any]:
    names = list(methods) or ["arec"]
    for name in names:
        if name not in ALIGNMENT_METHODS:
            raise unknown("method for alignments", name, ALIGNMENT_METHODS)
    check_parameters(ALIGNMENT_METHODS, parameters or {}, names)
    job, classifier = prepare_audit(model, data, methods=["random"], **common)
    if not isinstance(classifier, Classifier):
        raise BadInput(f"{classifier.name} cannot honour an intervention on alignment; expected a classifier of pairs")
    encoded = classifier.encode(list(job.examples))
    if any(len(e.fields) != 2 for e in encoded):
        raise BadInput("the data has single texts; expected pairs: alignments lie between two")
    passes: dict[str, dict[str, float]] = {}
    sample = encoded[:: max(1, len(encoded) // SAMPLED_PAIRS)][:SAMPLED_PAIRS]
    for name in names:
        dry = DryRunner(classifier)
        explain_alignments(dry, sample, ALIGNMENT_METHODS[name], parameters=(parameters or {}).get(name))
        passes[name] = {"forward": dry.paid.forward / len(sample), "backward": dry.paid.backward / len(sample)}
    forward, backward = (sum(p[kind] for p in passes.values()) * len(encoded) for kind in ("forward", "backward"))
    return {
        "examples": len(encoded), "sampled": len(sample), "passes_per_example": passes, "forward": round(forward),
        "backward": round(backward), "seconds": (forward + BACKWARD * backward) / mask_speed(classifier, encoded),
    }  # fmt: skip
