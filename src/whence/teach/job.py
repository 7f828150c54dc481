"""A whole training as one resumable job: corpus in, run folder with model, predictions and results out.

The folder holds config.json (every setting), model/ (what `from_pretrained` opens), shards/ (predictions on dev and test) and
results.json. While it runs it also holds checkpoint/ and the best weights so far.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict
from transformers import set_seed

from whence.data import TEMPLATES, Corpus, Example, open_template
from whence.errors import BadInput, unknown
from whence.models.build import NAMES, build_model
from whence.models.sim_build import INFERSENT, JOINT, SIM, build_joint
from whence.models.text_models import build_text_model
from whence.run import RunFolder, cache_folder, read_rows, remove, replace_folder, versions
from whence.teach.depends import depends_on
from whence.teach.guide import imposed
from whence.teach.loop import Say, filled, train
from whence.teach.objectives import check_options, what_is_read
from whence.teach.settings import Settings
from whence.teach.splits import explained, training_splits
from whence.teach.tasks import TASKS, Classification, Joint, Task, Text2Text


class Job(BaseModel):
    """What is trained on what; with `settings`, the whole of config.json."""

    model_config = ConfigDict(extra="forbid")
    task: str = "classification"
    data: str
    model: str
    template: str | None = None
    """Of text2text: how an example becomes source and target, by name or as a file (data/template)."""
    vectors: str | None = None
    limit: int | None = None
    options: dict[str, Any] = {}
    guide: str | None = None
    """Attention imposed on every text: "uniform", or the folder of a model whose attention it is (teach/guide.py)."""
    guide_shuffled: bool = False
    """A control: the guide's weights change places within each text."""
    settings: Settings


WRITES = (Text2Text.name, Joint.name)
_FROM_SCRATCH: dict[str, Any] = {"learning_rate": 5e-4, "warmup": 0.1, "epochs": 8, "weight_decay": 0.01, "clip": 1.0}
_PRETRAINED: dict[str, Any] = {"learning_rate": 5e-5, "warmup": 0.1, "epochs": 3, "weight_decay": 0.01, "clip": 1.0}
_LABEL_FIRST: dict[str, Any] = {"token_cross_entropy": {"label_weight": 3.0}}
_SMALL_WRITER = {**_FROM_SCRATCH, "learning_rate": 3e-3, "epochs": 6, "weight_decay": 0.0, "options": _LABEL_FIRST}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "encoder": _FROM_SCRATCH,
    "small_t5": _SMALL_WRITER,
    "copying_t5": {**_SMALL_WRITER, "learning_rate": 1e-3},
    "aligning_t5": {**_SMALL_WRITER, "learning_rate": 1e-3},
    "small_gpt2": _SMALL_WRITER,
    INFERSENT: {**_FROM_SCRATCH, "learning_rate": 2e-3, "options": {"label_and_text": {"label_weight": 1.5}}},
    SIM: {**_FROM_SCRATCH, "learning_rate": 3e-3, "epochs": 6, "weight_decay": 0.0},
    "warm": {
        **_PRETRAINED, "learning_rate": 1e-4, "decoder_learning_rate": 5e-4, "warmup": 0.085, "epochs": 2,
        "options": _LABEL_FIRST,
    },
}  # fmt: skip


def default_settings(model: str) -> dict[str, Any]:
    """Of a model's name: word models from scratch take what `Settings` says, a pretrained transformer learns slowly."""
    return dict(_DEFAULTS.get(model, {} if model in NAMES else _PRETRAINED))


def run_job(
    job: Job, corpus: Corpus, out: Path, say: Say = print, of_folder: Say | None = None, device: torch.device | None = None
) -> dict[str, Any]:
    """Train, or continue, or return what is already there. `of_folder`: who is told that another process works there."""
    job, splits, notes, config = prepared(job, corpus)
    with RunFolder(out, config, of_folder or say) as folder:
        results = _run(job, corpus, splits, notes, folder, say, device)
        for leftover in ("checkpoint", "best.safetensors"):
            remove(out / leftover)
        return results


def _run(
    job: Job, corpus: Corpus, splits: dict[str, list[Example]], notes: list[str], folder: RunFolder, say: Say,
    device: torch.device | None,
) -> dict[str, Any]:  # fmt: skip
    started, out = time.monotonic(), folder.path
    if folder.results is not None:
        say(f"{out} is finished already")
        return folder.results
    set_seed(job.settings.seed)  # the new weights of the model, too, come from the seed
    task = task_for(job, corpus, splits["train"])
    history = train(task, splits["train"], splits["dev"], job.settings, out, say, device)
    notes = notes + history.pop("warnings")
    results: dict[str, Any] = {"job": "train", "train_examples": len(splits["train"]), "notes": notes, **history}
    for split in ("dev", "test"):
        if split in splits:
            scores, rows = task.evaluate(task.prepare(splits[split]))
            results[split] = {**results.get(split, {}), **scores}
            folder.write_shard(f"predictions-{split}", rows)
    replace_folder(out / "model", task.save)
    results["seconds"] = time.monotonic() - started
    folder.finish(results)
    return results


