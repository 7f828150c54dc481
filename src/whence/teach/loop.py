"""The one training loop: any model, objective terms that add up, the best epoch by dev macro-F1, early stopping, exact resume.

The order of batches is drawn from (seed, epoch) alone and random state is part of a checkpoint, so a training that was killed
and continued ends with the same weights as one that ran through.
"""

import json
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from pydantic import BaseModel, ConfigDict, Field
from safetensors.torch import load_file
from sklearn.metrics import accuracy_score, f1_score
from transformers import PreTrainedModel

from whence.data import Example
from whence.errors import BadInput
from whence.models import Classifier, Encoded, collate
from whence.run import Result, Runner, progress
from whence.teach.checkpoint import load_checkpoint, save_checkpoint, save_weights
from whence.teach.objectives import CorpusFacts, Step, total


class Settings(BaseModel):
    """Hyper-parameters; what is written to config.json."""

    model_config = ConfigDict(extra="forbid")
    objective: dict[str, float] = {"cross_entropy": 1.0}
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


def train(
    model: PreTrainedModel, tokenizer: Any, train_set: Sequence[Example], dev_set: Sequence[Example], settings: Settings,
    folder: Path, say: Say = print,
) -> tuple[Classifier, dict[str, Any]]:  # fmt: skip
    """Train, keep the best epoch; returns it with its history. Continues from `folder`/checkpoint if there is one."""
    set_seed(settings.seed)
    accelerator = Accelerator()
    model = model.to(accelerator.device)
    classifier = Classifier(model, tokenizer)
    encoded, labels = classifier.encode(train_set), label_numbers(classifier, train_set)
    dev_encoded, dev_labels = classifier.encode(dev_set), label_numbers(classifier, dev_set)
    _say_what_was_cut(encoded, say)
    objective = total(settings.objective, CorpusFacts(torch.tensor(labels), len(classifier.labels)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    wrapped, optimizer = accelerator.prepare(model, optimizer)
    steps_per_epoch = math.ceil(len(encoded) / settings.batch_size)
    state = load_checkpoint(folder / "checkpoint", model, optimizer)
    if state is None:
        state = {"epoch": 0, "step": 0, "loss": 0.0, "best": None, "best_epoch": -1, "history": []}
    else:
        say(f"continuing at epoch {state['epoch'] + 1}, step {state['step']}")
    saved = time.monotonic()
    while state["epoch"] < settings.epochs and state["epoch"] - state["best_epoch"] <= settings.patience:
        batches = bucketed(encoded, settings.batch_size, settings.seed, state["epoch"])
        batches = batches[accelerator.process_index :: accelerator.num_processes]
        model.train()
        with progress(f"epoch {state['epoch'] + 1}/{settings.epochs}", len(batches), state["step"]) as tick:
            while state["step"] < len(batches):
                rows = batches[state["step"]]
                rate = _rate(settings, state["epoch"] * steps_per_epoch + state["step"], settings.epochs * steps_per_epoch)
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * rate
                batch = collate([encoded[i] for i in rows], classifier.pad_id, accelerator.device)
                gold = torch.tensor([labels[i] for i in rows], device=accelerator.device)
                loss = objective(Step(batch, gold, wrapped(**batch.inputs())))
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
        scores = metrics(classifier, Runner(classifier).predict(dev_encoded), dev_labels)
        state["history"].append({"epoch": state["epoch"] + 1, "loss": state["loss"] / max(1, len(batches)), "dev": scores})
        say(f"epoch {state['epoch'] + 1}: loss {state['history'][-1]['loss']:.4f}, dev macro-F1 {scores['macro_f1']:.4f}")
        if state["best"] is None or scores["macro_f1"] > state["best"]:
            state["best"], state["best_epoch"] = scores["macro_f1"], state["epoch"]
            save_weights(folder / "best.safetensors", model)
        state.update(epoch=state["epoch"] + 1, step=0, loss=0.0)
        save_checkpoint(folder / "checkpoint", model, optimizer, state)
        saved = time.monotonic()
    model.load_state_dict(load_file(folder / "best.safetensors"))
    model.eval()
    best = state["history"][state["best_epoch"]]
    return classifier, {"dev": best["dev"], "best_epoch": best["epoch"], "history": state["history"]}


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
