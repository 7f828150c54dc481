"""The pieces of the study: trainings, comparisons of attention, searches. Each is a function of JSON-able arguments.

`Subject` says what all pieces of one corpus share; a `Role` names one trained model of it. A model is looked up in the cache
and trained if it is not there, so any piece can run first, or again.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from whence.data import Corpus, Example
from whence.data.registry import open_corpus
from whence.data.words import word_spans
from whence.measure.attention_correlation import correlation_steps
from whence.measure.attention_permutation import permuted_change
from whence.measure.attention_search import search_attention
from whence.measure.divergence import jsd, tvd
from whence.models import UNCHANGED, Classifier, Encoded, Intervention
from whence.models.readout import read_out
from whence.run import Request, Runner, progress, read_json
from whence.studies.attention.cuts import with_cuts
from whence.studies.attention.settings import AttentionSettings, Plan
from whence.teach import Job, Settings, cached_job, default_settings
from whence.teach.guide import on_text, uniform

Kind = Literal["base", "uniform", "adversary", "adversary-cuts", "mlp-uniform", "mlp-trained", "mlp-base", "mlp-adversary"]
ADVERSARIES: tuple[Kind, ...] = ("adversary", "adversary-cuts")
"""As in the paper; and with more texts to practise on (cuts.py), from the base model's weights."""
SUBSET_SEED = 0
"""Every model of a corpus learns from the same examples, whatever its own seed."""


class Role(NamedTuple):
    kind: Kind
    seed: int
    strength: float = 0.0
    """λ of an adversary."""

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.strength:g}-{self.seed}" if self.kind in ADVERSARIES else f"{self.kind}-{self.seed}"


class Subject(BaseModel):
    """One corpus and one family of models on it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    corpus: str
    root: str | None
    model: str = "bilstm"
    plan: Plan
    settings: AttentionSettings

    def folder(self, role: Role) -> Path:
        """The run folder of a trained model; trained now if need be."""
        ours = self.model == "bilstm"
        model = "mlp" if role.kind.startswith("mlp") else self.model
        options = dict(self.settings.options) if ours else {}
        chosen: dict[str, Any] = {**default_settings(model), "seed": role.seed, "epochs": self._epochs(role)}
        guide, corpus = None, self.open()
        if ours:
            chosen |= {"learning_rate": self.settings.learning_rate, "batch_size": self.settings.batch_size}
            options["min_count"] = self.plan.min_count
            if role.kind in ("uniform", "mlp-uniform"):
                options["attention"] = "uniform"
        elif role.kind == "uniform":
            guide = "uniform"
        if role.kind in ("mlp-base", "mlp-adversary"):
            whose: Kind = "base" if role.kind == "mlp-base" else "adversary"
            guide = str(self.folder(Role(whose, role.seed, self.settings.guide_lambda)))
        if role.kind in ADVERSARIES:
            base = str(self.folder(Role("base", role.seed)))
            chosen |= {"objective": {"adversary": 1.0}, "select": "loss", "patience": self.settings.adversary_patience,
                       "options": {"adversary": {"base": base, "divergence": 2 * role.strength}}}  # fmt: skip
        vectors = self.settings.vectors if ours else None
        if role.kind == "adversary-cuts":
            model, vectors, options = str(Path(base) / "model"), None, {}
            corpus = with_cuts(corpus, self.plan.cuts, SUBSET_SEED)
            chosen["warmup"] = self.settings.cuts_warmup
        job = Job(data=self.corpus, model=model, vectors=vectors, options=options, guide=guide, settings=Settings(**chosen))
        return cached_job(job, corpus, _quiet)

    def _epochs(self, role: Role) -> int:
        if self.model != "bilstm":
            return self.settings.encoder_epochs
        if role.kind == "adversary-cuts":
            return self.settings.cuts_epochs
        return self.settings.adversary_epochs if role.kind == "adversary" else self.settings.epochs

    def open(self) -> Corpus:
        train = self.plan.encoder_train if self.model != "bilstm" else self.plan.train
        limits = {"train": train, "dev": self.plan.dev, "test": self.plan.test}
        return _trimmed(self.corpus, self.root, tuple(limits.items()), self.plan.longest)

    def test(self, limit: int | None = None) -> list[Example]:
        return self.open().load("test", limit, SUBSET_SEED)


@lru_cache(maxsize=4)
def _trimmed(name: str, root: str | None, limits: tuple[tuple[str, int | None], ...], longest: int | None) -> Corpus:
    return open_corpus(name, Path(root) if root else None).part(dict(limits), SUBSET_SEED, longest)


class Read(NamedTuple):
    """What a model makes of the test texts: attention over their tokens (padded) and probabilities."""

    encoded: list[Encoded]
    attention: np.ndarray
    probabilities: np.ndarray


def read_model(subject: Subject, role: Role, examples: list[Example]) -> Read:
    classifier = Classifier.load(subject.folder(role))
    encoded = classifier.encode(examples)
    # a transformer with uniform attention is one on which it is imposed
    changes = [Intervention(attention=uniform(e)) if role.kind == "uniform" else UNCHANGED for e in encoded]
    requests = [Request(e, change, frozenset({"attention"})) for e, change in zip(encoded, changes, strict=True)]
    results = Runner(classifier, remembered=0).run(requests)
    weights = [on_text(r.extras["attention"], e) for e, r in zip(encoded, results, strict=True)]
    return Read(encoded, _padded(weights), np.stack([r.probabilities for r in results]))


def scores(subject: Subject, role: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Train, and how well it predicts: F1 of the positive class on test."""
    found = read_json(subject.folder(Role(*role)) / "results.json")
    f1 = found["test"]["f1"]
    return [{"f1": f1[list(f1)[-1]], "accuracy": found["test"]["accuracy"], "macro_f1": found["test"]["macro_f1"],
             "best_epoch": found["best_epoch"], "epochs": len(found["history"]), "seconds": found["seconds"]}]  # fmt: skip