def cached_job(job: Job, corpus: Corpus, say: Say = print, device: torch.device | None = None) -> Path:
    """The run folder of this training in the cache: trained now, continued, or taken as it is.

    The folder is named by everything that the result depends on (teach/depends.py) and by all versions, so that what another
    version began is neither continued nor in the way. While another process trains the same, this one waits and says so aloud,
    even where the training itself is quiet.
    """
    if _instead is not None:
        return _instead(job, corpus)
    out = cached_folder(job, corpus)
    if not (out / "results.json").exists():
        run_job(job, corpus, out, say, partial(print, file=sys.stderr, flush=True), device)
    return out


def cached_folder(job: Job, corpus: Corpus) -> Path:
    return cache_folder("models", {**prepared(job, corpus)[-1], "versions": versions()})


_instead: Callable[[Job, Corpus], Path] | None = None


@contextmanager
def instead_of_training(stand_in: Callable[[Job, Corpus], Path]) -> Iterator[None]:
    """While this is open, `cached_job` returns what `stand_in` does: the plan of a study trains nothing (studies/costs.py)."""
    global _instead
    _instead = stand_in
    try:
        yield
    finally:
        _instead = None


def task_for(job: Job, corpus: Corpus, examples: list[Example]) -> Task:
    """The task with its new model; `examples` make the vocabulary."""
    if job.task in WRITES:
        template = open_template(str(job.template))
        texts = (text for e in examples for text in (template.render(e).text, template.render_target(e)))
        if job.task == Joint.name:
            joint, words = build_joint(job.model, texts, corpus.labels, corpus.task == "choice", template, dict(job.options))
            return Joint(joint, words, template, corpus.labels, job.settings.generated)
        model, tokenizer = build_text_model(job.model, texts, job.options)
        return Text2Text(model, tokenizer, template, corpus.labels, job.settings.generated)
    texts = (text for example in examples for text in example.texts.values())
    vectors = Path(job.vectors) if job.vectors else None
    model, tokenizer = build_model(job.model, corpus.labels, texts, vectors, job.options)
    return Classification(model, tokenizer, imposed(job.guide, job.guide_shuffled) if job.guide else None)


def prepared(job: Job, corpus: Corpus) -> tuple[Job, dict[str, list[Example]], list[str], dict[str, Any]]:
    """(the job with all settings filled in, splits, notes, what config.json will hold)."""
    _check(job, corpus)
    settings = filled(job.settings, TASKS[job.task])
    check_options(settings.objective, settings.options)
    what_is_read(settings.objective, TASKS[job.task].gives)
    job = job.model_copy(update={"settings": settings})
    splits, notes = training_splits(corpus, job.limit, settings.seed)
    if job.template is not None:
        splits, left_out = explained(splits, open_template(job.template))
        notes += left_out
    chosen = job.model_dump()
    return job, splits, notes, {"job": "train", **chosen, **depends_on(chosen, corpus, splits)}


def _check(job: Job, corpus: Corpus) -> None:
    if job.task not in TASKS:
        raise unknown("task", job.task, list(TASKS))
    if job.task in WRITES:
        if job.template is None:
            raise BadInput(f"{job.task} needs a template; expected --template with one of {', '.join(TEMPLATES)}, or a file")
        if job.vectors or job.guide:
            raise BadInput(f"--vectors and --guide go with classifiers; expected neither in {job.task}")
        if (job.model in JOINT) != (job.task == Joint.name):
            known = " or ".join(JOINT)
            raise BadInput(f"--model {job.model} was given for {job.task}; expected --task {Joint.name} with --model {known}")
    elif job.template is not None:
        raise BadInput(f"a template was given for {job.task}; expected --task text2text with it")
    elif corpus.task == "choice":
        raise BadInput(f"{corpus.name} has questions with choices; expected --task text2text, or a corpus of texts or pairs")


def read_predictions(folder: Path, split: str) -> list[dict[str, Any]]:
    """What a finished training said of dev or test: id, label, predicted, probabilities."""
    file = folder / "shards" / f"predictions-{split}.parquet"
    return read_rows(file, f"remove {folder} and run the same command again")
