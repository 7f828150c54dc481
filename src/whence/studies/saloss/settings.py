"""Every number of the study, at three scales. docs/saloss.md counts what `small` costs."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from whence.measure.fresh import How
from whence.models import Hide
from whence.studies.study import Scale
from whence.teach.settings import Precision


class SalossSettings(BaseModel):
    """Mappings are by corpus; a corpus that is not in one has the paper's usual value, as said there."""

    model_config = ConfigDict(extra="forbid")
    corpora: list[str]
    model: str
    """A hub id, a folder, or an architecture of ours."""
    models: dict[str, str] = {}
    """Corpora with a model of their own."""
    architecture: dict[str, int] = {}
    """Sizes of a model from scratch."""
    train: dict[str, int | None]
    """How many training texts, drawn once for all seeds; None is all."""
    dev: dict[str, int | None]
    test: dict[str, int | None]
    """How many texts F1 is computed on."""
    epochs: dict[str, int]
    batch_size: dict[str, int]
    learning_rate: dict[str, float]
    warmup: float = 0.1
    """Share of steps; afterwards the rate falls linearly."""
    precision: Precision = "float32"
    """Of the passes in every training (`--set precision=bfloat16`)."""
    seeds: dict[str, int]
    """How many trainings of the baseline and of SaLoss with TextRank; other priors are trained once."""
    weights: list[float]
    """λ is chosen among these on dev, by decision flip of α, where `weight` does not name it."""
    weight: dict[str, float]
    select_on: int
    """Dev texts on which λ is chosen."""
    stronger: list[float] = []
    """Further λ, trained and shown but never chosen."""
    priors: dict[str, list[str]]
    """Priors besides TextRank (Table 8, and the uniform row of Tables 3 and 7)."""
    released: dict[str, int]
    """Corpora on which the released code's variant is trained too, at the λ of its configuration (Table 1's), with and without
    salience; and its batch size, on which its loss depends: a squared sum over the batch."""
    curves: dict[str, list[str]] = {}
    """Priors whose λ curve is drawn, each λ of `curve_weights` with all seeds: α on `curve_on` test texts."""
    curve_weights: list[float] = []
    curve_train: int | None = None
    """Training texts of these models and of the baselines beside them; None: as many as for the others."""
    curve_on: int = 500
    share_on: int = 8
    """Batches on which the term's share of the gradient is measured."""
    erased: dict[str, int]
    """Test texts whose words are hidden."""
    erased_others: dict[str, int]
    """The same for priors besides TextRank, the released variant and stronger λ."""
    hide: Hide
    ig_steps: int
    fresh: dict[str, list[How]]
    ratio: dict[str, float]
    fresh_epochs: int
    fresh_seeds: int
    tagger: str | None
    """ "nltk", the name of a spaCy pipeline, or None for no part-of-speech analysis."""
    tagged: dict[str, int]
    """Test texts whose words are tagged."""
    shown: dict[str, int]
    """Test texts shown with both models' rationales."""


PAPER_CORPORA = ["sst", "ag_news", "evidence_inference", "multirc", "semeval"]
_RATIO = {"sst": 0.2, "ag_news": 0.2, "evidence_inference": 0.1, "multirc": 0.2, "semeval": 0.2}


def everywhere(value: Any) -> dict[str, Any]:
    return dict.fromkeys(PAPER_CORPORA, value)


def settings(scale: Scale) -> SalossSettings:
    return {"smoke": _smoke, "small": _small, "full": _full}[scale]()


def _smoke() -> SalossSettings:
    """A BiLSTM, whose α is that of its one layer: in this time a transformer from scratch learns too little."""
    only = "reviews"
    return SalossSettings(
        corpora=[only], model="bilstm", architecture={"hidden_size": 64, "embedding_dim": 64}, train={only: 4000},
        dev={only: 200}, test={only: 500}, epochs={only: 4}, batch_size={only: 64}, learning_rate={only: 3e-3},
        seeds={only: 2}, weights=[],
        weight={only: 0.01}, select_on=100, priors={only: ["planted", "uniform"]}, released={}, erased={only: 150},
        erased_others={only: 150}, curves={only: ["textrank", "planted", "leave_one_out"]}, curve_weights=[0.01, 0.1],
        curve_on=150, hide="delete", ig_steps=10, fresh={only: ["topk"]}, ratio={only: 0.2}, fresh_epochs=1, fresh_seeds=1,
        tagger=None, tagged={}, shown={only: 2},
    )  # fmt: skip


