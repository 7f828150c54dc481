"""What the study does at each scale. Every number of a scale is here, and config.json keeps it.

What `small` costs is in docs/mpii.md.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from whence.studies.study import Scale
from whence.teach.settings import Precision


class Critic(BaseModel):
    """The discriminator behind Critic-Score."""

    model_config = ConfigDict(extra="forbid")
    model: str
    """An architecture of ours for pairs, or a pretrained encoder; "encoder": that of the study."""
    options: dict[str, Any] = {}
    with_dev: bool = False
    """The dev split, but for its last rows, joins the training part: of e-SNLI's, few sentences are there more than once."""
    train: int | None = None
    dev: int = 300
    test: int | None = None
    training: dict[str, Any] = {}


class Task(BaseModel):
    """A corpus and what is done on it."""

    model_config = ConfigDict(extra="forbid")
    template: str
    """Label first, rationale next: nli.i-or or cose.i-or."""
    tokens: Literal["treebank", "spaced"] = "treebank"
    """What BLEU, PPL and repetition count (measure/text/tokens.py)."""
    rows: dict[str, int]
    """Models (models.py), and with how many seeds each is trained."""
    train: int | None = None
    dev: int | None = None
    test: int | None = None
    longest: int | None = None
    """Examples with more words are left out."""
    held_out: int | None = None
    """The published test set has no labels: the published dev set is the test set, and so many training rows are dev."""
    nli_encoder: bool = False
    """Start from an encoder that was taught the labels of NLI."""
    writer_training: dict[str, Any] | None = None
    """Every stepwise model starts from one encoder–decoder that was first taught, with these settings, to write all of the
    corpus' training explanations (I→R); None: its decoder has never written."""
    outside: dict[str, str] = {}
    """Other corpora on which labels are predicted without training: name and split."""
    outside_count: int | None = None
    critic: Critic | None = None
    associated: int = 0
    """Test examples on which baseline and SIM are put to both association tests; 0: not done."""
    levels: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
    """σ² of the noise, in units of the variance of the model's word table."""
    draws: int = 3
    intervened: int = 0
    """Test examples on which label state and explanation are exchanged."""
    shown: int = 2
    judged: int = 0
    """Test examples whose explanations are put on the sheets for human judges."""
    options: dict[str, Any] = {}
    """Of the models on this corpus, where they differ from the study's: the base and what goes beside it."""
    early_steps: int = 0
    """Batches at the start of SIM's training in which nothing is fused yet: several times as fast (models/sim.py). No epoch of
    them is kept."""
    training: dict[str, Any] = {}


class MpiiSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    corpora: dict[str, Task]
    base: str
    """The encoder–decoder under the stepwise models: small_t5, warm, or a hub id."""
    base_options: dict[str, Any] = {}
    encoder: str | None = None
    """Folder or hub id of a BERT encoder that `warm` starts from (`--set encoder=FOLDER`)."""
    nli: str = "esnli+snli"
    """The corpus whose labels teach that encoder first."""
    nli_training: dict[str, Any] = {}
    precision: Precision = "float32"
    """Of the passes in every training that starts from that encoder (`--set precision=bfloat16`)."""
    training: dict[str, Any] = {}
    infersent: dict[str, Any] = {}
    """Sizes of e-InferSent, which has no base."""
    infersent_training: dict[str, Any] = {}
    cage: str = "small_gpt2"
    """The causal model behind both parts of CAGE."""
    cage_training: dict[str, Any] = {}
    afire_weight: float = 0.1
    """Of either regulariser; the likelihood has 1."""
    afire: dict[str, Any] = {}
    """Options of both."""
    order: int = 5
    """Of the n-gram model behind PPL."""
    texts: int | None = None
    """Training explanations from which that model, and the vectors, are learned; None: all."""
    vectors: str | None = None
    """A file of word vectors for the cosine (`--set vectors=FILE`); None: learned from the training explanations."""
    written: int | None = None
    """Test examples for which every model writes; None: all of the test part."""


def settings(scale: Scale) -> MpiiSettings:
    return {"smoke": _smoke, "small": _small, "full": _full}[scale]()


