"""The pieces of the study: a training, one method on a shard of one corpus, HANS with and without role masks.

Each is a function of JSON-able arguments. A model is looked up in the cache and trained if it is not there, so any piece can
run first, or again.
"""

from collections import defaultdict
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from whence.data import Corpus, Example
from whence.data.registry import open_corpus
from whence.errors import BadInput
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments, pair_asks
from whence.explain.alignments.diffmask import trained_gate
from whence.explain.alignments.rectangles import components
from whence.explain.roles import has_match, predict_with_roles, roles_from_parses
from whence.measure.alignments.aorc import aorc_steps
from whence.measure.alignments.breaking_nli import FoundPair, found_pair_steps
from whence.measure.alignments.planted import planted_found
from whence.measure.alignments.plausibility import iou_row, token_f1_row, touched_words
from whence.measure.alignments.rationale import MARGIN, induce_steps, quality_steps
from whence.models import Classifier, Encoded, Intervention
from whence.models.alignment import known_cells
from whence.run import Request, Result, Runner, read_json
from whence.run.engine import Rows
from whence.run.masks import MaskRunner
from whence.studies.alignment.settings import PAIRED_CORPORA, ROLE_CORPUS, AlignmentSettings, Target
from whence.teach import Job, Settings, cached_job, default_settings

ENTAILMENT = "entailment"
SUBSET_SEED = 0
"""Every model and method is tried on the same pairs, whatever the run's seed."""


class Subject(BaseModel):
    """One model of the study and what is needed to have it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    target: Target
    settings: AlignmentSettings
    root: str | None
    seed: int

    def job(self) -> Job:
        architecture = self.target.architecture or self.settings.model
        if architecture is None:
            raise BadInput(f"{self.name} starts from a pretrained transformer; expected --set model=FOLDER")
        ours = self.target.architecture is not None
        chosen = {**default_settings(architecture), **self.target.training, "seed": self.seed}
        vectors = self.settings.vectors if ours else None
        options = dict(self.target.options)
        if vectors is None:
            options = {k: v for k, v in options.items() if k not in ("more_words", "train_embeddings", "unit_vectors")}
        return Job(data=self.settings.train, model=architecture, vectors=vectors, options=options, settings=Settings(**chosen))

    def folder(self) -> Path:
        """The run folder of the trained model; trained now if need be."""
        return _folder(self.job().model_dump_json(), self.root)

    def classifier(self) -> Classifier:
        return _loaded(self.folder())

    def gate(self) -> str:
        """The folder of DiffMask's gate for the trained model; trained now if need be."""
        return _gate(self.folder(), self.settings.train, self.target.gate_pairs, self.root)


@lru_cache(maxsize=8)
def _folder(job: str, root: str | None) -> Path:
    filled = Job.model_validate_json(job)
    return cached_job(filled, _open(filled.data, root), _quiet)


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> Classifier:
    return Classifier.load(folder)


@lru_cache(maxsize=8)
def _gate(folder: Path, corpus: str, count: int | None, root: str | None) -> str:
    classifier = _loaded(folder)
    return str(trained_gate(classifier, classifier.encode(_open(corpus, root).load("train", count, SUBSET_SEED))))


@lru_cache(maxsize=8)
def _open(name: str, root: str | None) -> Corpus:
    return open_corpus(name, Path(root) if root else None)


def _quiet(_: str) -> None:
    """A piece is one of many: its training says nothing."""


@lru_cache(maxsize=8)
def chosen_pairs(corpus: str, count: int, root: str | None) -> list[Example]:
    """A random `count` of the test pairs; of HANS as many of each subcase (the paper's 300 are 10 of each of 30)."""
    opened = _open(corpus, root)
    if corpus != ROLE_CORPUS:
        return opened.load("test", count, SUBSET_SEED)
    return _of_each_subcase(opened.load("test"), count)


