"""How long will a training take here? A few real batches and a few texts of dev, timed; the rest is multiplication.

  seconds = start + texts · reading + epochs · (steps · step + dev texts · (loss + judging)) + test texts · judging

Early stopping makes it shorter. A model that writes is judged by what it writes, and is timed before it has learned to stop: it
may write more or less than later.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn
from transformers import set_seed

from whence.data import Corpus, Example
from whence.run.plan import Clock, now
from whence.teach.job import Job, task_for
from whence.teach.loop import bucketed, default_device, mean_loss
from whence.teach.objectives import total, what_is_read
from whence.teach.tasks import Task

BATCHES, JUDGED, ENOUGH = 12, 64, 1.5
"""At most so many batches, or until so many seconds of CPU are spent; and so many texts of dev."""
Timed = np.ndarray
"""float[2]: seconds by the clock, and of CPU."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class TrainingCost:
    start: Timed
    """The model and its vocabulary."""
    reading: Timed
    """Of one text: what is done once."""
    step: Timed
    loss: Timed
    """Of one text of dev, where the loss on dev is asked for."""
    judging: Timed
    """Of one text of dev or test."""
    judged: int | None
    """At most so many of a split are judged; None: all."""

    def seconds(self, train: int, dev: int, test: int, epochs: int, batch_size: int) -> Timed:
        dev_, test_ = (min(n, self.judged or n) for n in (dev, test))
        each = math.ceil(train / batch_size) * self.step + dev * self.loss + dev_ * self.judging
        return self.start + (train + dev + test) * self.reading + epochs * each + test_ * self.judging


def training_cost(
    job: Job, corpus: Corpus, splits: dict[str, list[Example]], device: torch.device | None = None, clock: Clock = now
) -> tuple[TrainingCost, Task]:
    """Of a job whose settings are filled in (`prepared`); and the task, whose model has seen a few batches."""
    settings, size = job.settings, job.settings.batch_size

    def timed(work: Callable[[], Value]) -> tuple[Timed, Value]:
        before = clock()
        value = work()
        return np.array(clock()) - np.array(before), value

    set_seed(settings.seed)
    start, task = timed(lambda: task_for(job, corpus, splits["train"]))
    model = task.model.to(device or default_device())
    some, few = _spread(splits["train"], BATCHES * size), _spread(splits["dev"], JUDGED)
    reading, training = timed(lambda: task.prepare(some))
    building, objective = timed(lambda: total(settings.objective, settings.options, training.facts))
    reads = what_is_read(settings.objective, task.gives)
    optimizer = torch.optim.AdamW(task.groups(settings), fused=model.device.type in ("cpu", "cuda"))

    def one_step(rows: Sequence[int]) -> None:
        with torch.autocast(model.device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
            loss = objective(training.step(rows, reads))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()

    model.train()
    steps: list[Timed] = []
    for rows in bucketed(training.lengths, size, settings.seed, 0):
        steps.append(timed(lambda rows=rows: one_step(rows))[0])  # type: ignore[misc]
        if len(steps) > 2 and sum(step[1] for step in steps[1:]) > ENOUGH:
            break
    model.eval()
    dev = task.prepare(few)
    judging, _ = timed(lambda: task.evaluate(dev))
    loss = np.zeros(2)
    if "loss" in {settings.select, *task.always}:
        on_dev = total(settings.objective, settings.options, replace(dev.facts, training=training.facts))
        loss, _ = timed(lambda: mean_loss(dev, on_dev, size, reads))
    step = np.mean(steps[1:] or steps, axis=0)  # the first one warms up
    writes = settings.generated if job.template is not None else None
    return TrainingCost(start, (reading + building) / len(some), step, loss / len(few), judging / len(few), writes), task


def _spread(examples: Sequence[Any], count: int) -> list[Any]:
    return list(examples[:: max(1, len(examples) // count)][:count])
