"""A whole training as one resumable job: corpus in, run folder with model, predictions and results out.

The folder holds config.json (every setting), model/ (what `from_pretrained` opens), shards/ (predictions on dev and test) and
results.json. While it runs it also holds checkpoint/ and the best weights so far.
"""

import random
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from transformers import set_seed

from whence.data import Corpus, Example
from whence.errors import BadInput
from whence.models.build import NAMES, build_model
from whence.run import RunFolder, cache_folder, read_rows, remove, replace_folder, versions
from whence.teach.depends import depends_on, hub_version
from whence.teach.guide import imposed
from whence.teach.loop import Say, selection, train
from whence.teach.objectives import check_options
from whence.teach.settings import Settings
from whence.teach.tasks import Classification, Task

DEV_SHARE = 0.1


class Job(BaseModel):
    """What is trained on what; with `settings`, the whole of config.json."""

    model_config = ConfigDict(extra="forbid")
    data: str
    model: str
    vectors: str | None = None
    limit: int | None = None
    options: dict[str, Any] = {}
    guide: str | None = None
    """Attention imposed on every text: "uniform", or the folder of a model whose attention it is (teach/guide.py)."""
    settings: Settings


def default_settings(model: str) -> dict[str, Any]:
    """From scratch: Adam at 1e-3. A pretrained transformer: a small rate with warm-up, and fewer epochs."""
    if model == "encoder":
        return {"learning_rate": 5e-4, "warmup": 0.1, "epochs": 8, "weight_decay": 0.01, "clip": 1.0}
    if model in NAMES:
        return {}
    return {"learning_rate": 5e-5, "warmup": 0.1, "epochs": 3, "weight_decay": 0.01, "clip": 1.0}


def run_job(job: Job, corpus: Corpus, out: Path, say: Say = print) -> dict[str, Any]:
    """Train, or continue, or return what is already there."""
    job, splits, notes, config = _prepare(job, corpus)
    with RunFolder(out, config, say) as folder:
        results = _run(job, corpus, splits, notes, folder, say)
        for leftover in ("checkpoint", "best.safetensors"):
            remove(out / leftover)
        return results


def _run(
    job: Job, corpus: Corpus, splits: dict[str, list[Example]], notes: list[str], folder: RunFolder, say: Say
) -> dict[str, Any]:
    started, out = time.monotonic(), folder.path
    if folder.results is not None:
        say(f"{out} is finished already")
        return folder.results
    set_seed(job.settings.seed)  # the new weights of the model, too, come from the seed
    task = _task(job, corpus, splits["train"])
    history = train(task, splits["train"], splits["dev"], job.settings, out, say)
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


def cached_job(job: Job, corpus: Corpus, say: Say = print) -> Path:
    """The run folder of this training in the cache: trained now, continued, or taken as it is.

    The folder is named by everything that the result depends on (teach/depends.py), the version of Whence included.
    """
    _, _, _, config = _prepare(job, corpus)
    out = cache_folder("models", {**config, "whence": versions()["whence"]})
    if not (out / "results.json").exists():
        run_job(job, corpus, out, say)
    return out


def _task(job: Job, corpus: Corpus, examples: list[Example]) -> Task:
    texts = (text for example in examples for text in example.texts.values())
    vectors = Path(job.vectors) if job.vectors else None
    model, tokenizer = build_model(job.model, corpus.labels, texts, vectors, job.options)
    return Classification(model, tokenizer, imposed(job.guide) if job.guide else None)


def _prepare(job: Job, corpus: Corpus) -> tuple[Job, dict[str, list[Example]], list[str], dict[str, Any]]:
    """(the job with all settings filled in, splits, notes, what config.json will hold)."""
    if corpus.task == "choice":
        raise BadInput(f"{corpus.name} has questions with choices; expected a corpus of texts or pairs for a classifier")
    check_options(job.settings.objective, job.settings.options)
    selected_by = selection(Classification, job.settings)
    job = job.model_copy(update={"settings": job.settings.model_copy(update={"select": selected_by.name})})
    splits, notes = _splits(corpus, job)
    chosen = job.model_dump()
    config = {"job": "train", **chosen, **depends_on(chosen, corpus, splits)}
    if job.model not in NAMES and not Path(job.model).exists():
        config["hub_version"] = hub_version(job.model)
    return job, splits, notes, config


def _splits(corpus: Corpus, job: Job) -> tuple[dict[str, list[Example]], list[str]]:
    """train, dev and, where the corpus has one with labels, test. Without a dev split, a share of train is held out."""
    notes = []
    if "train" not in corpus.splits:
        raise BadInput(f"{corpus.name} has no training split, only {', '.join(corpus.splits)}; expected a corpus with 'train'")
    splits = {"train": corpus.load("train", job.limit, job.settings.seed)}
    if job.limit is not None:
        size = len(splits["train"])
        drawn = f"trained on {size} examples drawn with seed {job.settings.seed} (limit)"
        notes.append(drawn if size == job.limit else f"limit {job.limit} is more than the {size} training examples there are")
    if "dev" in corpus.splits:
        splits["dev"] = corpus.load("dev")
    else:
        held_out = set(
            random.Random(job.settings.seed).sample(range(len(splits["train"])), int(DEV_SHARE * len(splits["train"])) or 1)
        )
        splits["dev"] = [e for i, e in enumerate(splits["train"]) if i in held_out]
        splits["train"] = [e for i, e in enumerate(splits["train"]) if i not in held_out]
        notes.append(f"{corpus.name} has no dev split: {len(splits['dev'])} training examples were held out instead")
    if "test" in corpus.splits:
        test = corpus.load("test")
        if all(example.label is not None for example in test):
            splits["test"] = test
        else:
            notes.append("the test split has no labels: no test score")
    return splits, notes


def read_predictions(folder: Path, split: str) -> list[dict[str, Any]]:
    """What a finished training said of dev or test: id, label, predicted, probabilities."""
    file = folder / "shards" / f"predictions-{split}.parquet"
    return read_rows(file, f"remove {folder} and run the same command again")
