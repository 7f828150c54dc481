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
from whence.teach.cost import training_cost
from whence.teach.job import prepared

PAIRS, MASKS = 8, 64


def training_step(job: Job, corpus: Corpus, device: torch.device | None = None) -> dict[str, Any]:
    """Steps and time of a training, from a few steps on its own texts; early stopping makes it shorter."""
    job, splits, *_ = prepared(job, corpus)
    cost, _ = training_cost(job, corpus, splits, device)
    sizes = [len(splits.get(split, ())) for split in ("train", "dev", "test")]
    seconds, cpu = cost.seconds(sizes[0], sizes[1], sizes[2], job.settings.epochs, job.settings.batch_size)
    steps = math.ceil(sizes[0] / job.settings.batch_size)
    return {
        "examples": sizes[0], "epochs": job.settings.epochs, "steps_per_epoch": steps, "steps": steps * job.settings.epochs,
        "seconds_per_step": float(cost.step[0]), "seconds": float(seconds), "cpu_seconds": float(cpu),
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
