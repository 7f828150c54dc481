"""Guided training: attention that is imposed on a model, in training and afterwards, instead of what it would learn.

  α_i = 1/n over the text's n tokens ("uniform"), or the attention of another trained model, given by its folder

If a model without context of its own (`mlp`) gets better with another model's attention than with uniform weights, that
attention says something about the words that holds beyond the model it came from (Wiegreffe & Pinter 2019, §3.4). Start, end
and padding get nothing. A control: the same weights `shuffled` among the tokens of each text say nothing of its words; what
they still teach leaks through the weights themselves (how peaked they are).

Cost: one pass of the guiding model over each split.
"""

import zlib
from collections.abc import Sequence

import numpy as np

from whence.errors import BadInput
from whence.models import Classifier, Encoded, Intervention
from whence.run import Request, Runner
from whence.teach.tasks.classification import Guide

UNIFORM = "uniform"


def imposed(name: str, shuffled: bool = False) -> Guide:
    """`name`: "uniform" or the folder of a model; `shuffled`: its weights change places within each text, by the text's id."""
    if name == UNIFORM:
        return lambda encoded: [Intervention(attention=uniform(e)) for e in encoded]
    model = Classifier.load(name)

    def guide(encoded: Sequence[Encoded]) -> list[Intervention]:
        theirs = model.encode([e.example for e in encoded])
        if any(not np.array_equal(a.ids, b.ids) for a, b in zip(theirs, encoded, strict=True)):
            raise BadInput(f"the guide {name} reads other tokens than the model; expected the same vocabulary and data")
        results = Runner(model, remembered=0).run([Request(e, want=frozenset({"attention"})) for e in theirs])
        weights = [on_text(r.extras["attention"], e) for e, r in zip(encoded, results, strict=True)]
        if shuffled:
            weights = [shuffle(w, e) for w, e in zip(weights, encoded, strict=True)]
        return [Intervention(attention=w) for w in weights]

    return guide


def shuffle(weights: np.ndarray, encoded: Encoded) -> np.ndarray:
    """Among the text's own tokens; the same text is always shuffled alike."""
    places = np.flatnonzero(encoded.field >= 0)
    out = weights.copy()
    out[places] = weights[np.random.default_rng(zlib.crc32(encoded.example.id.encode())).permutation(places)]
    return out


def uniform(encoded: Encoded) -> np.ndarray:
    return on_text(np.ones(len(encoded), dtype=np.float32), encoded)


def on_text(attention: np.ndarray, encoded: Encoded) -> np.ndarray:
    """As a distribution over the text's own tokens; all zeros for an empty text."""
    kept = attention * (encoded.field >= 0)
    return kept / max(float(kept.sum()), 1e-30)
