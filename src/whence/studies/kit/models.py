"""Models as studies use them: looked up in the cache, and trained if not there, so that any piece can run first, or again."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from whence.data import Corpus
from whence.models import Classifier
from whence.run import read_json
from whence.studies.kit.corpora import opened
from whence.teach import Job, Settings, cached_job, default_settings, read_predictions


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    folder: Path

    @property
    def classifier(self) -> Classifier:
        return _loaded(self.folder)

    @cached_property
    def results(self) -> dict[str, Any]:
        return read_json(self.folder / "results.json")

    @cached_property
    def scores(self) -> dict[str, Any]:
        """Of test: accuracy, macro-F1, F1 of the last label, and the labels behind them as the model numbers them."""
        test, rows = self.results["test"], read_predictions(self.folder, "test")
        numbers = {name.lower(): i for i, name in enumerate(test["f1"])}
        return {
            "f1": list(test["f1"].values())[-1], "macro_f1": test["macro_f1"], "accuracy": test["accuracy"],
            "labels": [numbers[row["label"].lower()] for row in rows],
            "predicted": [numbers[row["predicted"].lower()] for row in rows],
        }  # fmt: skip


def taught_encoder(encoder: str, data: str, training: Mapping[str, Any], root: str | None, seed: int) -> Trained:
    """A classifier of the corpus `data`, whose encoder other models start from."""
    settings = Settings(**{**default_settings(encoder), **training, "seed": seed})
    return trained(Job(data=data, model=encoder, settings=settings), opened(data, root, whole=True))


def trained(job: Job, corpus: Corpus) -> Trained:
    """From the cache, or trained now; a piece says nothing of it, because the engine says when it is done."""
    return Trained(cached_job(job, corpus, lambda _: None))


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> Classifier:
    return Classifier.load(folder)
