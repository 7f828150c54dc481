"""The pieces of the study: a training, one method on a shard of one corpus, HANS with and without role masks.

Each is a function of JSON-able arguments.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from whence.data import Example
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments, pair_asks
from whence.explain.alignments.rectangles import components
from whence.explain.roles import has_match, predict_with_roles, roles_from_parses
from whence.measure.alignments.aorc import aorc_rounds
from whence.measure.alignments.breaking_nli import FoundPair, found_pair_rounds
from whence.measure.alignments.planted import planted_found
from whence.measure.alignments.plausibility import iou_row, token_f1_row, touched_words
from whence.measure.alignments.rationale import MARGIN, induce_rounds, quality_rounds
from whence.models import Classifier, Encoded, Intervention
from whence.models.alignment import known_cells, pair_shape
from whence.run import Request, Result, Runner
from whence.run.engine import Rows
from whence.run.masks import drive_masks
from whence.studies.alignment.models import Subject, chosen_pairs
from whence.studies.alignment.settings import PAIRED_CORPORA, ROLE_CORPUS
from whence.studies.kit.corpora import opened, spread

ENTAILMENT = "entailment"


def train(subject: Subject) -> Rows:
    """How good the model is on dev and test of what it was trained on: a row for each."""
    results = subject.trained().results
    return [
        {"split": split, "accuracy": results[split]["accuracy"], "macro_f1": results[split]["macro_f1"],
         "examples": results[split]["examples"], "train_examples": results["train_examples"], "epoch": results["best_epoch"]}
        for split in ("dev", "test")
    ]  # fmt: skip


def train_gate(subject: Subject) -> Rows:
    """Trains DiffMask's gate, so that the pieces that use it are short."""
    subject.gate()
    return [{"pairs": subject.target.gate_pairs or -1}]


def right(classifier: Classifier, result: Result, example: Example) -> float:
    """1 or 0. HANS has two labels: there neutral and contradiction are both "not entailed"."""
    predicted = classifier.labels[result.label]
    if example.label == f"non-{ENTAILMENT}":
        return float(predicted != ENTAILMENT)
    return float(predicted == example.label)


def masked(runner: Runner, encoded: Sequence[Encoded], masks: Sequence[np.ndarray]) -> list[Result]:
    """What the model says if only some word pairs may align."""
    changes = [Intervention(alignment=mask.astype(np.float32)) for mask in masks]
    return runner.run([Request(e, change) for e, change in zip(encoded, changes, strict=True)])


def accuracy(subject: Subject, corpus: str) -> Rows:
    """On all test pairs of a corpus: one row for each."""
    classifier, examples = subject.classifier, opened(corpus, subject.root, whole=True).load("test")
    results = Runner(classifier, remembered=0).predict(classifier.encode(examples))
    return [{"id": e.id, "label": e.label, "right": right(classifier, r, e)} for e, r in zip(examples, results, strict=True)]


def needs(subject: Subject) -> Rows:
    """Rightly predicted contradictions among the scenes that are explained: does the label stay without the planted pair,
    and with nothing but it?"""
    classifier = subject.classifier
    runner, encoded = Runner(classifier), classifier.encode(subject.pairs("scenes"))
    predicted = zip(encoded, runner.predict(encoded), strict=True)
    decided = [e for e, r in predicted if e.example.label == "contradiction" and right(classifier, r, e.example)]
    cells = [known_cells(e) for e in decided]
    without, alone = masked(runner, decided, [~c for c in cells]), masked(runner, decided, cells)
    return [
        {"id": e.example.id, "without": right(classifier, w, e.example), "alone": right(classifier, a, e.example)}
        for e, w, a in zip(decided, without, alone, strict=True)
    ]


