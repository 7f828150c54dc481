"""Many trainings that differ in named settings, on an engine: `whence.sweep`.

Each combination of values is one training. It is done in the cache of the machine that does it; its run folder then becomes a
folder of `out`. Both engines go the same way, so they leave the same bytes.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from whence.api.model import checked_device
from whence.api.work import training_corpus, training_job
from whence.data import Corpus
from whence.data.table import Columns
from whence.errors import BadInput, unknown
from whence.run import RunFolder, Tick, read_json, replace_folder
from whence.run.engine import Item, make_engine
from whence.run.mirror import place_of
from whence.teach import Job, cached_job
from whence.teach.job import prepared
from whence.teach.loop import Say, default_device

SWEPT = (
    "seed", "learning_rate", "epochs", "batch_size", "patience", "limit", "select", "template", "guide", "vectors", "precision",
)  # fmt: skip
"""Arguments of `whence.train` that a sweep may vary; beside them the dotted names of `sweep`."""
TEXTS = ("select", "template", "guide", "vectors", "precision")
USED = ("train", "dev", "test")


def sweep(
    data: str | Path,
    model: str,
    out: str | Path,
    over: Mapping[str, Sequence[Any]],
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
    engine: str = "local",
    address: str | None = None,
    gpus_per_task: float | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Trains every combination, or continues; returns what `out`/results.json holds. Each model is in `out`/RUN/model.

    over    values by name, such as {"seed": [0, 1, 2], "learning_rate": [1e-3, 1e-4]}. A name is an argument of `whence.train`,
            "objective.NAME" (the weight of a term), "NAME.OPTION" (an option of a term), "option.NAME" (of the model's config)
    engine, address, gpus_per_task  as in `whence.audit`; a training is one task
    All other arguments are those of `whence.train`, the same for every run.
    """
    usual = {
        "task": task, "template": template, "objectives": objectives, "parameters": parameters, "options": options,
        "vectors": vectors, "guide": guide, "select": select, "limit": limit, "epochs": epochs, "batch_size": batch_size,
        "learning_rate": learning_rate, "patience": patience, "precision": precision, "seed": seed,
    }  # fmt: skip
    place = checked_device(device)
    chosen = make_engine(engine, address, gpus_per_task).on((place or default_device()).type)
    runs = dict(_runs(over, usual))
    jobs = {name: training_job(data, model, **_applied(usual, values)) for name, values in runs.items()}
    corpus = training_corpus(data, data_root, columns)
    for note in corpus.notes:
        say(note)
    config = {"job": "sweep", "runs": {name: prepared(job, corpus)[-1] for name, job in jobs.items()}}
    with place_of(out, say) as there, RunFolder(there.path, config, there.say) as folder:
        if folder.results is not None:
            there.say(f"{folder.path} is finished already")
            return folder.results
        missing = [Item(name, job, 1) for name, job in jobs.items() if not (folder.path / name / "results.json").exists()]
        done = len(jobs) - len(missing)
        # the texts travel with the task: other machines need no file of them
        held = corpus.part({split: None for split in USED if split in corpus.splits})
        for name, files in chosen.spread(trained_files, (held, place), missing, lambda _: None):
            replace_folder(folder.path / name, lambda path, files=files: _write(path, files))  # type: ignore[misc]
            done += 1
            there.say(f"{name}: done, {done} of {len(jobs)}")
        found = {name: read_json(folder.path / name / "results.json", f"remove {folder.path / name}") for name in jobs}
        rows = [
            {"run": name, "settings": runs[name], **{key: of[key] for key in ("best_epoch", "dev", "test") if key in of}}
            for name, of in found.items()
        ]
        notes = list(dict.fromkeys(note for of in found.values() for note in of["notes"]))
        varied = {name: list(values) for name, values in over.items()}
        folder.finish({"job": "sweep", "over": varied, "runs": rows, "notes": notes})
        assert folder.results is not None
        return folder.results


def trained_files(shared: tuple[Corpus, torch.device | None], job: Job, _tick: Tick | None) -> dict[str, bytes]:
    """The run folder of one training, wherever it was done."""
    corpus, device = shared
    folder = cached_job(job, corpus, lambda _: None, device)
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)


def _runs(over: Mapping[str, Sequence[Any]], usual: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of values, with a name for its folder."""
    if not over:
        raise BadInput("nothing to sweep over; expected names with values, such as seed=0,1,2")
    for name, values in over.items():
        if "." not in name and name not in SWEPT:
            raise unknown("setting to sweep over", name, (*SWEPT, "objective.NAME", "NAME.OPTION", "option.NAME"))
        if usual.get(name) is not None and (name, usual[name]) != ("seed", 0):
            raise BadInput(f"{name} is given and swept over; expected one of the two")
        if isinstance(values, str) or not values:
            raise BadInput(f"a sweep over {name} has {values!r:.60}; expected several values, such as seed=0,1,2")
        for number, value in enumerate(values):
            if value in values[:number]:
                raise BadInput(f"a sweep over {name} has {value!r:.60} twice; expected each value once")
    for number, values in enumerate(itertools.product(*over.values())):
        settings = dict(zip(over, values, strict=True))
        said = "-".join(f"{name}={value}" for name, value in settings.items())
        yield f"{number:03d}-{re.sub(r'[^A-Za-z0-9.=_-]', '_', said)[:80]}", settings


def _applied(usual: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of one training."""
    given = {**usual, "parameters": {name: dict(of) for name, of in (usual.get("parameters") or {}).items()}}
    for name, value in values.items():
        first, dot, last = name.partition(".")
        if not dot:
            given[name] = str(value) if name in TEXTS else value
        elif first == "objective":
            terms = given.get("objectives") or ()
            others = [term for term in ([terms] if isinstance(terms, str) else terms) if term.partition("=")[0] != last]
            given["objectives"] = [*others, f"{last}={value}"]
        elif first == "option":
            given["options"] = {**(given.get("options") or {}), last: value}
        else:
            given["parameters"].setdefault(first, {})[last] = value
    return given
