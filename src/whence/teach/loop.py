"""The one training loop: any model, objective terms that add up, the best epoch on dev, early stopping, exact resume.

The order of batches is drawn from (seed, epoch) alone and random state is part of a checkpoint, so a training that was killed
and continued ends with the same weights as one that ran through.
"""

import json
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from pydantic import BaseModel, ConfigDict, Field
from safetensors.torch import load_file
from sklearn.metrics import accuracy_score, f1_score
from torch import nn
from transformers import PreTrainedModel

from whence.data import Example
from whence.errors import BadInput
from whence.models import UNCHANGED, Classifier, Encoded, Intervention, collate
from whence.run import Request, Result, Runner, progress
from whence.teach.checkpoint import load_checkpoint, save_checkpoint, save_weights
from whence.teach.objectives import CorpusFacts, Step, Term, reads_attention, total


class Settings(BaseModel):
    """Hyper-parameters; what is written to config.json."""

    model_config = ConfigDict(extra="forbid")
    objective: dict[str, float] = {"cross_entropy": 1.0}
    """Terms and their weights."""
    options: dict[str, dict[str, Any]] = {}
    """Of the terms: {"saloss": {"prior": "textrank"}}."""
    select: Literal["macro_f1", "loss"] = "macro_f1"
    """Which figure on dev picks the epoch that is kept; the loss for objectives that do not ask for gold labels."""
    epochs: int = Field(8, gt=0)
    batch_size: int = Field(32, gt=0)
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(1e-5, ge=0)
    warmup: float = Field(0.0, ge=0, lt=1)
    """Share of all steps in which the learning rate rises; afterwards it falls linearly to 0 if there was a warm-up."""
    clip: float = Field(5.0, gt=0)
    patience: int = Field(3, gt=0)
    """Epochs without a better dev score before training stops."""
    seed: int = 0
    checkpoint_seconds: float = 60.0


Say = Callable[[str], None]
Guide = Callable[[Sequence[Encoded]], list[Intervention]]
"""Attention to impose on each example, in training and afterwards."""


def train(
    model: PreTrainedModel, tokenizer: Any, train_set: Sequence[Example], dev_set: Sequence[Example], settings: Settings,
    folder: Path, say: Say = print, guide: Guide | None = None,
) -> tuple[Classifier, dict[str, Any]]:  # fmt: skip
    """Train, keep the best epoch; returns it with its history. Continues from `folder`/checkpoint if there is one."""
    set_seed(settings.seed)
    accelerator = Accelerator()
    model = model.to(accelerator.device)
    classifier = Classifier(model, tokenizer)
    training, dev = (_prepared(classifier, examples, guide) for examples in (train_set, dev_set))
    _say_what_was_cut(training.facts.encoded, say)
    objective = total(settings.objective, settings.options, training.facts)
    # selection by loss asks the same terms about the dev set
    on_dev = replace(dev.facts, training=training.facts)
    dev_objective = total(settings.objective, settings.options, on_dev) if settings.select == "loss" else None
    reads = reads_attention(settings.objective)
    # fused: on a CPU one pass over a large embedding table instead of a dozen
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=settings.learning_rate, weight_decay=settings.weight_decay,
        fused=accelerator.device.type in ("cpu", "cuda"),
    )  # fmt: skip
    wrapped, optimizer = accelerator.prepare(model, optimizer)
    steps_per_epoch = math.ceil(len(train_set) / settings.batch_size)
    state = load_checkpoint(folder / "checkpoint", model, optimizer)
    if state is None:
        state = {"epoch": 0, "step": 0, "loss": 0.0, "best": None, "best_epoch": -1, "history": []}
    else:
        say(f"continuing at epoch {state['epoch'] + 1}, step {state['step']}")
    saved = time.monotonic()
    while state["epoch"] < settings.epochs and state["epoch"] - state["best_epoch"] <= settings.patience:
        batches = bucketed(training.facts.encoded, settings.batch_size, settings.seed, state["epoch"])
        batches = batches[accelerator.process_index :: accelerator.num_processes]
        model.train()
        with progress(f"epoch {state['epoch'] + 1}/{settings.epochs}", len(batches), state["step"]) as tick:
            while state["step"] < len(batches):
                rate = _rate(settings, state["epoch"] * steps_per_epoch + state["step"], settings.epochs * steps_per_epoch)
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * rate
                loss = objective(training.step(wrapped, batches[state["step"]], reads))
                if not torch.isfinite(loss):
                    raise BadInput(
                        f"the loss is {loss.item()} at epoch {state['epoch'] + 1}, step {state['step']}: lower --learning-rate"
                    )
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), settings.clip)
                optimizer.step()
                optimizer.zero_grad()
                state["loss"] += loss.item()
                state["step"] += 1
                tick(1)
                if time.monotonic() - saved > settings.checkpoint_seconds:
                    save_checkpoint(folder / "checkpoint", model, optimizer, state)
                    saved = time.monotonic()
        scores = metrics(classifier, dev.predict(), dev.facts.labels.tolist())
        if dev_objective is not None:
            scores["loss"] = _loss(dev, dev_objective, settings.batch_size, reads)
        state["history"].append({"epoch": state["epoch"] + 1, "loss": state["loss"] / max(1, len(batches)), "dev": scores})
        shown = f"dev loss {scores['loss']:.4f}, " if "loss" in scores else ""
        say(
            f"epoch {state['epoch'] + 1}: loss {state['history'][-1]['loss']:.4f}, {shown}dev macro-F1 {scores['macro_f1']:.4f}"
        )
        reached = -scores["loss"] if settings.select == "loss" else scores["macro_f1"]
        if state["best"] is None or reached > state["best"]:
            state["best"], state["best_epoch"] = reached, state["epoch"]
            save_weights(folder / "best.safetensors", model)
        state.update(epoch=state["epoch"] + 1, step=0, loss=0.0)
        save_checkpoint(folder / "checkpoint", model, optimizer, state)
        saved = time.monotonic()
    model.load_state_dict(load_file(folder / "best.safetensors"))
    model.eval()
    best = state["history"][state["best_epoch"]]
    return classifier, {"dev": best["dev"], "best_epoch": best["epoch"], "history": state["history"]}