def roles(subject: Subject, start: int, end: int) -> Rows:
    """HANS pairs [start, end) as the model reads them, and with only the alignments that roles allow."""
    examples = chosen_pairs(ROLE_CORPUS, subject.target.role_pairs, subject.root)[start:end]
    classifier = subject.classifier
    runner, encoded = Runner(classifier, remembered=0), classifier.encode(examples)
    found = [roles_from_parses(example) for example in examples]
    plain, masked = runner.predict(encoded), predict_with_roles(runner, encoded, found)
    return [
        {"id": e.id, "label": e.label, "heuristic": e.meta["heuristic"], "subcase": e.meta["subcase"],
         "as it is": right(classifier, p, e), "role mask": right(classifier, m, e), "match": float(has_match(*r))}
        for e, r, p, m in zip(examples, found, plain, masked, strict=True)
    ]  # fmt: skip


def cut(subject: Subject, corpus: str) -> Rows:
    """What is left without any alignment (Z = 0): whether the label stays, and how far the logits move.

    Where it stays, an alignment explanation explains nothing: the prediction needs no alignment.
    """
    runner, encoded = Runner(subject.classifier), subject.classifier.encode(subject.pairs(corpus))
    plain = runner.predict(encoded)
    without = masked(runner, encoded, [np.zeros(pair_shape(e)) for e in encoded])
    return [
        {"id": e.example.id, "label": e.example.label, "label_kept": float(a.label == b.label),
         "fidelity": float(np.linalg.norm(a.logits - b.logits))}
        for e, a, b in zip(encoded, plain, without, strict=True)
    ]  # fmt: skip


def ablate(subject: Subject, corpus: str, parameters: dict[str, Any], count: int) -> Rows:
    """AREC with other parameters than its own."""
    return explain(subject, corpus, "arec", spread(range(len(subject.pairs(corpus))), count), None, **parameters)


def explain(
    subject: Subject, corpus: str, method: str, numbers: list[int], fidelity: dict[str, float] | None, **other: Any
) -> Rows:
    """One method on some of a corpus' pairs, measured: one row for each pair that has word pairs.

    `fidelity` is AREC's by the id of a pair: a method that only scores word pairs gets a rationale of the same fidelity, and
    pairs that AREC has no row for are left out. `other`: parameters in place of the study's. Scores and kept cells are stored
    row by row, for pictures and sheets.
    """
    classifier, known, pairs = subject.classifier, ALIGNMENT_METHODS[method], subject.pairs(corpus)
    chosen = [pairs[number] for number in numbers]
    encoded = classifier.encode([e for e in chosen if fidelity is None or e.id in fidelity])
    runner = Runner(classifier)
    parameters = {**subject.settings.parameters.get(method, {}), **subject.target.parameters.get(method, {}), **other}
    if method == "diffmask":
        parameters["gate"] = subject.gate()
    alignments = explain_alignments(runner, encoded, known, subject.seed, parameters)
    asks = pair_asks(runner, encoded)
    scores = [alignment.matrix for alignment in alignments]
    if known.makes_mask:
        kept = [np.array(alignment.kept) for alignment in alignments]
    else:
        assert fidelity is not None, "a rationale is induced at AREC's fidelity"
        thresholds = [fidelity[e.example.id] + MARGIN for e in encoded]
        kept = drive_masks(runner, encoded, [induce_rounds(*one) for one in zip(asks, scores, thresholds, strict=True)])
    gold = [
        known_cells(e) if corpus in PAIRED_CORPORA else np.zeros(ask.shape, dtype=bool)
        for e, ask in zip(encoded, asks, strict=True)
    ]
    measured = zip(
        encoded, alignments, kept, gold,
        drive_masks(runner, encoded, [aorc_rounds(*one) for one in zip(asks, scores, strict=True)]),
        drive_masks(runner, encoded, [quality_rounds(*one) for one in zip(asks, kept, strict=True)]),
        drive_masks(runner, encoded, [found_pair_rounds(k, g, ask.logits) for k, g, ask in zip(kept, gold, asks, strict=True)]),
        runner.predict(encoded), strict=True,
    )  # fmt: skip
    return [
        {
            "id": e.example.id, "label": e.example.label, "predicted": alignment.target, "probability": alignment.probability,
            "right": right(classifier, result, e.example), "aorc": aorc, **asdict(quality),
            "objective": alignment.notes.get("objective"), "empty": float(not mask.any()),
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
