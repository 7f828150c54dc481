"""Whole jobs in one call: `whence.train`, `whence.calibrate`, `whence.study`. Bad input is refused before any work."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import torch
from pydantic import ValidationError

from whence.api.audits import usual_split
from whence.api.inputs import check_limit, check_seed
from whence.api.model import checked_device, checked_dtype, load
from whence.data import Corpus, open_template
from whence.data.registry import open_corpus, planted
from whence.data.table import Columns
from whence.errors import BadInput, unknown
from whence.explain import METHODS, check_hide
from whence.models import ARCHITECTURES
from whence.models.build import NAMES
from whence.models.options import check_options
from whence.report.study_report import write_study_report
from whence.run.engine import make_engine
from whence.run.mirror import place_of
from whence.studies.calibrate import calibrate as run_calibration
from whence.studies.planted_model import planted_model
from whence.studies.registry import find_study
from whence.studies.study import Scale, run_study
from whence.teach import Job, Settings, default_settings, parse_objectives, run_job
from whence.teach.loop import Say, default_device
from whence.teach.loop import filled as filled_settings
from whence.teach.objectives import check_options as check_objective_options
from whence.teach.tasks import TASKS


def train(
    data: str | Path,
    model: str,
    out: str | Path,
    *,
    task: str = "classification",
    template: str | None = None,
    objectives: Sequence[str] = (),
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
    vectors: str | Path | None = None,
    guide: str | None = None,
    select: str | None = None,
    limit: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    precision: str | None = None,
    seed: int = 0,
    data_root: str | Path | None = None,
    columns: Columns | None = None,
    device: str | torch.device | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Trains or fine-tunes a model, or continues; returns what `out`/results.json holds. The model is in `out`/model.

    data        a corpus with a training split, or a folder with train.csv (and dev.csv, test.csv)
    out         a folder, or the address of one (s3://…, gs://…; docs/scale.md)
    model       "bilstm", "mlp", "decomposable", "esim", "encoder", or the folder or hub id of a Hugging Face model;
                in text2text "small_t5", "small_gpt2", "warm", or a folder or hub id; in joint "sim", "infersent"
    task        "classification"; "text2text": the model writes the target that `template` makes of an example; "joint": it
                decides while it writes its explanation (docs/mpii.md)
    template    of text2text and joint: a name such as "nli.i-or", or a file (docs/templates.md)
    objectives  terms of the loss, "NAME" or "NAME=WEIGHT"; they add up. Default: the cross-entropy of the task
    parameters  of the objectives, such as {"saloss": {"prior": "tfidf"}}
    options     for the model's config, such as {"attention": "uniform"}
    vectors     a GloVe text file to start from
    select      the metric that picks the epoch that is kept: "loss", "train_loss", "accuracy"; "macro_f1" of a classifier;
                "bleu", "exact_match" of text2text and joint
    guide       attention to impose: "uniform", or the folder of a trained model
    device      "cpu", "cuda", "cuda:1", "mps". Default: a GPU if there is one
    precision   "float32", or "bfloat16": about twice as fast where the hardware multiplies bfloat16, far slower where not
    """
    place = checked_device(device)
    job = training_job(
        data, model, task=task, template=template, objectives=objectives, parameters=parameters, options=options,
        vectors=vectors, guide=guide, select=select, limit=limit, epochs=epochs, batch_size=batch_size,
        learning_rate=learning_rate, patience=patience, precision=precision, seed=seed,
    )  # fmt: skip
    corpus = training_corpus(data, data_root, columns)
    for note in corpus.notes:
        say(note)
    with place_of(out, say) as there:
        return run_job(job, corpus, *there, device=place)


def training_job(
    data: str | Path, model: str, *, task: str = "classification", template: str | None = None, objectives: Sequence[str] = (),
    parameters: Mapping[str, Mapping[str, Any]] | None = None, options: Mapping[str, Any] | None = None,
    vectors: str | Path | None = None, guide: str | None = None, select: str | None = None,
    limit: int | None = None, epochs: int | None = None,
    batch_size: int | None = None, learning_rate: float | None = None, patience: int | None = None,
    precision: str | None = None, seed: int = 0,
) -> Job:  # fmt: skip
    """The arguments of `train`, checked."""
    given = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience,
             "precision": precision}  # fmt: skip
    filled = default_settings(model) | {name: value for name, value in given.items() if value is not None}
    weights = parse_objectives([objectives] if isinstance(objectives, str) else list(objectives))
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    if template is not None:
        open_template(template)
    usual = filled.pop("options", {}) if not weights else {}
    given_to = dict(parameters or {})
    terms = {name: {**usual.get(name, {}), **given_to.get(name, {})} for name in (*usual, *given_to)}
    check_options(model, options or {})
    if vectors is not None and not Path(vectors).is_file():
        raise BadInput(
            f"{vectors}: no such file of vectors; expected a text file of words and numbers, such as glove.6B.100d.txt"
        )
    try:
        settings = Settings(objective=weights, options=terms, select=select, seed=check_seed(seed), **filled)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])).replace("_", "-")
        raise BadInput(f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}; got {first['input']!r:.60}") from error
    settings = filled_settings(settings, TASKS[task])
    check_objective_options(settings.objective, settings.options)
    return Job(
        task=task, template=template, data=str(data), model=model, vectors=None if vectors is None else str(vectors),
        limit=check_limit(limit), options=dict(options or {}), guide=guide, settings=settings,
    )  # fmt: skip


