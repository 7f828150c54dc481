"""Erasure: hide the words that an explanation points at, and see whether the prediction moves.

Words are ranked by decreasing score (ties: the earlier word first) among the N words that the model read.

  decision_flip      smallest share n_s/N of words whose hiding changes the predicted label; 1 if none does
                     n_s = max(1, round-half-up(0.05·s·N)), s = 1…20 (Chrysostomou & Aletras 2021; Serrano & Smith 2019)
  comprehensiveness  mean over k of ŷ(x) − ŷ(x without its top k)
  sufficiency        mean over k of ŷ(x) − ŷ(only its top k)
                     k = 1, 5, 10, 20, 50 % of N, rounded up (ERASER's bins: DeYoung et al. 2020); equal ones count too

ŷ is the score of what was explained: a label's probability. Cost for each explanation: up to 20 + 5 + 5 forward passes, equal
ones asked once.
"""

import numpy as np
from jaxtyping import Int

from whence.explain.tokens import Ask
from whence.measure.measure import Judged, Measure, Value
from whence.run import Request, Rounds

BINS = (0.01, 0.05, 0.10, 0.20, 0.50)
STEP = 0.05


def ranking(judged: Judged) -> Int[np.ndarray, " seen"]:
    """Words from most to least important; words that the model never read are no candidates."""
    seen = np.flatnonzero(judged.encoded.seen)
    return seen[np.argsort(-judged.scores[seen], kind="stable")]


def flip_counts(n: int) -> list[int]:
    """How many words are hidden at 5 %, 10 %, …, 100 %; without repeats."""
    return sorted({max(1, int(STEP * s * n + 0.5)) for s in range(1, round(1 / STEP) + 1)}) if n else []


def hiding(judged: Judged, words: np.ndarray, keep_only: bool = False) -> Request:
    """A pass without `words`, or with nothing but them."""
    kept = np.full(judged.encoded.word_count, not keep_only)
    kept[words] = keep_only
    return Ask(judged.encoded, judged.target, judged.hide).keeping(kept)


def whole(judged: Judged) -> Request:
    """A pass over the example as it is."""
    return Ask(judged.encoded, judged.target, judged.hide).passing()


def decision_flip_rounds(judged: Judged) -> Rounds[Value]:
    order = ranking(judged)
    if not len(order):
        return None
    counts = flip_counts(len(order))
    base, *erased = yield [whole(judged), *(hiding(judged, order[:n]) for n in counts)]
    for n, result in zip(counts, erased, strict=True):
        if result.best != base.best:
            return (n / len(order),)
    return (1.0,)


def _area_rounds(judged: Judged, keep_only: bool) -> Rounds[Value]:
    order = ranking(judged)
    if not len(order):
        return None
    counts = [int(np.ceil(share * len(order))) for share in BINS]
    base, *changed = yield [whole(judged), *(hiding(judged, order[:n], keep_only) for n in counts)]
    return (base.score(judged.target) - float(np.mean([r.score(judged.target) for r in changed])),)


def erasure_curve_rounds(judged: Judged) -> Rounds[list[float]]:
    """ŷ after hiding 0, 5, …, 100 % of the words: float[21]. For the picture; all passes are decision flip's."""
    order = ranking(judged)
    counts = [0, *(max(1, int(STEP * s * len(order) + 0.5)) if len(order) else 0 for s in range(1, round(1 / STEP) + 1))]
    results = yield [hiding(judged, order[:n]) if n else whole(judged) for n in counts]
    return [r.score(judged.target) for r in results]


MEASURES = [
    Measure(
        "decision_flip",
        "Decision flip",
        "Share of words that must be hidden, most important first, until the label changes.",
        "Chrysostomou & Aletras 2021",
        "lower",
        0.0,
        1.0,
        "the random row",
        decision_flip_rounds,
        family="faithfulness",
        unit="share",
    ),
    Measure(
        "comprehensiveness",
        "Comprehensiveness",
        "How far the probability falls when the most important words are hidden (AOPC).",
        "DeYoung et al. 2020",
        "higher",
        -1.0,
        1.0,
        "the random row",
        lambda judged: _area_rounds(judged, keep_only=False),
        family="faithfulness",
    ),
    Measure(
        "sufficiency",
        "Sufficiency",
        "How far the probability falls when only the most important words are left (AOPC).",
        "DeYoung et al. 2020",
        "lower",
        -1.0,
        1.0,
        "the random row",
        lambda judged: _area_rounds(judged, keep_only=True),
        family="faithfulness",
    ),
]
