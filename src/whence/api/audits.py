"""Which explanation of a model can be believed: `whence.audit` makes explanations, measures them and says so."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from whence.api.inputs import as_examples, check_budget, check_limit, check_seed, labels_in
from whence.api.model import Model, load
from whence.api.rationale_audits import REPORT, rationale_settings, run_rationales
from whence.data import Corpus, Example
from whence.data.registry import open_corpus
from whence.data.table import Columns
from whence.errors import BadInput
from whence.explain import METHODS, check_hide, choose_methods
from whence.explain.parameters import check_parameters
from whence.measure.association import RationaleAudit
from whence.measure.association_run import writes_rationales
from whence.measure.audit import Say, run_audit
from whence.measure.audit_budget import budget_before, fit_budget, merged
from whence.measure.audited import Audit
from whence.models import Port
from whence.report.association_report import association_verdict
from whence.report.audit_report import verdict, write_report
from whence.run.engine import Engine, make_engine
from whence.run.mirror import inside, place_of


@dataclass(frozen=True)
class AuditReport:
    """A finished audit: `results` is what results.json holds, `path` the HTML report (a string if it is at an address)."""

    results: dict[str, Any]
    path: Path | str

    @property
    def verdict(self) -> list[str]:
        return association_verdict(self.results) if "association" in self.results else verdict(self.results)

    def __repr__(self) -> str:
        return "\n".join([*self.verdict, f"Report: {self.path}"])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.verdict)
        return f"<ul>{lines}</ul><code>{escape(str(self.path))}</code>"


def audit(
    model: Any,
    data: Any,
    out: str | Path,
    *,
    methods: Sequence[str] = (),
    measures: Sequence[str] = (),
    split: str | None = None,
    limit: int | None = None,
    hide: str | None = None,
    seed: int = 0,
    data_root: str | Path | None = None,
    columns: Columns | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "examples",
    budget: str | float | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus_per_task: float | None = None,
    say: Say = print,
) -> AuditReport:
    """Explains, measures and compares. Runs, or continues, in the folder `out` and writes `out`/report.html.

    A model whose template asks for a label and a rationale is asked whether the two belong together (docs/association.md),
    unless `methods` or `measures` name explanations by words.

    model       a `Model`, or whatever `whence.load` takes
    out         a folder, or the address of one (s3://…, gs://…; docs/scale.md)
    data        a corpus name, a file or folder, or examples, dicts, a data frame or a dataset (then `name` says what they are)
    methods     explainers by name; none means all that fit the model
    measures    measures by name; none means all that the data allows
    split       which split to read. Default: test if there is one, else dev, else the first
    limit       use so many examples, drawn at random with the seed
    parameters  settings of methods, such as {"lime": {"n_samples": 1000}}
    budget      a time such as "30m" or "1.5h", or seconds: examples and samples are picked so that the audit fits into it
    engine      "local", or "ray": on this machine or, with `address`, on a cluster; the results have the same bytes
    gpus_per_task  of Ray: several tasks share a GPU if it is a part, such as 0.25. Default: 1 for a model on a GPU, else 0
    """
    chosen = make_engine(engine, address, gpus_per_task)
    seconds = None if budget is None else check_budget(budget)
    if seconds is not None and engine != "local":
        raise BadInput(f"a budget with engine '{engine}': speed is measured in one process; expected a limit instead")
    model = load(model)
    chosen = chosen.on(model.classifier.device_kind)
    if not methods and not measures and writes_rationales(model.classifier):
        if seconds is not None:
            raise BadInput("a budget for rationales: how long a model writes is not known before; expected a limit instead")
        about = prepare_rationales(model, data, split, limit, hide, seed, data_root, columns, parameters or {}, name)
        with place_of(out, say) as place:
            return AuditReport(run_rationales(about, model, *place, chosen), inside(out, REPORT))
    how: dict[str, Any] = {
        "methods": methods, "measures": measures, "split": split, "hide": hide, "seed": seed, "data_root": data_root,
        "columns": columns, "name": name,
    }  # fmt: skip
    job, classifier = prepare_audit(model, data, limit=limit, parameters=parameters, **how)
    with place_of(out, say) as place:
        if seconds is not None:
            fits = budget_before(place.path, seconds) or fit_budget(job, classifier, seconds)
            settings = merged(job.parameters, fits.parameters)
            job, _ = prepare_audit(model, data, limit=fits.examples, parameters=settings, **how)
            job = replace(job, budget=fits.to_dict(), notes=[*job.notes, fits.note])
        return AuditReport(finished(job, classifier, *place, chosen), inside(out, REPORT))


def prepare_audit(
    model: Any,
    data: Any,
    *,
    methods: Sequence[str] = (),
    measures: Sequence[str] = (),
    split: str | None = None,
    limit: int | None = None,
    hide: str | None = None,
    seed: int = 0,
    data_root: str | Path | None = None,
    columns: Columns | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "examples",
) -> tuple[Audit, Port]:
    """The arguments of `audit`, checked and made into the job; nothing is run or written yet."""
    methods, measures = _names(methods, "methods"), _names(measures, "measures")
    check_parameters(METHODS, parameters or {}, methods)
    hiding = None if hide is None else check_hide(hide)
    loaded = load(model)
    choose_methods(loaded.classifier, methods)
    examples, name, split, notes = open_examples(
        loaded, data, name, split, check_limit(limit), check_seed(seed), data_root, columns
    )
    settings = {method: dict(given) for method, given in (parameters or {}).items()}
    job = Audit(loaded.name, name, split, examples, methods, measures, hiding, seed, settings, notes=notes)
    return job, loaded.classifier


def prepare_rationales(
    model: Model, data: Any, split: str | None, limit: int | None, hide: str | None, seed: int, data_root: str | Path | None,
    columns: Columns | None, parameters: Mapping[str, Mapping[str, Any]], name: str = "examples",
) -> RationaleAudit:  # fmt: skip
    """The same for the audit of written rationales."""
    settings = rationale_settings(parameters, hide)
    examples, name, split, notes = open_examples(
        model, data, name, split, check_limit(limit), check_seed(seed), data_root, columns
    )
    return RationaleAudit(model.name, name, split, list(examples), settings, seed, notes)


def open_examples(
    model: Model, data: Any, name: str, split: str | None, limit: int | None, seed: int, root: str | Path | None,
    columns: Columns | None,
) -> tuple[Collection[Example], str, str, list[str]]:  # fmt: skip
    """(examples, what they are called, their split, notes); the model's outputs are called by the data's labels."""
    if isinstance(data, str | Path):
        corpus = open_corpus(data, Path(root) if root is not None else None, columns)
        split = split or usual_split(corpus)
        examples: Collection[Example] = corpus.select(split, limit, seed)
        name, labels, notes = corpus.name, corpus.labels, list(corpus.notes)
    else:
        given = as_examples(data, columns=columns)[:limit]
        examples, labels, split, notes = given, labels_in(given), split or "–", []
    if any(example.label is not None for example in examples):
        unnamed = model.labels
        model.classifier.fit_labels(labels)
        if unnamed and model.labels != unnamed:
            notes.append(
                f"the model does not name its outputs ({', '.join(unnamed)}): they are taken to be {', '.join(model.labels)}, "
                "the data's labels in order; if the model was trained with another order, name its outputs with --labels"
            )
    return examples, name, split, notes


def usual_split(corpus: Corpus) -> str:
    """What an audit looks at when nothing is said: test, else dev, else the first split."""
    return next((name for name in ("test", "dev") if name in corpus.splits), next(iter(corpus.splits)))


def _names(given: Sequence[str], what: str) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"{what} name '{twice[0]}' twice; expected each once")
    return names


def finished(job: Audit, classifier: Port, out: Path, say: Say, engine: Engine | None = None) -> dict[str, Any]:
    results = run_audit(job, classifier, out, say, engine)
    write_report(results, out / REPORT)
    return results