def training_corpus(data: str | Path, data_root: str | Path | None, columns: Columns | None) -> Corpus:
    corpus = open_corpus(data, None if data_root is None else Path(data_root), columns)
    if "train" not in corpus.splits:
        raise BadInput(
            f"{data} has no training split, only {', '.join(corpus.splits)}; expected a folder with train.csv (or .tsv, .jsonl,"
            " .parquet, .xlsx) and, if you have them, dev and test files, or a single file that is called train"
        )
    if not corpus.labels:
        raise BadInput(f"{data} has no labels; expected a column 'label', or --label-column to name it")
    if len(corpus.labels) < 2:
        raise BadInput(f"{data} has one label only, '{corpus.labels[0]}'; expected at least two to tell apart")
    return corpus


def calibrate(
    data: str = "shortcuts",
    model: Any = None,
    *,
    arch: str | None = None,
    methods: Sequence[str] = (),
    limit: int | None = 200,
    hide: str | None = None,
    seed: int = 0,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus_per_task: float | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Ranks explainers by how well they find reasons that were planted in a corpus.

    model  whatever `whence.load` takes. Default: `arch` is trained on the corpus and kept in the cache
    arch   "encoder" (default for texts), "bilstm", "mlp"; "esim" (default for pairs), "decomposable"
    device, dtype   as in `whence.load`, for the explanations; a model that is trained for this is trained in float32
    engine, address, gpus_per_task  as in `whence.audit`, for the explanations; a training is one piece and stays here
    """
    chosen_engine = make_engine(engine, address, gpus_per_task)
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
    hiding = None if hide is None else check_hide(hide)
    corpus = planted_corpus(data, check_seed(seed))
    chosen = architecture_for(corpus, arch) if model is None else None
    if model is not None and arch is not None:
        raise BadInput(f"both a model and an architecture ('{arch}') were given; expected one: an architecture is trained")
    examples = corpus.load(usual_split(corpus), check_limit(limit), seed)
    place, precision = checked_device(device), checked_dtype(dtype)  # before a model is trained for them
    if model is not None:
        classifier = load(model, device=place, dtype=precision).classifier
        classifier.fit_labels(corpus.labels)
        if len(classifier.labels) != len(corpus.labels):
            raise BadInput(
                f"the model has {len(classifier.labels)} labels ({', '.join(classifier.labels)}) and {data} has "
                f"{len(corpus.labels)} ({', '.join(corpus.labels)}); expected the same"
            )
    else:
        _, folder = planted_model(corpus, chosen or "", seed, say=say)
        classifier = load(folder, device=place, dtype=precision).classifier
    return {
        "data": data,
        **run_calibration(classifier, examples, names, hiding, seed, chosen_engine.on(classifier.device_kind)),
    }


def planted_corpus(data: str, seed: int) -> Corpus:
    """One whose reasons are known by construction, and that a classifier can read."""
    fitting = [name for name, build in planted().items() if build(0).task != "choice"]
    if data not in fitting:
        raise BadInput(
            f"{data} holds no planted reasons for a classifier to find; expected one of {', '.join(sorted(fitting))}"
        )
    return open_corpus(data, seed=seed)


def architecture_for(corpus: Corpus, arch: str | None) -> str:
    pairs = corpus.task == "pair"
    if arch is None:
        return "esim" if pairs else "encoder"
    if arch not in NAMES:
        raise unknown("architecture", arch, NAMES)
    if arch in ARCHITECTURES and ARCHITECTURES[arch].reads_pairs != pairs:
        fitting = [name for name in NAMES if name not in ARCHITECTURES or ARCHITECTURES[name].reads_pairs == pairs]
        kind = "pairs" if pairs else "single texts"
        raise BadInput(f"{arch} does not read {corpus.name}, a corpus of {kind}; expected one of {', '.join(fitting)}")
    return arch


def study(
    name: str,
    scale: str = "small",
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    engine: str = "local",
    address: str | None = None,
    gpus_per_task: float | None = None,
    data_root: str | Path | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Repeats a published paper's study, or continues; returns what `out`/results.json holds and writes `out`/report.html.

    scale     "smoke" (planted data, minutes), "small" (real data, an hour or two on two cores), "full" (as in the paper)
    out       a folder, or the address of one (docs/scale.md). Default: runs/NAME-SCALE
    settings  in place of the scale's own
    """
    found = find_study(name)
    folder = out if out is not None else Path("runs") / f"{name}-{scale}"
    root = None if data_root is None else Path(data_root)
    chosen = make_engine(engine, address, gpus_per_task).on(default_device().type)
    with place_of(folder, say) as place:
        results = run_study(
            found, check_scale(scale), place.path, check_seed(seed), root, chosen, settings or {}, place.say
        )  # fmt: skip
        write_study_report(results, place.path / "report.html")
    return results


def check_scale(scale: str) -> Scale:
    for known in get_args(Scale):
        if scale == known:
            return known
    raise unknown("scale", scale, get_args(Scale))
