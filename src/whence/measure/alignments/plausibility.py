"""Plausibility of a mask: are the words that it touches those that people marked? (Jiang et al. 2021, on e-SNLI contradictions)

A word of either sentence is in the rationale if any of its word pairs is kept. Premise and hypothesis are separate keys; both
measures are ERASER's (DeYoung et al. 2020, see `measure/plausibility.py`), but the words are chosen by the mask, not by a share
of the highest scores. A sentence that nobody marked is no key. Cost: none.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from whence.data import runs
from whence.measure.plausibility import HIT, iou
from whence.models import Encoded

Key = tuple[Bool[np.ndarray, " words"], Bool[np.ndarray, " words"]]
"""(words of the rationale, words that any annotator marked) of one sentence."""


def touched_words(kept: Bool[np.ndarray, "premise hypothesis"], encoded: Encoded) -> list[Key]:
    """The sentences that somebody marked."""
    sides = zip((kept.any(1), kept.any(0)), encoded.fields, strict=True)
    keys = [(np.asarray(words), encoded.example.highlighted_words(name)) for words, name in sides]
    return [(words, gold) for words, gold in keys if gold.any()]


def iou_row(keys: Sequence[Key]) -> tuple[float, float, float, float]:
    """(sum of precisions, keys with predictions, sum of recalls, keys): aggregate with `f1_of_means`."""
    precisions, recalls = [], []
    for words, marked in keys:
        predicted, gold = runs(words), runs(marked)
        hits = sum(max(iou(p, g) for g in gold) >= HIT for p in predicted)
        if predicted:
            precisions.append(hits / len(predicted))
        recalls.append(hits / len(gold))
    return float(sum(precisions)), float(len(precisions)), float(sum(recalls)), float(len(recalls))


def token_f1_row(keys: Sequence[Key]) -> tuple[float, float]:
    """(sum of the keys' F1, keys): aggregate with `mean_over_keys`. `gold` is never empty."""
    total = sum(2 * float((words & gold).sum()) / float(words.sum() + gold.sum()) for words, gold in keys)
    return total, float(len(keys))
