"""How fast is it here? A few real batches, timed: of a training, and of passes under alignment masks."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from whence.data import Corpus
from whence.explain.alignments.method import pair_asks
from whence.models import Classifier, Encoded, collate
from whence.models.build import build_model
from whence.run.masks import MaskRunner, MaskSteps
from whence.teach import Job, label_numbers

STEPS, PAIRS, MASKS = 4, 8, 64


def training_step(job: Job, corpus: Corpus) -> dict[str, Any]:
    """Steps and time of a training, from a few steps on its own texts; early stopping makes it shorter."""
    examples = corpus.load("train", job.limit, job.settings.seed)
    texts = (text for example in examples for text in example.texts.values())
    model, tokenizer = build_model(
        job.model, corpus.labels, texts, Path(job.vectors) if job.vectors else None, dict(job.options)
    )
    classifier = Classifier(model.train(), tokenizer)
    size = job.settings.batch_size
    sample = examples[:: max(1, len(examples) // (STEPS * size))][: STEPS * size]
    encoded, labels = classifier.encode(sample), torch.tensor(label_numbers(classifier, sample))
    optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
    seconds = []
    for start in range(0, len(encoded), size):
        began = time.perf_counter()
        batch = collate(encoded[start : start + size], classifier.pad_id, classifier.device)
        logits, _ = classifier.training_pass(model, batch, False)
        cross_entropy(logits, labels[start : start + size]).backward()
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

    def some(shape: tuple[int, int], read: bool) -> MaskSteps[int]:
        if not read:
            return 0
        yield np.ones((MASKS, *shape), dtype=np.float32)
        return MASKS

    began = time.perf_counter()
    ran = sum(MaskRunner(classifier, sample).drive([some(ask.shape, bool(ask.read.any())) for ask in asks]))
    return max(1, ran) / max(time.perf_counter() - began, 1e-9)
