"""The models of the study: stepwise ones with and without their parts, the baselines, and the critic that scores them all."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from whence.data import Corpus, Example
from whence.data.mismatched import LABELS, with_mismatches
from whence.errors import BadInput
from whence.models import TorchPort, load_port
from whence.models.generator import Generator
from whence.models.sim_build import INFERSENT, OWN, SIM
from whence.models.text_models import BUILDERS
from whence.studies.kit.corpora import SUBSET_SEED, held_out_dev, opened
from whence.studies.kit.models import Trained, taught_encoder, trained
from whence.studies.mpii.settings import MpiiSettings, Task
from whence.teach import Job, Settings, default_settings

CAGE = "cage"
"""Not one model but two that write: one explains, the other reads the explanation and names a label."""
CRITIC_TEMPLATE = "nli.i-o"
"""How a critic that writes reads a triple."""


class Kind(NamedTuple):
    """A row of the paper's tables."""

    title: str
    options: Mapping[str, Any] = MappingProxyType({})
    """Of the stepwise model; one that names a base is built without the study's own."""
    regulariser: str = ""
    """An objective beside the likelihood, with the study's weight."""
    straight_through: bool = False
    model: str = SIM


ROWS: dict[str, Kind] = {
    "baseline": Kind("no fusion", {"label_to_text": False, "text_to_label": False}),
    "sim": Kind("SIM"),
    "critic": Kind("SIM + AFiRe (critic)", regulariser="critic"),
    "critic_hard": Kind("SIM + AFiRe (critic, one-hot)", regulariser="critic", straight_through=True),
    "backward": Kind("SIM + AFiRe (backward)", regulariser="backward"),
    "no_inference": Kind("SIM without inference", {"label_to_text": False}),
    "no_interpretation": Kind("SIM without interpretation", {"text_to_label": False}),
    "e_infersent": Kind("e-InferSent", model=INFERSENT),
    "cage": Kind("CAGE (explain, then predict)", model=CAGE),
    "bart_sim": Kind("SIM from BART", {"base": "facebook/bart-large"}),
    "bart_critic": Kind("SIM from BART + AFiRe (critic)", {"base": "facebook/bart-large"}, "critic"),
}
PEOPLE = "people"


def title(row: str) -> str:
    return PEOPLE if row == PEOPLE else ROWS[row].title