def compare(subject: Subject, base: tuple[Any, ...], others: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """JSD of attention and TVD of predictions between a base model and others, for every test text; one row for each other."""
    examples = subject.test()
    one = read_model(subject, Role(*base), examples)
    about = {"label": [e.label for e in examples], "predicted": one.probabilities.argmax(1).tolist(),
             "max_attention": one.attention.max(1).tolist()}  # fmt: skip
    rows = []
    for role in others:
        other = read_model(subject, Role(*role), examples)
        rows.append({"role": Role(*role).name, "jsd": jsd(one.attention, other.attention).tolist(),
                     "tvd": tvd(one.probabilities, other.probabilities).tolist(), **about})  # fmt: skip
    return rows


def search(subject: Subject, seed: int) -> list[dict[str, Any]]:
    """Jain & Wallace's search and permutations on the base model: one row with a value for each text."""
    examples = subject.test(subject.plan.searched)
    classifier = Classifier.load(subject.folder(Role("base", seed)))
    readout, ids = read_out(classifier, classifier.encode(examples)), [e.id for e in examples]
    with progress("searching", len(ids)) as tick:
        found = search_attention(readout, ids, seed, subject.settings.candidates, subject.settings.search_steps, tick=tick)
    moved = permuted_change(readout, ids, seed, subject.settings.permutations)
    predicted = readout.probabilities(readout.attention).argmax(1)
    largest = readout.attention.amax(1).tolist()
    return [{"label": [e.label for e in examples], "predicted": predicted.tolist(), "max_attention": largest,
             "jsd": found.jsd.tolist(), "tvd": found.tvd.tolist(), "permuted": moved.tolist()}]  # fmt: skip


def correlate(subject: Subject, seed: int) -> list[dict[str, Any]]:
    """Rank correlations of attention, gradients and leave-one-out: one row for each text; NaN where not defined."""
    examples = subject.test(subject.plan.correlated)
    classifier = Classifier.load(subject.folder(Role("base", seed)))
    runner = Runner(classifier, token_budget=8192)
    with progress("correlating", len(examples)) as tick:
        found = runner.drive([correlation_steps(e) for e in classifier.encode(examples)], tick)
    rows = []
    for one in found:
        row: dict[str, Any] = {"predicted": classifier.labels[one.predicted]}
        for couple in ("attention_gradient", "attention_leave_one_out", "gradient_leave_one_out"):
            row[f"{couple}_tau"], row[f"{couple}_p"] = getattr(one, couple) or (float("nan"), float("nan"))
        rows.append(row)
    return rows


def planted_mass(subject: Subject, roles: list[tuple[Any, ...]], seed: int) -> list[dict[str, Any]]:
    """How much attention the words get that are the reason, under each model and under the per-instance adversary."""
    examples = [e for e in subject.test(subject.plan.searched) if e.highlights]
    rows = []
    for role in roles:
        read = read_model(subject, Role(*role), examples)
        rows.append({"role": Role(*role).name, "mass": _mass(read.encoded, read.attention)})
    if subject.model == "bilstm":
        classifier = Classifier.load(subject.folder(Role("base", seed)))
        encoded = classifier.encode(examples)
        found = search_attention(read_out(classifier, encoded), [e.id for e in examples], seed, subject.settings.candidates,
                                 subject.settings.search_steps)  # fmt: skip
        rows.append({"role": "search", "mass": _mass(encoded, found.attention)})
    return rows


def picture(subject: Subject, seed: int, strength: float) -> list[dict[str, Any]]:
    """One text under base, trained adversary and per-instance adversary: the first that all three read alike, and rightly.

    Of middling length, and such that the search moved its attention far: the case that the two papers argue about.
    """
    examples = [e for e in subject.test(subject.plan.searched) if 8 <= len(word_spans(e.texts["text"])) <= 40]
    base = read_model(subject, Role("base", seed), examples)
    trained = read_model(subject, Role("adversary", seed, strength), examples)
    classifier = Classifier.load(subject.folder(Role("base", seed)))
    found = search_attention(read_out(classifier, base.encoded), [e.id for e in examples], seed, subject.settings.candidates,
                             subject.settings.search_steps)  # fmt: skip
    right = [classifier.labels[p] == e.label for p, e in zip(base.probabilities.argmax(1), examples, strict=True)]
    alike = tvd(base.probabilities, trained.probabilities) < 0.05
    far = found.jsd + jsd(base.attention, trained.attention) / 2
    best = int(np.argmax(np.where(np.array(right) & alike, far, -1.0)))
    encoded = base.encoded[best]
    weights = {"base": base.attention[best], "search": found.attention[best], "adversary": trained.attention[best]}
    gold = encoded.example.highlighted_words("text").tolist() if encoded.example.highlights else None
    return [
        {"role": name, "words": encoded.words, "gold": gold, "label": encoded.example.label,
         "weights": encoded.sum_to_words(w[: len(encoded)]).tolist()}
        for name, w in weights.items()
    ]  # fmt: skip


def _mass(encoded: list[Encoded], attention: np.ndarray) -> list[float]:
    return [
        float(e.sum_to_words(row[: len(e)])[e.example.highlighted_words("text")].sum())
        for e, row in zip(encoded, attention, strict=True)
    ]


def _padded(weights: list[np.ndarray]) -> np.ndarray:
    out = np.zeros((len(weights), max(map(len, weights))))
    for row, values in zip(out, weights, strict=True):
        row[: len(values)] = values
    return out


def _quiet(_: str) -> None:
    return None
