"""The models of the study: five of each corpus, all trained apart; the encoder that they start from; what ROAR retrains."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from whence.data import Corpus, Example
from whence.errors import BadInput
from whence.measure.roar import marks_of, occluded
from whence.models import load_port
from whence.models.generator import Generator
from whence.studies.association.settings import AssociationSettings, Roar, Task
from whence.studies.kit.corpora import SUBSET_SEED, held_out_dev, opened
from whence.studies.kit.models import Trained, taught_encoder, trained
from whence.teach import Job, Settings, default_settings

SENTENCE = "That is how it is."
"""The rationale of every example, for the control that says the same of everything."""
OCCLUDED = "source.i-or"


class Subject(BaseModel):
    """One model of the study and what is needed to have it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    corpus: str
    variant: str
    settings: AssociationSettings
    root: str | None
    seed: int
    constant: bool = False

    @property
    def task(self) -> Task:
        return self.settings.corpora[self.corpus]

    @property
    def name(self) -> str:
        return f"{self.corpus}-{self.variant}{'-constant' * self.constant}-seed{self.seed}"

    def as_variant(self, variant: str) -> "Subject":
        return self.model_copy(update={"variant": variant})

    def job(self, template: str | None = None, **changed: Any) -> Job:
        own = self.settings
        options = dict(own.options)
        if own.architecture == "warm":
            options["encoder"] = str(self.nli_encoder().folder / "model") if self.task.nli_encoder else self._encoder()
        chosen = {**default_settings(own.architecture), **own.training, **self.task.training}
        chosen |= {**self.task.of_variant.get(self.variant, {}), **changed, "precision": own.precision, "seed": self.seed}
        return Job(
            task="text2text", data=self.corpus, model=own.architecture, template=template or self.template, options=options,
            settings=Settings(**chosen),
        )  # fmt: skip

    @property
    def template(self) -> str:
        return f"{self.task.templates}.{self.variant}"

    def nli_encoder(self) -> Trained:
        """A classifier of pairs whose encoder the models of NLI start from."""
        own = self.settings
        training = {**own.nli_training, "precision": own.precision}
        return taught_encoder(self._encoder(), own.nli, training, self.root, self.seed)

    def _encoder(self) -> str:
        if self.settings.encoder is None:
            raise BadInput("the models of this scale start from a BERT encoder; expected --set encoder=FOLDER")
        return self.settings.encoder

    def data(self) -> Corpus:
        task = self.task
        return _data(self.corpus, self.root, task.train, task.dev, task.test, task.longest, task.held_out, self.constant)

    def tested(self, count: int) -> list[Example]:
        """The first `count` test examples that have a rationale: nobody chose them, and every piece has the same."""
        return [example for example in self.data().load("test") if example.explanations][:count]

    def trained(self) -> Trained:
        return _trained(self.model_dump_json())

    def generator(self) -> Generator:
        return _opened(self.trained().folder, self.template, self.data().labels)

    def occluded(self, roar: Roar, hidden: Mapping[str, Sequence[int]]) -> Corpus:
        """ROAR's part of the corpus with the `hidden` words (places by id) of every example occluded."""
        whole, source, tokenizer = self.data(), self.generator().template, self.generator().tokenizer
        assert source is not None
        splits = {
            split: partial(iter, [occluded(source, e, hidden[e.id], marks_of(tokenizer)) for e in examples])
            for split, examples in roar_part(whole, roar).items()
        }
        return replace(whole, splits=splits)

    def retrained(self, roar: Roar, data: Corpus) -> Generator:
        """I→OR from the same start on occluded texts."""
        folder = trained(self.job(OCCLUDED, **roar.training), data).folder
        return _opened(folder, OCCLUDED, data.labels)


def roar_part(corpus: Corpus, roar: Roar) -> dict[str, list[Example]]:
    """Examples with rationales, by split; so many of each."""
    return {
        split: _explained(corpus.load(split, limit, SUBSET_SEED))
        for split, limit in (("train", roar.train), ("dev", roar.dev), ("test", roar.test))
    }


def _explained(examples: Iterable[Example]) -> list[Example]:
    return [example for example in examples if example.explanations]


@lru_cache(maxsize=32)
def _trained(subject: str) -> Trained:
    model = Subject.model_validate_json(subject)
    return trained(model.job(), model.data())


@lru_cache(maxsize=4)
def _opened(folder: Path, template: str, labels: tuple[str, ...]) -> Generator:
    port = load_port(folder, template=template, candidates=labels)
    assert isinstance(port, Generator)
    return port


@lru_cache(maxsize=8)
def _data(
    name: str, root: str | None, train: int | None, dev: int | None, test: int | None, longest: int | None,
    held_out: int | None, constant: bool,
) -> Corpus:  # fmt: skip
    if held_out is None:
        found = opened(name, root, train, dev, test, longest)
    else:
        found = held_out_dev(opened(name, root, whole=True), held_out)
        found = found.part({"train": train, "dev": dev, "test": test}, SUBSET_SEED, longest)
    if constant:
        told = {split: [replace(e, explanations=(SENTENCE,)) for e in found.load(split)] for split in found.splits}
        found = replace(found, splits={split: partial(iter, examples) for split, examples in told.items()})
    return found
