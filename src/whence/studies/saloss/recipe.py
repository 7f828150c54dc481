"""One model of the study, in numbers: what it is trained on, for how long, and towards which salience."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from whence.data import Corpus, Example, open_corpus
from whence.models import Classifier
from whence.run import read_json
from whence.studies.saloss.settings import SalossSettings
from whence.teach import Job, Settings, cached_job, default_settings

DRAW = 0
"""The seed that draws subsets: the same texts for every model."""


class Recipe(BaseModel):
    """JSON-able, so that it can be the argument of a piece; `prior` "none" is the baseline."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    corpus: str
    model: str
    architecture: dict[str, int]
    train: int | None
    dev: int | None
    test: int | None
    epochs: int
    batch_size: int
    learning_rate: float
    warmup: float
    seed: int
    prior: str = "none"
    weight: float = 0.0
    variant: Literal["paper", "released"] = "paper"

    @property
    def name(self) -> str:
        kind = self.prior if self.variant == "paper" else f"{self.variant}-{self.prior}"
        return f"{self.corpus}-{kind}" + (f"-{self.weight:g}" if self.weight else "") + f"-seed{self.seed}"

    def job(self) -> Job:
        released = self.variant == "released"
        objective = {"cross_entropy_on_probabilities" if released else "cross_entropy": 1.0}
        options: dict[str, dict[str, Any]] = {}
        if self.prior != "none":
            objective["saloss"] = self.weight
            options["saloss"] = {"prior": self.prior, "variant": self.variant}
        usual = default_settings(self.model)
        settings = Settings(**{
            **usual, "objective": objective, "options": options, "select": "loss", "epochs": self.epochs,
            "batch_size": self.batch_size, "learning_rate": self.learning_rate, "warmup": self.warmup, "clip": 1.0,
            "patience": self.epochs, "seed": self.seed,
        })  # fmt: skip
        return Job(data=self.corpus, model=self.model, options=self.architecture, settings=settings)

    def open(self, data_root: str | None) -> Corpus:
        """The corpus with its subsets."""
        whole = open_corpus(self.corpus, None if data_root is None else Path(data_root))
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}

        def part(split: str) -> Callable[[], Iterator[Example]]:
            return lambda: iter(_examples(self.corpus, data_root, split, sizes[split]))

        return Corpus(self.corpus, whole.task, whole.labels, {split: part(split) for split in sizes}, whole.about)

    def trained(self, data_root: str | None, corpus: Corpus | None = None) -> tuple[Classifier, dict[str, Any]]:
        """(model, results of its training); from the cache where it is there."""
        folder = cached_job(self.job(), corpus or self.open(data_root), _quiet)
        return Classifier.load(folder), {**read_json(folder / "results.json"), "folder": str(folder)}


def recipe(settings: SalossSettings, corpus: str, seed: int, **changes: Any) -> Recipe:
    return Recipe(
        corpus=corpus, model=settings.models.get(corpus, settings.model), architecture=settings.architecture,
        train=settings.train[corpus], dev=settings.dev[corpus], test=settings.test[corpus], epochs=settings.epochs[corpus],
        batch_size=settings.batch_size[corpus], learning_rate=settings.learning_rate[corpus], warmup=settings.warmup,
        seed=seed, **changes,
    )  # fmt: skip


@lru_cache(maxsize=15)
def _examples(corpus: str, data_root: str | None, split: str, size: int | None) -> list[Example]:
    """Kept while the process lives: many pieces read the same texts."""
    return open_corpus(corpus, None if data_root is None else Path(data_root)).load(split, size, DRAW)


def _quiet(_: str) -> None:
    """A piece says nothing: the engine says when it is done."""
