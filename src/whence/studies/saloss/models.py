"""One model of the study, in numbers: what it is trained on, for how long, and towards which salience."""

from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from whence.data import Corpus
from whence.studies.kit.corpora import opened
from whence.studies.kit.models import Trained, trained
from whence.studies.saloss.settings import SalossSettings
from whence.teach import Job, Settings, default_settings
from whence.teach.settings import Precision

Variant = Literal["paper", "released"]
PRIORS = {
    "textrank": "TextRank", "textrank_filtered": "TextRank without stop words", "uniform": "uniform", "tfidf": "tf-idf",
    "chi2": "χ²", "planted": "true reason", "attention_gradient": "baseline's α∇α", "leave_one_out": "baseline's leave-one-out",
}  # fmt: skip
OF_BASELINE = ("attention_gradient", "leave_one_out")
"""Priors that are read off the trained baseline of the same seed."""


class Kind(NamedTuple):
    """How a model was trained; `weight` None: with the λ that was chosen for its corpus."""

    prior: str = "none"
    weight: float | None = None
    variant: Variant = "paper"

    @property
    def title(self) -> str:
        if self.variant == "released":
            return "baseline as released" if self.prior == "none" else "SaLoss as released"
        if self.prior == "none":
            return "baseline"
        if self.weight is None:
            return f"SaLoss, {PRIORS[self.prior]}"
        return f"SaLoss, {'' if self.prior == 'textrank' else PRIORS[self.prior] + ', '}λ = {self.weight:g}"

    @property
    def in_paper(self) -> str | None:
        """Its name in the paper's tables, which have one λ for each corpus, the chosen one."""
        return self.prior if self.weight is None else None

    @property
    def base(self) -> "Kind":
        """What it is compared with: the same training without salience."""
        return RELEASED_BASE if self.variant == "released" else BASE


BASE, TEXTRANK, RELEASED_BASE = Kind(), Kind("textrank"), Kind("none", 0.0, "released")


class Recipe(BaseModel):
    """JSON-able, so that it can be the argument of a piece; `prior` "none" is the baseline."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    corpus: str
    root: str | None
    model: str
    architecture: dict[str, int]
    train: int | None
    dev: int | None
    test: int | None
    epochs: int
    batch_size: int
    learning_rate: float
    warmup: float
    precision: Precision = "float32"
    seed: int
    prior: str = "none"
    weight: float = 0.0
    variant: Variant = "paper"

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
            if self.prior in OF_BASELINE:
                options["saloss"]["prior_options"] = self.prior_options()
        settings = Settings(**{
            **default_settings(self.model), "objective": objective, "options": options, "select": "loss",
            "epochs": self.epochs, "batch_size": self.batch_size, "learning_rate": self.learning_rate,
            "warmup": self.warmup, "clip": 1.0, "patience": self.epochs,
            "precision": self.precision, "seed": self.seed,
        })  # fmt: skip
        return Job(data=self.corpus, model=self.model, options=self.architecture, settings=settings)

    def prior_options(self) -> dict[str, str]:
        """What the prior reads besides texts: the baseline's folder, trained now if need be."""
        if self.prior not in OF_BASELINE:
            return {}
        baseline = self.model_copy(update={"prior": "none", "weight": 0.0})
        return {"model": str(baseline.trained().folder)}

    def open(self) -> Corpus:
        """The corpus with its subsets."""
        return opened(self.corpus, self.root, self.train, self.dev, self.test)

    def trained(self) -> Trained:
        return trained(self.job(), self.open())


def recipe(settings: SalossSettings, corpus: str, root: str | None, seed: int, **changes: Any) -> Recipe:
    by_corpus = ("train", "dev", "test", "epochs", "batch_size", "learning_rate")
    usual = {name: getattr(settings, name)[corpus] for name in by_corpus}
    usual |= {"warmup": settings.warmup, "precision": settings.precision}
    model, architecture = settings.models.get(corpus, settings.model), settings.architecture
    return Recipe(corpus=corpus, root=root, model=model, architecture=architecture, seed=seed, **{**usual, **changes})