def _of_each_subcase(examples: list[Example], count: int) -> list[Example]:
    by_subcase: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        by_subcase[example.meta["subcase"]].append(example)
    draw = np.random.default_rng(SUBSET_SEED)
    each = -(-count // len(by_subcase))
    return [
        several[i] for _, several in sorted(by_subcase.items())
        for i in sorted(draw.permutation(len(several))[:each].tolist())
    ]  # fmt: skip


def train(subject: dict[str, Any]) -> Rows:
    """One row: how good the model is on dev and test of what it was trained on."""
    folder = Subject(**subject).folder()
    results = read_json(folder / "results.json")
    return [
        {"split": split, "accuracy": results[split]["accuracy"], "macro_f1": results[split]["macro_f1"],
         "examples": results[split]["examples"], "train_examples": results["train_examples"], "epoch": results["best_epoch"]}
        for split in ("dev", "test")
    ]  # fmt: skip


def train_gate(subject: dict[str, Any]) -> Rows:
    """Trains DiffMask's gate, so that the pieces that use it are short."""
    owner = Subject(**subject)
    owner.gate()
    return [{"pairs": owner.target.gate_pairs or -1}]


def right(classifier: Classifier, result: Result, example: Example) -> bool:
    """HANS has two labels: there neutral and contradiction are both "not entailed"."""
    predicted = classifier.labels[result.label]
    if example.label == f"non-{ENTAILMENT}":
        return predicted != ENTAILMENT
    return predicted == example.label


def accuracy(subject: dict[str, Any], corpus: str) -> Rows:
    """On all test pairs of a corpus: one row for each."""
    owner = Subject(**subject)
    classifier, examples = owner.classifier(), _open(corpus, owner.root).load("test")
    results = Runner(classifier, remembered=0).predict(classifier.encode(examples))
    return [
        {"id": e.id, "label": e.label, "right": float(right(classifier, r, e))} for e, r in zip(examples, results, strict=True)
    ]


def needs(subject: dict[str, Any]) -> Rows:
    """Rightly predicted contradictions among the scenes that are explained: does the label stay without the planted pair,
    and with nothing but it?"""
    owner = Subject(**subject)
    classifier = owner.classifier()
    runner, encoded = Runner(classifier), classifier.encode(chosen_pairs("scenes", owner.target.pairs, owner.root))
    results = runner.predict(encoded)
    decided = [
        e for e, result in zip(encoded, results, strict=True)
        if e.example.label == "contradiction" and right(classifier, result, e.example)
    ]  # fmt: skip
    cells = [known_cells(e).astype(np.float32) for e in decided]
    found = {
        name: runner.run([Request(e, Intervention(alignment=mask)) for e, mask in zip(decided, masks, strict=True)])
        for name, masks in (("without", [1 - c for c in cells]), ("alone", cells))
    }
    return [
        {"id": e.example.id, **{name: float(right(classifier, several[i], e.example)) for name, several in found.items()}}
        for i, e in enumerate(decided)
    ]


def roles(subject: dict[str, Any], start: int, end: int) -> Rows:
    """HANS pairs [start, end) as the model reads them, and with only the alignments that roles allow."""
    owner = Subject(**subject)
    count = owner.target.role_pairs
    everything = _open(ROLE_CORPUS, owner.root).load("test") if count is None else chosen_pairs(ROLE_CORPUS, count, owner.root)
    examples = everything[start:end]
    classifier = owner.classifier()
    runner, encoded = Runner(classifier, remembered=0), classifier.encode(examples)
    found = [roles_from_parses(example) for example in examples]
    plain, masked = runner.predict(encoded), predict_with_roles(runner, encoded, found)
    return [
        {"id": e.id, "label": e.label, "heuristic": e.meta["heuristic"], "subcase": e.meta["subcase"],
         "as it is": float(right(classifier, p, e)), "role mask": float(right(classifier, m, e)), "match": float(has_match(*r))}
        for e, r, p, m in zip(examples, found, plain, masked, strict=True)
    ]  # fmt: skip


def explain(subject: dict[str, Any], corpus: str, method: str, numbers: list[int], fidelity: list[float] | None) -> Rows:
    """One method on some of a corpus' pairs, measured: one row for each pair that has word pairs.

    `fidelity` is AREC's on the same pairs: a method that only scores word pairs gets a rationale of the same fidelity. Scores
    and kept cells are stored row by row, for pictures and sheets.
    """
    owner = Subject(**subject)
    classifier = owner.classifier()
    pairs = chosen_pairs(corpus, owner.target.pairs, owner.root)
    encoded = classifier.encode([pairs[number] for number in numbers])
    runner, masks = Runner(classifier), MaskRunner(classifier, encoded)
    known = ALIGNMENT_METHODS[method]
    parameters = {**owner.settings.parameters.get(method, {}), **owner.target.parameters.get(method, {})}
    if method == "diffmask":
        parameters["gate"] = owner.gate()
    alignments = explain_alignments(runner, encoded, known, owner.seed, parameters)
    asks = pair_asks(runner, encoded)
    scores = [alignment.matrix for alignment in alignments]
    if known.makes_mask:
        kept = [np.array(alignment.kept) for alignment in alignments]
    else:
        assert fidelity is not None, "a rationale is induced at AREC's fidelity"
        thresholds = [value + MARGIN for value in fidelity]
        kept = masks.drive([induce_steps(*one) for one in zip(asks, scores, thresholds, strict=True)])
    gold = [
        known_cells(e) if corpus in PAIRED_CORPORA else np.zeros(ask.shape, dtype=bool)
        for e, ask in zip(encoded, asks, strict=True)
    ]
    measured = zip(
        encoded, alignments, kept, gold,
        masks.drive([aorc_steps(*one) for one in zip(asks, scores, strict=True)]),
        masks.drive([quality_steps(*one) for one in zip(asks, kept, strict=True)]),
        masks.drive([found_pair_steps(k, g, ask.logits) for k, g, ask in zip(kept, gold, asks, strict=True)]),
        runner.predict(encoded), strict=True,
    )  # fmt: skip
    return [
        {
            "id": e.example.id, "label": e.example.label, "predicted": alignment.target, "probability": alignment.probability,
            "right": float(right(classifier, result, e.example)), "aorc": aorc, **asdict(quality),
            **_plausibility(e, mask), **_found(mask, cells, found),
            "scores": alignment.matrix.round(5).ravel().tolist(), "kept": mask.astype(int).ravel().tolist(),
        }
        for e, alignment, mask, cells, aorc, quality, found, result in measured if quality is not None
    ]  # fmt: skip


def _plausibility(encoded: Encoded, kept: np.ndarray) -> dict[str, Any]:
    keys = touched_words(kept, encoded)
    return {"iou": list(iou_row(keys)) if keys else None, "token": list(token_f1_row(keys)) if keys else None}


def _found(kept: np.ndarray, gold: np.ndarray, found: FoundPair | None) -> dict[str, float | None]:
    """How well the rationale finds the pair on which the label turns; planted pairs of several words count once one is kept."""
    planted = planted_found(kept, gold)
    if found is None or planted is None:
        return dict.fromkeys(("max_f1", "exact_inc", "soft_inc", "planted_found", "planted_precision"))
    every_one = all(kept[part].any() for part in components(gold))
    return {**asdict(found), "planted_found": float(every_one), "planted_precision": planted.precision}
