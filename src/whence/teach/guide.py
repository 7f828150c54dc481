"""Guided training: attention that is imposed on a model, in training and afterwards, instead of what it would learn.

  α_i = 1/n over the text's n tokens ("uniform"), or the attention of another trained model, given by its folder

If a model without context of its own (`mlp`) gets better with another model's attention than with uniform weights, that
attention says something about the words that holds beyond the model it came from (Wiegreffe & Pinter 2019, §3.4). Start, end
and padding get nothing. Cost: one pass of the guiding model over each split.
"""

from collections.abc import Sequence

import numpy as np

from whence.errors import BadInput
from whence.models import Classifier, Encoded, Intervention
from whence.run import Request, Runner
from whence.teach.tasks.classification import Guide

UNIFORM = "uniform"


def imposed(name: str) -> Guide:
    """`name`: "uniform" or the folder of a model."""
    if name == UNIFORM:
        return lambda encoded: [Intervention(attention=uniform(e)) for e in encoded]
    model = Classifier.load(name)

    def guide(encoded: Sequence[Encoded]) -> list[Intervention]:
        theirs = model.encode([e.example for e in encoded])
        if any(not np.array_equal(a.ids, b.ids) for a, b in zip(theirs, encoded, strict=True)):
            raise BadInput(f"the guide {name} reads other tokens than the model; expected the same vocabulary and data")
        results = Runner(model, remembered=0).run([Request(e, want=frozenset({"attention"})) for e in theirs])
        return [Intervention(attention=on_text(r.extras["attention"], e)) for e, r in zip(encoded, results, strict=True)]

    return guide


def uniform(encoded: Encoded) -> np.ndarray:
    return on_text(np.ones(len(encoded), dtype=np.float32), encoded)


def on_text(attention: np.ndarray, encoded: Encoded) -> np.ndarray:
    """As a distribution over the text's own tokens; all zeros for an empty text."""
    kept = attention * (encoded.field >= 0)
    return kept / max(float(kept.sum()), 1e-30)