def _small() -> SalossSettings:
    def long(count: int) -> dict[str, int]:
        return {"evidence_inference": count, "multirc": count}

    return SalossSettings(
        corpora=["sst", "ag_news", "semeval", "multirc", "evidence_inference"],
        model="sentence-transformers/all-MiniLM-L6-v2",
        train={"sst": None, "ag_news": 1500, "semeval": 3000, **long(100)},
        dev={"sst": None, "ag_news": 500, "semeval": 500, **long(40)},
        test={"sst": None, "ag_news": 1000, "semeval": 1000, **long(60)},
        epochs={"sst": 2, "ag_news": 2, "semeval": 2, "evidence_inference": 1, "multirc": 1},
        batch_size={"sst": 32, "ag_news": 32, "semeval": 32, "evidence_inference": 8, "multirc": 8},
        learning_rate=everywhere(5e-5),
        seeds={"sst": 3, "ag_news": 1, "semeval": 1, "evidence_inference": 1, "multirc": 1},
        weights=[1e-2, 1e-3, 1e-4],
        weight={"ag_news": 1e-4, "semeval": 1e-3, "multirc": 1e-3, "evidence_inference": 1e-4},
        select_on=300, stronger=[1.0],
        priors={"sst": ["uniform", "tfidf", "chi2"]}, released={"sst": 8},
        erased={"sst": 500, "ag_news": 30, "semeval": 50, **long(4)},
        erased_others={"sst": 50}, hide="delete", ig_steps=20, curve_on=200, curve_train=1000,
        curves={"sst": ["textrank", "textrank_filtered", "leave_one_out"]}, curve_weights=[1e-2, 0.1, 1.0],
        fresh={"sst": ["topk", "contiguous"]}, ratio=_RATIO, fresh_epochs=1, fresh_seeds=1,
        tagger="nltk", tagged={"sst": 500, "ag_news": 100}, shown={"sst": 2, "ag_news": 1, "evidence_inference": 1},
    )  # fmt: skip


def _full() -> SalossSettings:
    """The paper's own. Two things of it are not settings of our training: the classifier's own, higher learning rate (1e-4 or
    2e-4) and five checks of the dev loss in each epoch (ours: one)."""
    batches = {"sst": 8, "ag_news": 4, "evidence_inference": 4, "multirc": 4, "semeval": 8}
    erased = {**everywhere(10_000), "semeval": 20_632}
    return SalossSettings(
        corpora=PAPER_CORPORA,
        model="bert-base-uncased",
        models={"evidence_inference": "allenai/scibert_scivocab_uncased", "multirc": "roberta-base"},
        train=everywhere(None), dev=everywhere(None), test=everywhere(None),
        epochs={**everywhere(10), "semeval": 20}, batch_size=batches,
        learning_rate={"sst": 1e-5, "ag_news": 1e-5, "evidence_inference": 5e-6, "multirc": 2e-6, "semeval": 1e-5},
        warmup=0.001, seeds=everywhere(3), weights=[1e-2, 1e-3, 1e-4], weight={}, select_on=1000, stronger=[],
        priors=everywhere(["uniform", "tfidf", "chi2"]), released=batches, erased=erased, erased_others=erased,
        hide="delete", ig_steps=20, curve_on=2000, curve_weights=[1e-4, 1e-3, 1e-2, 0.1, 1.0],
        curves=everywhere(["textrank", "textrank_filtered", "tfidf", "chi2", "attention_gradient", "leave_one_out"]),
        fresh=everywhere(["topk", "contiguous"]), ratio=_RATIO, fresh_epochs=5, fresh_seeds=3,
        tagger="nltk", tagged={"sst": 1821, "ag_news": 7600, "evidence_inference": 250},
        shown={"sst": 2, "ag_news": 1, "evidence_inference": 1},
    )  # fmt: skip
