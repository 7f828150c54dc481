"""What the study does at each scale. Every number of a scale is here, and config.json keeps it.

λ is the paper's: its released code trains on ½|Δp| − λ·KL, half of our TVD − 2λ·KL, so `adversary.divergence` is 2λ.
"""

from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict

from whence.studies.kit.corpora import TITLES
from whence.studies.kit.paper import read_paper
from whence.studies.study import Scale

PAPER = read_paper(__package__)


class CorpusSettings(BaseModel):
    """One corpus. None: all of it."""

    model_config = ConfigDict(extra="forbid")
    train: int | None = None
    dev: int | None = None
    test: int | None = None
    longest: int | None = None
    """Texts of more words are left out of every split."""
    min_count: int = 1
    seeds: int = 3
    """Base models; the first is "the" base, the others show how much a seed changes."""
    repeats: int = 3
    """Seeds of the tests: uniform, guides and adversaries, each beside the base model of its seed."""
    lambdas: tuple[float, ...] = ()
    cuts: int = 0
    """New texts cut from each training text, for one more adversary at `cuts_lambda`; 0: no such adversary."""
    adversary_epochs: int | None = None
    """Where they are other than those of the study."""
    by_train_loss: bool = False
    """One more adversary at `guide_lambda`, whose epoch is chosen by the loss in training, as in the released code."""
    guides: bool = True
    leaks: int = 0
    """Seeds of the control: guides whose weights are shuffled within each text."""
    searched: int | None = None
    """Test texts for Jain & Wallace's search and permutations."""
    correlated: int | None = None
    """Test texts for their correlations (leave-one-out costs a pass for each word)."""
    encoder_train: int | None = None
    encoder_lambdas: tuple[float, ...] = ()


class AttentionSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    corpora: dict[str, CorpusSettings]
    vectors: str | dict[str, str] | None = None
    """A file of word vectors to start from (`--set vectors=FILE`), or one for each corpus (`--set 'vectors={"sst": "FILE"}'`).
    The paper's: fastText's of Simple Wikipedia (300 dimensions), and for MIMIC vectors learned on it."""
    options: dict[str, Any] = {}
    """Of the BiLSTM and MLP."""
    learning_rate: float = 1e-3
    batch_size: int = 32
    epochs: int = 8
    adversary_epochs: int = 80
    adversary_patience: int = 10
    cuts_epochs: int = 6
    """Of the adversary that practises on cut texts, too; an epoch is `cuts` + 1 times as long."""
    cuts_lambda: float = 0.01
    cuts_warmup: float = 0.05
    """Its learning rate rises and then falls: it starts from a trained model."""
    guide_lambda: float = 0.001
    """The adversary whose attention guides the MLP."""
    candidates: int = 5
    search_steps: int = 500
    permutations: int = 100
    encoder: str | None = None
    """A transformer for the same tests: "encoder" (small, from scratch), a hub id or a folder (`--set encoder=FOLDER`)."""
    encoder_epochs: int = 3


def settings(scale: Scale) -> AttentionSettings:
    if scale == "smoke":
        reviews = CorpusSettings(train=4000, dev=400, test=400, repeats=1, lambdas=(0.0, 1e-3, 1e-2), correlated=100, leaks=3,
                                 by_train_loss=True, cuts=2)  # fmt: skip
        return AttentionSettings(
            corpora={"reviews": reviews}, options={"embedding_dim": 64, "hidden_size": 64}, learning_rate=3e-3, batch_size=64,
            epochs=5, adversary_epochs=6, adversary_patience=3, cuts_epochs=3,
        )  # fmt: skip
    if scale == "small":
        some = partial(CorpusSettings, seeds=1, repeats=1, guides=False)
        return AttentionSettings(
            corpora={
                "sst": CorpusSettings(seeds=5, lambdas=(0.0, 1e-3, 3e-3, 1e-2), cuts=8, leaks=3, by_train_loss=True,
                                      correlated=500, encoder_train=3000, encoder_lambdas=(1e-2,)),
                "imdb": some(train=6000, dev=800, test=2000, longest=400, min_count=3, searched=500, correlated=50, seeds=3,
                             lambdas=(1e-2,), adversary_epochs=8),
                "ag_news_wb": some(train=6000, dev=1000, test=2000, min_count=2, searched=500, correlated=200),
                "newsgroups": some(longest=500, min_count=2, searched=300, correlated=50),
            },
            adversary_epochs=20, adversary_patience=5, guide_lambda=1e-2, encoder="encoder", encoder_epochs=2,
        )  # fmt: skip
    # λ: every one of Table 5; the paper leaves the two news corpora after Table 2
    published = {
        name: partial(CorpusSettings, seeds=9, lambdas=tuple(PAPER["table_5"][TITLES[name]]), encoder_lambdas=(0.0, 1e-3, 1e-2),
                      leaks=3, by_train_loss=True, adversary_epochs=80 if name == "sst" else 40)
        for name in ("sst", "imdb", "mimic_diabetes", "mimic_anemia")
    }  # fmt: skip
    news = partial(CorpusSettings, seeds=9, guides=False)
    return AttentionSettings(
        corpora={
            "sst": published["sst"](cuts=8),
            "imdb": published["imdb"](longest=400, min_count=10),
            "ag_news_wb": news(min_count=5),
            "newsgroups": news(longest=500, min_count=2),
            "mimic_diabetes": published["mimic_diabetes"](longest=4000, min_count=5),
            "mimic_anemia": published["mimic_anemia"](longest=4000, min_count=5),
        },
        options={"embedding_dim": 300},
        encoder="bert-base-uncased",
    )
