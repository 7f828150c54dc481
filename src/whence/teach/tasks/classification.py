"""Classification: a text or a pair in, one score for each label out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from sklearn.metrics import accuracy_score, f1_score
from transformers import PreTrainedModel

from whence.data import Example
from whence.errors import BadInput
from whence.models import UNCHANGED, Classifier, Encoded, Intervention, collate
from whence.run import Request, Result, Runner
from whence.teach.objectives import CorpusFacts, Step
from whence.teach.tasks.task import LOSS, TRAIN_LOSS, Metric, Row, Scores, Task

Guide = Callable[[Sequence[Encoded]], list[Intervention]]
"""Attention to impose on each example, in training and afterwards."""


@dataclass
class LabelledSplit:
    """With a guide, each example comes with the attention that is imposed on it."""

    facts: CorpusFacts
    changes: list[Intervention]

    @property
    def lengths(self) -> list[tuple[int, ...]]:
        return [(len(encoded),) for encoded in self.facts.encoded]

    @property
    def warnings(self) -> list[str]:
        encoded = self.facts.encoded
        cut = [e.unseen for e in encoded if e.unseen]
        said = (
            f"{len(cut)} of {len(encoded)} texts are longer than the model's limit; {sum(cut)} words at their ends are not read"
        )
        return [said] if cut else []

    def step(self, rows: Sequence[int], reads: frozenset[str]) -> Step:
        classifier, device = self.facts.classifier, self.facts.classifier.device
        changes = [self.changes[i] for i in rows]
        batch = collate([self.facts.encoded[i] for i in rows], classifier.pad_id, device, changes)
        logits, attention = classifier.training_pass(batch, "attention" in reads)
        return Step(batch, rows, self.facts.labels[list(rows)].to(device), logits, attention)

    def predict(self) -> list[Result]:
        requests = [Request(e, change) for e, change in zip(self.facts.encoded, self.changes, strict=True)]
        return Runner(self.facts.classifier).run(requests)


class Classification(Task):
    name = "classification"
    objective = "cross_entropy"
    gives = frozenset({"logits", "attention"})
    metrics = (
        Metric("macro_f1", "the mean F1 of the labels that dev has"),
        Metric("accuracy", "the share of right labels"),
        LOSS,
        TRAIN_LOSS,
    )
    select = "macro_f1"
    always = frozenset({"macro_f1", "accuracy"})

    def __init__(self, model: PreTrainedModel, tokenizer: Any, guide: Guide | None = None) -> None:
        self.model = model
        self.classifier = Classifier(model, tokenizer)
        self.guide = guide

    def prepare(self, examples: Sequence[Example]) -> LabelledSplit:
        encoded = self.classifier.encode(examples)
        labels = torch.tensor(label_numbers(self.classifier, examples))
        facts = CorpusFacts(examples, encoded, labels, self.classifier)
        return LabelledSplit(facts, self.guide(encoded) if self.guide else [UNCHANGED] * len(encoded))

    def evaluate(self, split: LabelledSplit) -> tuple[Scores, list[Row]]:
        results, facts = split.predict(), split.facts
        scores = metrics(self.classifier, results, facts.labels.tolist())
        scores["texts_cut"] = sum(e.unseen > 0 for e in facts.encoded)
        names = self.classifier.labels
        rows: list[Row] = [
            {"id": e.id, "label": e.label, "predicted": names[r.label], "probabilities": r.probabilities.tolist()}
            for e, r in zip(facts.examples, results, strict=True)
        ]
        return scores, rows

    def save(self, path: Path) -> None:
        self.model.save_pretrained(path)
        self.classifier.tokenizer.save_pretrained(path)


def metrics(classifier: Classifier, results: Sequence[Result], labels: Sequence[int]) -> Scores:
    """Accuracy and macro-F1, and the F1 of each label."""
    predicted = [result.label for result in results]
    every = list(range(len(classifier.labels)))
    by_label = f1_score(labels, predicted, labels=every, average=None, zero_division=0.0)
    present = sorted(set(labels))
    return {
        "accuracy": float(accuracy_score(labels, predicted)),
        "macro_f1": float(f1_score(labels, predicted, labels=present, average="macro", zero_division=0.0)),
        "f1": dict(zip(classifier.labels, map(float, by_label), strict=True)),
        "examples": len(labels),
    }


def label_numbers(classifier: Classifier, examples: Sequence[Example]) -> list[int]:
    """Gold labels as the model numbers them, matched by name."""
    numbers = {name.lower(): i for i, name in enumerate(classifier.labels)}
    found = []
    for example in examples:
        if example.label is None or example.label.lower() not in numbers:
            raise BadInput(
                f"example '{example.id}' has label {json.dumps(example.label)}; the model knows {', '.join(classifier.labels)}"
            )
        found.append(numbers[example.label.lower()])
    return found
