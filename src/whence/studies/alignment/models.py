"""The models of the study: how each is trained, DiffMask's gate for it, and the pairs that it is explained on."""

from collections import defaultdict
from functools import lru_cache
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from whence.data import Example
from whence.errors import BadInput
from whence.explain.alignments.diffmask import trained_gate
from whence.models import Classifier
from whence.studies.alignment.settings import ROLE_CORPUS, AlignmentSettings, Target
from whence.studies.kit.corpora import SUBSET_SEED, opened
from whence.studies.kit.models import Trained, trained
from whence.teach import Job, Settings, default_settings

OF_VECTORS = ("more_words", "train_embeddings", "unit_vectors")
"""Options that make no sense without a file of vectors."""


class Subject(BaseModel):
    """One model of the study and what is needed to have it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    target: Target
    settings: AlignmentSettings
    root: str | None
    seed: int

    def job(self) -> Job:
        architecture, options = self.target.architecture or self.settings.model, self.target.options
        if architecture is None:
            raise BadInput(f"{self.name} starts from a pretrained transformer; expected --set model=FOLDER")
        chosen = {**default_settings(architecture), **self.target.training, "seed": self.seed}
        vectors = self.settings.vectors if self.target.architecture is not None else None
        if vectors is None:
            options = {k: v for k, v in options.items() if k not in OF_VECTORS}
        return Job(data=self.settings.train, model=architecture, vectors=vectors, options=options, settings=Settings(**chosen))

    def trained(self) -> Trained:
        return _trained(self.job().model_dump_json(), self.root)

    @property
    def classifier(self) -> Classifier:
        return self.trained().classifier

    def gate(self) -> str:
        """The folder of DiffMask's gate for the trained model; trained now if need be."""
        return _gate(self.trained().folder, self.settings.train, self.target.gate_pairs, self.root)

    def pairs(self, corpus: str) -> list[Example]:
        return chosen_pairs(corpus, self.target.pairs, self.root)

    def by_id(self, corpus: str) -> dict[str, Example]:
        return {pair.id: pair for pair in self.pairs(corpus)}


@lru_cache(maxsize=8)
def _trained(job: str, root: str | None) -> Trained:
    filled = Job.model_validate_json(job)
    return trained(filled, opened(filled.data, root, whole=True))


@lru_cache(maxsize=8)
def _gate(folder: Path, corpus: str, count: int | None, root: str | None) -> str:
    classifier = Trained(folder).classifier
    examples = opened(corpus, root, whole=True).load("train", count, SUBSET_SEED)
    return str(trained_gate(classifier, classifier.encode(examples)))


@lru_cache(maxsize=16)
def chosen_pairs(corpus: str, count: int | None, root: str | None) -> list[Example]:
    """A random `count` of the test pairs, or all there are; of HANS as many of each subcase (the paper: 10 of each of 30)."""
    examples = opened(corpus, root, whole=True).load("test", None if corpus == ROLE_CORPUS else count, SUBSET_SEED)
    if corpus != ROLE_CORPUS or count is None:
        return examples
    by_subcase: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        by_subcase[example.meta["subcase"]].append(example)
    draw = np.random.default_rng(SUBSET_SEED)
    each = -(-count // len(by_subcase))
    return [
        several[i] for _, several in sorted(by_subcase.items())
        for i in sorted(draw.permutation(len(several))[:each].tolist())
    ]  # fmt: skip
