"""The models of the study: a `Subject` is one corpus and one family of models on it, a `Role` names one trained model of it."""

from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from whence.data import Corpus, Example
from whence.data.cuts import with_cuts
from whence.models import UNCHANGED, Encoded, Intervention
from whence.run import Request, Runner
from whence.studies.attention.settings import AttentionSettings, CorpusSettings
from whence.studies.kit.corpora import SUBSET_SEED, opened
from whence.studies.kit.models import Trained, trained
from whence.teach import Job, Settings, default_settings
from whence.teach.guide import on_text, uniform

Kind = Literal[
    "base", "uniform", "adversary", "adversary-cuts", "adversary-train-loss", "mlp-uniform", "mlp-trained", "mlp-base",
    "mlp-adversary", "mlp-practised", "mlp-base-shuffled", "mlp-adversary-shuffled", "mlp-practised-shuffled",
]  # fmt: skip
ADVERSARIES: dict[Kind, str] = {
    "adversary": "training texts; epoch by the loss on dev",
    "adversary-train-loss": "training texts; epoch by the loss in training, as released",
    "adversary-cuts": "and texts cut from them; from the base model's weights",
}
"""As in the paper; as in its code; and with more texts to practise on (data/cuts.py)."""
GUIDED_BY: dict[str, Kind] = {"mlp-base": "base", "mlp-adversary": "adversary", "mlp-practised": "adversary-cuts"}
"""Whose attention an MLP is guided by; in the kinds that end so, shuffled within each text."""
SHUFFLED = "-shuffled"


class Role(NamedTuple):
    kind: Kind
    seed: int
    strength: float = 0.0
    """λ of an adversary."""

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.strength:g}-{self.seed}" if self.kind in ADVERSARIES else f"{self.kind}-{self.seed}"

    @property
    def guide(self) -> Kind | None:
        """Whose attention it is guided by."""
        return GUIDED_BY.get(self.kind.removesuffix(SHUFFLED))


class Subject(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    corpus: str
    root: str | None
    model: str = "bilstm"
    own: CorpusSettings
    settings: AttentionSettings

    @property
    def name(self) -> str:
        """Of its pieces, at the front."""
        return self.corpus if self.ours else f"{self.corpus}-encoder"

    @property
    def ours(self) -> bool:
        return self.model == "bilstm"

    def trained(self, role: Role) -> Trained:
        given, own = self.settings, self.own
        model = "mlp" if role.kind.startswith("mlp") else self.model
        options = {**given.options, "min_count": own.min_count} if self.ours else {}
        chosen: dict[str, Any] = {**default_settings(model), "seed": role.seed, "epochs": given.encoder_epochs}
        guide, corpus, vectors = None, self.open(), self.vectors
        if self.ours:
            epochs = own.adversary_epochs or given.adversary_epochs if role.kind in ADVERSARIES else given.epochs
            chosen |= {"learning_rate": given.learning_rate, "batch_size": given.batch_size, "epochs": epochs}
        if role.kind in ("uniform", "mlp-uniform"):
            options, guide = ({**options, "attention": "uniform"}, None) if self.ours else (options, "uniform")
        if role.guide:
            guide = str(self.trained(Role(role.guide, role.seed, self.strength(role.guide))).folder)
        if role.kind in ADVERSARIES:
            base, select = self.trained(Role("base", role.seed)).folder, "train_loss" if "train" in role.kind else "loss"
            chosen |= {"objective": {"adversary": 1.0}, "select": select, "patience": given.adversary_patience,
                       "options": {"adversary": {"base": str(base), "divergence": 2 * role.strength}}}  # fmt: skip
        if role.kind == "adversary-cuts":
            model, vectors, options = str(base / "model"), None, {}
            corpus = with_cuts(corpus, own.cuts, SUBSET_SEED)
            chosen |= {"warmup": given.cuts_warmup, "epochs": given.cuts_epochs}
        job = Job(data=self.corpus, model=model, vectors=vectors, options=options, guide=guide,
                  guide_shuffled=role.kind.endswith(SHUFFLED), settings=Settings(**chosen))  # fmt: skip
        return trained(job, corpus)

    def strength(self, kind: Kind) -> float:
        """λ of the adversaries that guide, or that are trained in another way than the paper's."""
        return self.settings.cuts_lambda if kind == "adversary-cuts" else self.settings.guide_lambda

    @property
    def vectors(self) -> str | None:
        given = self.settings.vectors if self.ours else None
        return given.get(self.corpus) if isinstance(given, dict) else given

    def open(self) -> Corpus:
        own = self.own
        return opened(self.corpus, self.root, own.train if self.ours else own.encoder_train, own.dev, own.test, own.longest)

    def test(self, limit: int | None = None) -> list[Example]:
        return self.open().load("test", limit, SUBSET_SEED)


class Read(NamedTuple):
    """What a model makes of the test texts: attention over their tokens (padded) and probabilities."""

    encoded: list[Encoded]
    attention: np.ndarray
    probabilities: np.ndarray


def read_model(subject: Subject, role: Role, examples: list[Example]) -> Read:
    classifier = subject.trained(role).classifier
    encoded = classifier.encode(examples)
    # a transformer with uniform attention is one on which it is imposed
    changes = [Intervention(attention=uniform(e)) if role.kind == "uniform" else UNCHANGED for e in encoded]
    requests = [Request(e, change, frozenset({"attention"})) for e, change in zip(encoded, changes, strict=True)]
    results = Runner(classifier, remembered=0).run(requests)
    weights = [on_text(r.extras["attention"], e) for e, r in zip(encoded, results, strict=True)]
    longest = max(map(len, weights))
    padded = np.stack([np.pad(several.astype(np.float64), (0, longest - len(several))) for several in weights])
    return Read(encoded, padded, np.stack([r.probabilities for r in results]))