@dataclass
class _Set:
    """The examples of a split, ready for the model; with a guide, each comes with the attention that is imposed on it."""

    facts: CorpusFacts
    changes: list[Intervention]

    def step(self, model: nn.Module, rows: Sequence[int], read_attention: bool) -> Step:
        classifier, device = self.facts.classifier, self.facts.classifier.device
        changes = [self.changes[i] for i in rows]
        batch = collate([self.facts.encoded[i] for i in rows], classifier.pad_id, device, changes)
        logits, attention = classifier.training_pass(model, batch, read_attention)
        return Step(batch, rows, self.facts.labels[list(rows)].to(device), logits, attention)

    def predict(self) -> list[Result]:
        requests = [Request(e, change) for e, change in zip(self.facts.encoded, self.changes, strict=True)]
        return Runner(self.facts.classifier).run(requests)


def _prepared(classifier: Classifier, examples: Sequence[Example], guide: Guide | None) -> _Set:
    encoded = classifier.encode(examples)
    facts = CorpusFacts(examples, encoded, torch.tensor(label_numbers(classifier, examples)), classifier)
    return _Set(facts, guide(encoded) if guide else [UNCHANGED] * len(encoded))


@torch.no_grad()
def _loss(split: _Set, objective: Term, batch_size: int, reads: bool) -> float:
    """The mean of the objective over a split, without dropout."""
    model = split.facts.classifier.model.eval()
    order = sorted(range(len(split.facts.encoded)), key=lambda i: len(split.facts.encoded[i]))
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return sum(float(objective(split.step(model, rows, reads))) * len(rows) for rows in batches) / len(order)


def bucketed(encoded: Sequence[Encoded], size: int, seed: int, epoch: int) -> list[list[int]]:
    """Batches of texts of about the same length (±10 % noise, so that neighbours change), in a random order."""
    draw = random.Random(f"{seed}/{epoch}")
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]) * draw.uniform(0.9, 1.1))
    batches = [order[i : i + size] for i in range(0, len(order), size)]
    draw.shuffle(batches)
    return batches


def metrics(classifier: Classifier, results: Sequence[Result], labels: Sequence[int]) -> dict[str, Any]:
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


def _rate(settings: Settings, step: int, steps: int) -> float:
    if settings.warmup == 0:
        return 1.0
    warm = max(1, int(settings.warmup * steps))
    return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))


def _say_what_was_cut(encoded: Sequence[Encoded], say: Say) -> None:
    cut = [e.unseen for e in encoded if e.unseen]
    if cut:
        say(
            f"{len(cut)} of {len(encoded)} texts are longer than the model's limit; {sum(cut)} words at their ends are not read"
        )
