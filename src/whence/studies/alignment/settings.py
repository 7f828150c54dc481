"""What the study does at each scale. Every number of a scale is here, and config.json keeps it."""

from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict

from whence.studies.study import Scale

METHODS = (
    "arec", "co_attention", "leave_one_out", "back_select", "lime", "gradient", "integrated_gradients", "diffmask", "random",
)  # fmt: skip
"""AREC first: the rationales of the others are induced at its fidelity."""

ABLATIONS: dict[str, dict[str, Any]] = {
    "the paper's mask, 1[log α > 0]": {"end": "relaxation"},
    "descent from the relaxation": {"starts": "relaxation"},
    "descent from co-attention": {"starts": "co_attention"},
    "descent from random": {"starts": "random"},
}

ROLE_CORPUS = "hans"
PAIRED_CORPORA = ("breaking_nli", "scenes")
"""Corpora that know the one phrase pair on which the label turns."""


class Target(BaseModel):
    """A model that is explained: how it is trained and how many test pairs of each corpus it is explained on."""

    model_config = ConfigDict(extra="forbid")
    title: str
    architecture: str | None
    """An architecture of ours; None: the transformer of the setting `model`."""
    options: dict[str, Any] = {}
    training: dict[str, Any] = {}
    pairs: int
    shard: int
    """Pairs in one piece of work."""
    fewer: dict[str, int] = {}
    """Methods that are tried on fewer pairs, because they cost too much."""
    parameters: dict[str, dict[str, Any]] = {}
    """Of methods, where this model's differ from those of the others."""
    gate_pairs: int | None = None
    """Training pairs of DiffMask's gate; None: all."""
    role_pairs: int | None = None
    """Pairs of HANS for accuracy with and without role masks; None: all 30,000."""

    @property
    def needs_known_pairs(self) -> bool:
        """Taught to decide by the known word pairs: only of such a model is it certain what a faithful mask must hold."""
        return "known_alignment" in self.training.get("objective", {})


class AlignmentSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    train: str
    """The corpus that models are trained on; `a+b` is two of them joined."""
    corpora: tuple[str, ...]
    targets: dict[str, Target]
    methods: tuple[str, ...] = METHODS
    parameters: dict[str, dict[str, Any]] = {}
    """Of methods, where they differ from the defaults."""
    model: str | None = None
    """Folder or hub id of a transformer that MiniLM's part of the study starts from (`--set model=FOLDER`)."""
    vectors: str | None = None
    """A file of word vectors (`--set vectors=FILE`)."""
    ablations: dict[str, dict[str, Any]] = ABLATIONS
    """AREC with parts of its search left out: title → parameters."""
    ablated: int = 60
    """Pairs of each corpus for them."""
    drawn: int = 2
    """Pairs of each label that are drawn."""
    judged: int = 0
    """Pairs for each model on the sheets for human judges (of HANS: of each subcase, a thirtieth of it)."""


_WORDS = {"more_words": 50_000, "train_embeddings": False}
"""Words of the vectors' file that training does not show keep their vectors: HANS has many of them."""


def settings(scale: Scale) -> AlignmentSettings:
    if scale == "smoke":
        training: dict[str, Any] = {"batch_size": 64, "learning_rate": 2e-3, "epochs": 3}
        esim = Target(
            title="ESIM", architecture="esim", options={"hidden_size": 64, "embedding_dim": 64, "dropout": 0.1},
            training=training, pairs=60, shard=60, fewer={"back_select": 6}, gate_pairs=1000,
        )  # fmt: skip
        taught = {**training, "objective": {"cross_entropy": 1.0, "known_alignment": 1.0}, "select": "loss"}
        needs = esim.model_copy(
            update={"title": "ESIM that needs the pair", "training": taught, "pairs": 150, "shard": 75,
                    "fewer": {"back_select": 15}}
        )  # fmt: skip
        targets = {"needs": needs, "esim": esim}
        return AlignmentSettings(train="scenes", corpora=("scenes",), targets=targets, drawn=1, judged=6, ablated=30)
    ours = partial(Target, training={"batch_size": 64, "learning_rate": 1.5e-3, "warmup": 0.05, "epochs": 8}, pairs=300,
                   gate_pairs=5000)  # fmt: skip
    unit = {**_WORDS, "unit_vectors": True, "dropout": 0.1}
    da = ours(title="Decomposable Attention", architecture="decomposable", options=unit, shard=100)
    esim = ours(title="ESIM", architecture="esim", options={**_WORDS, "hidden_size": 64, "dropout": 0.3}, shard=50)
    minilm = Target(
        title="MiniLM", architecture=None, training={"batch_size": 32, "learning_rate": 1e-4, "epochs": 1}, pairs=60, shard=20,
        fewer={"back_select": 2}, parameters={"lime": {"n_samples": 300}}, gate_pairs=1500, role_pairs=3000,
    )  # fmt: skip
    small = AlignmentSettings(
        train="esnli+snli", corpora=("esnli", "breaking_nli", "hans"), targets={"da": da, "esim": esim, "minilm": minilm},
        judged=30,
    )  # fmt: skip
    if scale == "small":
        return small
    whole_sets = {"pairs": 9824, "shard": 500, "fewer": {}, "parameters": {}, "gate_pairs": None, "role_pairs": None}
    others: dict[str, dict[str, Any]] = {
        "da": {}, "esim": {"options": {"hidden_size": 300, "dropout": 0.5}},
        "minilm": {"title": "BERT", "training": {"batch_size": 32, "learning_rate": 2e-5, "epochs": 3}},
    }  # fmt: skip
    targets = {name: target.model_copy(update=whole_sets | others[name]) for name, target in small.targets.items()}
    return small.model_copy(update={"targets": targets, "model": "bert-base-uncased", "judged": 300, "ablated": 500})