class Subject(BaseModel):
    """One model of the study and what is needed to have it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    corpus: str
    row: str
    settings: MpiiSettings
    root: str | None
    seed: int

    @property
    def task(self) -> Task:
        return self.settings.corpora[self.corpus]

    @property
    def name(self) -> str:
        return f"{self.corpus}-{self.row}-seed{self.seed}"

    def data(self) -> Corpus:
        task = self.task
        return _part(self.corpus, self.root, task.held_out, task.longest, task.train, task.dev, task.test)

    def whole(self) -> Corpus:
        """All of the corpus, also where models learn from a part."""
        return _part(self.corpus, self.root, self.task.held_out, self.task.longest)

    def tested(self) -> list[Example]:
        """Test examples with an explanation, the same for every model."""
        told = [example for example in self.data().load("test") if example.explanations]
        return told if self.settings.written is None else told[: self.settings.written]

    def job(self) -> Job:
        own, kind = self.settings, ROWS[self.row]
        options: dict[str, Any] = dict(kind.options)
        if kind.model == CAGE:
            return self._writer("ir-o")
        if kind.model == INFERSENT:
            chosen = {**default_settings(INFERSENT), **own.infersent_training, "seed": self.seed}
            chosen["generated"] = own.training.get("generated")
            return self._joint(INFERSENT, own.infersent, chosen)
        if "base" not in options:
            options |= {"base": own.base, **own.base_options, **self.task.options}
            if self.task.early_steps and options.get("label_to_text", True) and options.get("text_to_label", True):
                options["early_steps"] = self.task.early_steps
            if options["base"] == "warm":
                options["encoder"] = self._start()
            if self.task.writer_training is not None:
                options = {name: value for name, value in options.items() if name in OWN}
                options["base"] = str(self._taught_writer().folder / "model")
        chosen = {**default_settings(SIM), **own.training, **self.task.training, "precision": own.precision, "seed": self.seed}
        if kind.regulariser:
            chosen["objective"] = {"label_and_text": 1.0, kind.regulariser: own.afire_weight}
            more = {**own.afire, **({"straight_through": True} if kind.straight_through else {})}
            chosen["options"] = {**chosen.get("options", {}), kind.regulariser: more}
        return self._joint(SIM, options, chosen)

    def _joint(self, model: str, options: dict[str, Any], chosen: dict[str, Any]) -> Job:
        settings = Settings(**chosen)
        return Job(task="joint", data=self.corpus, model=model, template=self.task.template, options=options, settings=settings)

    def _writer(self, variant: str) -> Job:
        """Of CAGE: the model that explains (i-r), or the one that reads an explanation (ir-o)."""
        own = self.settings
        chosen = {**default_settings(own.cage), **own.cage_training, "seed": self.seed}
        chosen["generated"] = own.training.get("generated")
        return Job(
            task="text2text", data=self.corpus, model=own.cage, template=self._template(variant), settings=Settings(**chosen)
        )

    def _template(self, variant: str) -> str:
        return f"{self.task.template.split('.')[0]}.{variant}"

    def _encoder(self) -> str:
        if self.settings.encoder is None:
            raise BadInput("the models of this scale start from a BERT encoder; expected --set encoder=FOLDER")
        return self.settings.encoder

    def _start(self) -> str:
        return str(self._nli().folder / "model") if self.task.nli_encoder else self._encoder()

    def _taught_writer(self) -> Trained:
        """An encoder–decoder that explains without naming a label; one for all models and seeds."""
        own, task = self.settings, self.task
        options = {**own.base_options, "encoder": self._start()} if own.base == "warm" else own.base_options
        chosen = {**default_settings(own.base), **(task.writer_training or {}), "precision": own.precision, "seed": SUBSET_SEED}
        job = Job(
            task="text2text", data=self.corpus, model=own.base, template=self._template("i-r"), options=options,
            settings=Settings(**chosen),
        )  # fmt: skip
        return trained(job, _part(self.corpus, self.root, task.held_out, task.longest, None, task.dev, task.dev))

    def _nli(self) -> Trained:
        """One for all seeds."""
        own = self.settings
        training = {**own.nli_training, "precision": own.precision}
        return taught_encoder(self._encoder(), own.nli, training, self.root, SUBSET_SEED)

    def trained(self) -> Trained:
        return trained(self.job(), self.data())

    def port(self) -> Generator:
        template = self._template("ir-o") if ROWS[self.row].model == CAGE else self.task.template
        return _opened(self.trained().folder, template, self.data().labels)

    def explainer(self) -> Generator | None:
        """What writes the explanations, where that is not the model that names the label."""
        if ROWS[self.row].model != CAGE:
            return None
        job = self._writer("i-r")
        return _opened(trained(job, self.data()).folder, self._template("i-r"), self.data().labels)

    def critic_data(self) -> Corpus:
        critic = self.task.critic
        assert critic is not None
        whole = self.whole()
        splits = {split: whole.load(split) for split in ("train", "dev", "test")}
        if critic.with_dev:
            dev = splits["dev"]
            splits |= {"train": splits["train"] + dev[: -critic.dev], "dev": dev[-critic.dev :]}
        limits = {"train": critic.train, "dev": critic.dev, "test": critic.test}
        # the first ones, not a draw: examples that share a sentence stand together
        return with_mismatches({split: examples[: limits[split]] for split, examples in splits.items()}, SUBSET_SEED)

    def critic(self) -> Trained:
        critic = self.task.critic
        assert critic is not None
        model = self._encoder() if critic.model == "encoder" else critic.model
        writes = model in BUILDERS
        chosen = {**default_settings(model), **critic.training, "seed": SUBSET_SEED}
        if critic.model == "encoder":
            chosen["precision"] = self.settings.precision
        job = Job(
            task="text2text" if writes else "classification", data=f"{self.corpus}-mismatched", model=model,
            template=CRITIC_TEMPLATE if writes else None, options=critic.options, settings=Settings(**chosen),
        )  # fmt: skip
        return trained(job, self.critic_data())

    def critic_port(self) -> TorchPort:
        folder, critic = self.critic().folder, self.task.critic
        assert critic is not None
        return _critic(folder, critic.model in BUILDERS)


@lru_cache(maxsize=4)
def _part(
    name: str, root: str | None, held_out: int | None, longest: int | None, train: int | None = None, dev: int | None = None,
    test: int | None = None,
) -> Corpus:  # fmt: skip
    limits = {"train": train, "dev": dev, "test": test}
    if any(limit is not None for limit in limits.values()):  # of the whole that is in memory already
        return _part(name, root, held_out, longest).part(limits, SUBSET_SEED)
    whole = opened(name, root, whole=True)
    return (whole if held_out is None else held_out_dev(whole, held_out)).part(limits, SUBSET_SEED, longest)


@lru_cache(maxsize=2)
def _opened(folder: Path, template: str, labels: tuple[str, ...]) -> Generator:
    port = load_port(folder, template=template, candidates=labels)
    assert isinstance(port, Generator)
    return port


@lru_cache(maxsize=1)
def _critic(folder: Path, writes: bool) -> TorchPort:
    return load_port(folder, template=CRITIC_TEMPLATE, candidates=LABELS) if writes else load_port(folder)
