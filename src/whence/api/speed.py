"""How fast is it here? A few real batches, timed: of a training, and of passes under alignment masks."""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from whence.data import Corpus
from whence.explain.alignments.method import pair_asks
from whence.models import Classifier, Encoded
from whence.run import Runner
from whence.run.masks import MaskRounds, drive_masks
from whence.teach import Job
from whence.teach.job import prepared, task_for
from whence.teach.loop import default_device
from whence.teach.objectives import total, what_is_read

STEPS, PAIRS, MASKS = 4, 8, 64


def training_step(job: Job, corpus: Corpus, device: torch.device | None = None) -> dict[str, Any]:
    """Steps and time of a training, from a few steps on its own texts; early stopping makes it shorter."""
    job, splits, *_ = prepared(job, corpus)
    examples, settings, size = splits["train"], job.settings, job.settings.batch_size
    task = task_for(job, corpus, examples)
    task.model.to(device or default_device())
    split = task.prepare(examples[:: max(1, len(examples) // (STEPS * size))][: STEPS * size])
    objective = total(settings.objective, settings.options, split.facts)
    reads = what_is_read(settings.objective, task.gives)
    optimizer = torch.optim.AdamW(task.groups(settings))
    task.model.train()
    seconds = []
    for start in range(0, len(split.lengths), size):
        began = time.perf_counter()
        objective(split.step(range(start, min(start + size, len(split.lengths))), reads)).backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - began)
    each = float(np.median(seconds[1:] or seconds))  # the first one warms up
    steps = math.ceil(len(examples) / size)
    return {
        "examples": len(examples), "epochs": job.settings.epochs, "steps_per_epoch": steps,
        "steps": steps * job.settings.epochs, "seconds_per_step": each, "seconds": each * steps * job.settings.epochs,
    }  # fmt: skip


def mask_speed(classifier: Classifier, encoded: Sequence[Encoded]) -> float:
    """Passes under a mask per second."""
    sample = list(encoded[:: max(1, len(encoded) // PAIRS)][:PAIRS])
    asks = pair_asks(classifier, sample)

    def some(shape: tuple[int, int], read: bool) -> MaskRounds[int]:
        if not read:
            return 0
        yield np.ones((MASKS, *shape), dtype=np.float32)
        return MASKS

    began = time.perf_counter()
    ran = sum(drive_masks(Runner(classifier), sample, [some(ask.shape, bool(ask.read.any())) for ask in asks]))
    return max(1, ran) / max(time.perf_counter() - began, 1e-9)
