"""What the study does at each scale. Every number of a scale is here, and config.json keeps it."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from whence.studies.study import Scale
from whence.teach.settings import Precision

VARIANTS = ("i-or", "ir-o", "i-o", "r-o", "i-r")
"""I the input, R the rationale, O the label; named as the templates are (data/template/known.py)."""


class Noise(BaseModel):
    """Robustness equivalence."""

    model_config = ConfigDict(extra="forbid")
    examples: int
    draws: int = 3
    levels: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    """σ², rising from 0, in units of the variance of the model's word table: tables differ a thousandfold."""
    absolute: bool = False
    """The levels are σ² itself, as in the paper."""
    longest: int = 200
    """Tokens of an output. Under much noise most outputs run to this limit."""


class Roar(BaseModel):
    """Occlude, retrain, measure."""

    model_config = ConfigDict(extra="forbid")
    train: int | None
    dev: int | None
    test: int | None
    percents: tuple[float, ...] = (10, 20, 30)
    methods: tuple[str, ...] = ()
    """Further rankings of words, by explainers of the label (Figure 11); each is retrained as often as the others."""
    training: dict[str, Any] = {}
    """Where a retraining differs from the training of the variants."""


class Task(BaseModel):
    """A corpus and what is done on it."""

    model_config = ConfigDict(extra="forbid")
    templates: str
    """nli or cose: templates NAME.i-or, NAME.i-r and so on."""
    train: int | None = None
    dev: int | None = None
    test: int | None = None
    held_out: int | None = None
    """The published test set has no labels: the published dev set is the test set, and so many training rows are dev."""
    longest: int | None = None
    """Examples with more words are left out."""
    nli_encoder: bool = False
    """Start from an encoder that was taught the labels of NLI, as T5's own pre-training was."""
    joint_seeds: int = 1
    """I→OR models that differ in their seed alone; with several, each lends its rationales to the label of another."""
    constant: bool = False
    """Also an I→OR model that learns the same sentence as the rationale of every example."""
    importance: int = 100
    """Test examples whose words are scored."""
    noise: Noise
    roar: Roar | None = None
    training: dict[str, Any] = {}
    of_variant: dict[str, dict[str, Any]] = {}
    """Where the training of one variant differs."""


class AssociationSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    corpora: dict[str, Task]
    architecture: str
    encoder: str | None = None
    """Folder or hub id of a BERT encoder that `warm` starts from (`--set encoder=FOLDER`)."""
    nli: str = "esnli+snli"
    """The corpus whose labels teach the encoder first."""
    nli_training: dict[str, Any] = {}
    precision: Precision = "float32"
    """Of the passes in every training that starts from that encoder (`--set precision=bfloat16`)."""
    training: dict[str, Any] = {}
    options: dict[str, Any] = {}
    """Of the architecture."""
    shown: int = 20
    """Generations that the report shows: the first of the test part, chosen by nobody."""
    shown_noised: int = 3
    """Examples whose outputs are shown at every noise level (the paper's Tables 6 and 11 to 13)."""


def settings(scale: Scale) -> AssociationSettings:
    return {"smoke": _smoke, "small": _small, "full": _full}[scale]()


def _smoke() -> AssociationSettings:
    noise = Noise(examples=40, levels=(0.0, 0.5, 1.0, 2.0, 4.0, 8.0), longest=24)
    easy: dict[str, dict[str, Any]] = {"r-o": {"epochs": 1}, "ir-o": {"epochs": 2}}
    scenes = Task(
        templates="nli", longest=20, dev=100, test=300, importance=40, noise=noise, training={"epochs": 4}, of_variant=easy,
    )  # fmt: skip
    roar = Roar(train=4000, dev=50, test=200, percents=(20,), methods=("input_x_gradient",))
    choices = Task(
        templates="cose", dev=100, test=600, joint_seeds=3, constant=True, importance=40, noise=noise, roar=roar,
        training={"epochs": 4}, of_variant=easy,
    )  # fmt: skip
    return AssociationSettings(
        corpora={"choices": choices, "scenes": scenes}, architecture="small_t5", options={"hidden_size": 64},
        training={"generated": None}, shown=6, shown_noised=2,
    )  # fmt: skip


def _small() -> AssociationSettings:
    """Two hours of training on one core, most of it the five models of e-SNLI; ROAR is about 25 minutes of it."""
    noise = Noise(examples=200, longest=60)
    esnli = Task(
        templates="nli", dev=1000, test=2000, nli_encoder=True, noise=noise,
        roar=Roar(train=1500, dev=100, test=300, training={"epochs": 1}),
    )  # fmt: skip
    cose = Task(templates="cose", held_out=500, noise=noise.model_copy(update={"examples": 100}), importance=60)
    return AssociationSettings(
        corpora={"esnli": esnli, "cose_v1.0": cose, "cose_v1.11": cose}, architecture="warm",
        nli_training={"batch_size": 32, "learning_rate": 1e-4, "epochs": 1}, training={"generated": 2000},
    )  # fmt: skip


def _full() -> AssociationSettings:
    """The paper's own. Ours: the epoch is chosen on training rows of CoS-E that were held out, not on what is tested; AdamW has
    β2 = 0.999, as the released code; one warm-up step, because without any our learning rate does not fall."""
    noise = Noise(examples=10_000, levels=(0, 5, 10, 15, 20, 25, 30, 35), absolute=True)
    whole = Roar(train=None, dev=None, test=None, methods=("gradient_sum", "input_x_gradient"))
    esnli = Task(templates="nli", importance=1000, noise=noise, roar=whole)
    cose = Task(templates="cose", held_out=500, importance=1000, noise=noise, roar=whole)
    training = {
        "learning_rate": 5e-5, "warmup": 1e-6, "batch_size": 64, "epochs": 200, "patience": 10, "weight_decay": 0.0,
        "clip": 1.0, "generated": None,
    }  # fmt: skip
    return AssociationSettings(
        corpora={"esnli": esnli, "cose_v1.0": cose, "cose_v1.11": cose}, architecture="t5-base", training=training,
        shown_noised=4,
    )  # fmt: skip