def _smoke() -> MpiiSettings:
    """The settings were chosen on dev. The model without fusion is trained on choices alone: scenes would take minutes more."""
    levels = (0.0, 0.5, 1.0, 2.0, 4.0)
    scenes = Task(
        template="nli.i-or", rows={"sim": 1}, dev=200, test=400, associated=16, levels=levels, draws=2, intervened=50, shown=2,
        judged=10, options={"base": "aligning_t5", "hidden_size": 64, "label_heads": 4, "label_from_input": False},
        early_steps=5250,
        training={"epochs": 8, "learning_rate": 1.5e-3, "options": {"label_and_text": {"first_label_weight": 1.0}}},
        critic=Critic(model="copying_t5", options={"hidden_size": 64}, train=4000, dev=150, test=500,
                      training={"epochs": 2, "learning_rate": 2e-3, "generated": None}),
    )  # fmt: skip
    esim = Critic(model="esim", options={"hidden_size": 64, "embedding_dim": 64, "dropout": 0.0}, train=3000, dev=300,
                  test=600, training={"epochs": 4, "batch_size": 64, "learning_rate": 2e-3})  # fmt: skip
    choices = Task(
        template="cose.i-or", tokens="spaced", rows={"sim": 1, "baseline": 1}, dev=200, test=400, associated=16, levels=levels,
        draws=2, intervened=50, shown=2, critic=esim, early_steps=188, training={"epochs": 12, "batch_size": 64},
    )  # fmt: skip
    return MpiiSettings(corpora={"scenes": scenes, "choices": choices}, base="small_t5", training={"generated": 100})


def _small() -> MpiiSettings:
    critic = Critic(model="encoder", with_dev=True, dev=900, test=1000,
                    training={"epochs": 1, "batch_size": 32, "learning_rate": 1e-4})  # fmt: skip
    esnli = Task(
        template="nli.i-or",
        rows={"baseline": 3, "sim": 3, "critic": 3, "backward": 3, "no_inference": 1, "no_interpretation": 1, "e_infersent": 1},
        train=4500, dev=500, test=1500, nli_encoder=True, writer_training={"generated": 200},
        outside={"mnli": "dev_matched", "sick": "test"}, outside_count=300, critic=critic, associated=30, intervened=120,
        shown=3, judged=30,
    )  # fmt: skip
    return MpiiSettings(
        corpora={"esnli": esnli}, base="warm", afire={"warmup": 100}, written=600,
        nli_training={"batch_size": 32, "learning_rate": 1e-4, "epochs": 1},
        training={"generated": 200, "learning_rate": 5e-5, "decoder_learning_rate": 3e-4, "warmup": 0.085, "epochs": 1},
    )  # fmt: skip


def _full() -> MpiiSettings:
    """The paper's own, as far as it and its code say: 6 layers of 1024 from scratch (ours have T5's form), half of the batches
    fed with the model's own words, label smoothing 0.1, a constant learning rate of 1e-4. Ours: epochs instead of 200,000
    steps, and the epoch with the lowest dev loss."""
    rows = {"baseline": 1, "sim": 1, "critic": 1, "backward": 1, "critic_hard": 1, "no_inference": 1, "no_interpretation": 1,
            "e_infersent": 1, "bart_sim": 1, "bart_critic": 1}  # fmt: skip
    critic = Critic(
        model="bert-base-uncased", with_dev=True, dev=400, training={"epochs": 3, "batch_size": 32, "learning_rate": 2e-5}
    )
    nli = Task(
        template="nli.i-or", rows=rows, outside={"mnli": "dev_matched", "sick": "test"}, critic=critic, associated=1000,
        intervened=10_000, shown=3, judged=300,
    )  # fmt: skip
    questions = Task(template="cose.i-or", tokens="spaced", rows={"cage": 1, "bart_sim": 1, "bart_critic": 1},
                     held_out=500, critic=critic, intervened=1200, shown=3, judged=300)  # fmt: skip
    return MpiiSettings(
        corpora={"esnli": nli, "cose_v1.11": questions}, base="small_t5",
        base_options={"hidden_size": 1024, "layers": 6, "dropout": 0.1, "own_words": 0.5},
        infersent={"embedding_dim": 300, "hidden_size": 2048, "decoder_size": 512, "classifier_size": 512, "dropout": 0.5},
        cage="openai-community/openai-gpt",
        cage_training={"learning_rate": 1e-6, "batch_size": 36, "epochs": 10, "warmup": 0.002, "weight_decay": 0.01,
                       "clip": 1.0},
        afire_weight=1.0, afire={"warmup": 0, "learning_rate": 1e-5, "size": 256, "layers": 3},
        training={"generated": None, "learning_rate": 1e-4, "warmup": 0.0, "epochs": 20, "batch_size": 64, "weight_decay": 0.0,
                  "options": {"label_and_text": {"label_smoothing": 0.1}}},
    )  # fmt: skip
