"""The one training loop: any task, objective terms that add up, the best epoch, early stopping, exact resume.

The order of batches is drawn from (seed, epoch) alone and random state is part of a checkpoint, so a training that was killed
and continued ends with the same weights as one that ran through. One process trains one model; many models at once are many
pieces of an engine (run/engine.py).
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import set_seed

from whence.data import Example
from whence.errors import BadInput, unknown
from whence.run import progress
from whence.teach.checkpoint import load_checkpoint, load_weights, save_checkpoint, save_weights
from whence.teach.objectives import Term, total, what_is_read, wished_selection
from whence.teach.settings import Settings
from whence.teach.tasks.task import Scores, Split, Task

CHUNK = 8
"""Batches that are sorted by a second length together."""


Say = Callable[[str], None]


def train(
    task: Task, train_set: Sequence[Example], dev_set: Sequence[Example], settings: Settings, folder: Path, say: Say = print,
    device: torch.device | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Train the task's model and leave the best epoch in it; returns the history. Continues from `folder`/checkpoint."""
    set_seed(settings.seed)
    model = task.model.to(device or default_device())
    settings = filled(settings, task)
    selected_by = next(metric for metric in task.metrics if metric.name == settings.select)
    reads = what_is_read(settings.objective, task.gives)
    training, dev = task.prepare(train_set), task.prepare(dev_set)
    for warning in training.warnings:
        say(warning)
    objective = total(settings.objective, settings.options, training.facts)
    dev_objective = None
    if "loss" in {selected_by.name, *task.always}:  # asks the same terms about the dev set
        dev_objective = total(settings.objective, settings.options, replace(dev.facts, training=training.facts))
    groups = task.groups(settings)
    rates = [group["lr"] for group in groups]
    # fused: on a CPU one pass over a large embedding table instead of a dozen
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=model.device.type in ("cpu", "cuda"))
    steps_per_epoch = math.ceil(len(train_set) / settings.batch_size)
    if not task.may_be_kept(settings.epochs * steps_per_epoch):
        raise BadInput(f"{settings.epochs * steps_per_epoch} batches of training end before any model that could be kept; "
                       "expected more epochs, or fewer early_steps")  # fmt: skip
    state = load_checkpoint(folder / "checkpoint", model, optimizer, objective.learners)
    if state is None:
        state = {"epoch": 0, "step": 0, "loss": 0.0, "best": None, "best_epoch": -1, "history": []}
    else:
        say(f"continuing at epoch {state['epoch'] + 1}, step {state['step']}")
    saved = time.monotonic()
    while state["epoch"] < settings.epochs and (state["best"] is None or _patient(settings, state)):
        batches = bucketed(training.lengths, settings.batch_size, settings.seed, state["epoch"])
        model.train()
        with progress(f"epoch {state['epoch'] + 1}/{settings.epochs}", len(batches), state["step"]) as tick:
            while state["step"] < len(batches):
                rate = _rate(settings, state["epoch"] * steps_per_epoch + state["step"], settings.epochs * steps_per_epoch)
                for group, full in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = full * rate
                with torch.autocast(model.device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
                    loss = objective(training.step(batches[state["step"]], reads))
                if not torch.isfinite(loss):
                    raise BadInput(
                        f"the loss is {loss.item()} at epoch {state['epoch'] + 1}, step {state['step']}: lower --learning-rate"
                    )
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
                optimizer.step()
                optimizer.zero_grad()
                state["loss"] += loss.item()
                state["step"] += 1
                tick(1)
                if time.monotonic() - saved > settings.checkpoint_seconds:
                    save_checkpoint(folder / "checkpoint", model, optimizer, state, objective.learners)
                    saved = time.monotonic()
        model.eval()
        train_loss = state["loss"] / max(1, len(batches))
        scores, _ = task.evaluate(dev)
        if dev_objective is not None:
            scores["loss"] = mean_loss(dev, dev_objective, settings.batch_size, reads)
        reports = {name: learner.report() for name, learner in objective.learners.items()}
        state["history"].append(
            {"epoch": state["epoch"] + 1, "loss": train_loss, "dev": scores, **({"terms": reports} if reports else {})}
        )
        for name, report in reports.items():
            say(f"{name}: {', '.join(f'{what} {value:.4g}' for what, value in report.items() if not isinstance(value, str))}")
            if report["stopped"]:
                say(f"{name} has stopped: {report['stopped']}")
        say(f"epoch {state['epoch'] + 1}: loss {train_loss:.4f}, {_shown(task, scores)}")
        reached = selected_by.gain({**scores, "train_loss": train_loss}[selected_by.name])
        counts = task.may_be_kept((state["epoch"] + 1) * steps_per_epoch)
        if counts and (state["best"] is None or reached > state["best"]):
            state["best"], state["best_epoch"] = reached, state["epoch"]
            save_weights(folder / "best.safetensors", model)
        state.update(epoch=state["epoch"] + 1, step=0, loss=0.0)
        save_checkpoint(folder / "checkpoint", model, optimizer, state, objective.learners)
        saved = time.monotonic()
    load_weights(folder / "best.safetensors", model)
    model.eval()
    best = state["history"][state["best_epoch"]]
    stopped = [f"{name} stopped during training: {r['stopped']}" for name, r in _last_reports(state).items() if r["stopped"]]
    return {"dev": best["dev"], "best_epoch": best["epoch"], "history": state["history"], "warnings": stopped}


def _patient(settings: Settings, state: dict[str, Any]) -> bool:
    return bool(state["epoch"] - state["best_epoch"] <= settings.patience)


def _last_reports(state: dict[str, Any]) -> dict[str, Any]:
    return dict(state["history"][-1].get("terms", {}))


def default_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def filled(settings: Settings, task: Task | type[Task]) -> Settings:
    """With what the user left open: the task's usual objective; the metric that the objectives wish, or the task's usual."""
    objective = settings.objective or {task.objective: 1.0}
    select = settings.select or wished_selection(objective) or task.select
    known = [metric.name for metric in task.metrics]
    if select not in known:
        raise unknown("metric to select by", select, known)
    return settings.model_copy(update={"objective": objective, "select": select})


@torch.no_grad()
def mean_loss(split: Split, objective: Term, batch_size: int, reads: frozenset[str]) -> float:
    """The mean of the objective over a split, without dropout."""
    order = sorted(range(len(split.lengths)), key=split.lengths.__getitem__)
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return sum(float(objective(split.step(rows, reads))) * len(rows) for rows in batches) / len(order)


def bucketed(lengths: Sequence[tuple[int, ...]], size: int, seed: int, epoch: int) -> list[list[int]]:
    """Batches of examples of about the same length (±10 % noise, so that neighbours change), in a random order.

    With two lengths (source, target): by the first, and within every few batches by the second.
    """
    draw = random.Random(f"{seed}/{epoch}")
    order = sorted(range(len(lengths)), key=lambda i: lengths[i][0] * draw.uniform(0.9, 1.1))
    for further in range(1, len(lengths[0])):
        chunks = [order[i : i + CHUNK * size] for i in range(0, len(order), CHUNK * size)]
        order = [i for chunk in chunks for i in sorted(chunk, key=lambda i: lengths[i][further])]
    batches = [order[i : i + size] for i in range(0, len(order), size)]
    draw.shuffle(batches)
    return batches


def _shown(task: Task, scores: Scores) -> str:
    return ", ".join(f"dev {m.name} {scores[m.name]:.4f}" for m in task.metrics if m.name in scores)


def _rate(settings: Settings, step: int, steps: int) -> float:
    if settings.warmup == 0:
        return 1.0
    warm = max(1, int(settings.warmup * steps))
    return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))
