"""Plausibility: does an explanation point at the words that people marked? (DeYoung et al. 2020, as their scorer counts.)

The gold rationale of a text is every word that any annotator marked. The predicted one is its top k words by score, where k is
the corpus' mean share of marked words times the words of that text (halves up, at least 1). Premise and hypothesis are separate
keys. A text without any mark has no key: nobody was asked to mark it (premises of neutral e-SNLI pairs), so nothing is
predicted there and nothing missed. Words that the model never read cannot be predicted, and stay in the gold.

  iou_f1    runs of words; a predicted run is a hit if its IoU with some gold run of the same key is ≥ 0.5. Precision = hits /
            predicted runs, recall = hits / gold runs; precision is averaged over keys with predictions, recall over keys with
            gold, THEN F1
  token_f1  F1 of predicted against gold words of each key (0 if either is empty); mean over keys
  auprc     area under the precision–recall curve of a key's scores by the trapezoid rule, from precision 1 at recall 0, as
            ERASER's scorer does it (scikit-learn's precision_recall_curve and auc); mean over keys. The straight lines between
            points flatter short texts (Davis & Goadrich 2006), so it is also done without them:
  average_precision   Σ (recall gained) × precision, in one ranking of the words of all marked texts of an example

In the last two equal scores enter together, and words never read come last.

Not defined where nothing is marked. Cost: none.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from whence.data import runs
from whence.explain.rationale import check_share, top_share
from whence.measure.measure import Family, Judged, Measure, Value
from whence.run import Rounds

HIT = 0.5


@dataclass(frozen=True, eq=False)
class Key:
    """One marked text of one example."""

    gold: Bool[np.ndarray, " words"]
    scores: Float[np.ndarray, " words"]
    seen: Bool[np.ndarray, " words"]

    @property
    def unread_last(self) -> Float[np.ndarray, " words"]:
        return np.where(self.seen, self.scores, self.scores.min() - 1)


def marked_texts(judged: Judged) -> list[Key]:
    """The texts of an example that somebody marked."""
    encoded, found = judged.encoded, []
    for number, name in enumerate(encoded.fields):
        gold, here = encoded.example.highlighted_words(name), encoded.word_fields == number
        if gold.any():
            found.append(Key(gold, judged.scores[here], encoded.seen[here]))
    return found


def iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    common = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return common / (a[1] - a[0] + b[1] - b[0] - common)


def iou_row(keys: list[Key], share: float) -> tuple[float, float, float, float]:
    """(sum of precisions, keys with predictions, sum of recalls, keys with gold): what the aggregate needs."""
    precisions, recalls = [], []
    for key in keys:
        predicted, gold = runs(top_share(key.scores, share, key.seen)), runs(key.gold)
        hits = sum(max(iou(p, g) for g in gold) >= HIT for p in predicted)
        if predicted:
            precisions.append(hits / len(predicted))
        recalls.append(hits / len(gold))
    return float(sum(precisions)), float(len(precisions)), float(sum(recalls)), float(len(recalls))


def token_f1_row(keys: list[Key], share: float) -> tuple[float, float]:
    """(sum of the keys' F1, keys)."""
    total = 0.0
    for key in keys:
        predicted = top_share(key.scores, share, key.seen)
        total += 2 * float((predicted & key.gold).sum()) / float(predicted.sum() + key.gold.sum())
    return total, float(len(keys))


def precision_recall(
    gold: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """(precision, recall) at every threshold, the highest first; before them the point (1, 0). `gold` must not be empty."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # equal scores share one threshold
    found = np.cumsum(gold[order])[ends]
    return np.append(1.0, found / (ends + 1)), np.append(0.0, found / gold.sum())


def average_precision(gold: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> float:
    """Σ over thresholds of (recall gained) × precision, as scikit-learn's average_precision_score."""
    precision, recall = precision_recall(gold, scores)
    return float((np.diff(recall) * precision[1:]).sum())


def auprc(gold: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> float:
    """The area under straight lines between the points."""
    precision, recall = precision_recall(gold, scores)
    return float((np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum())


def auprc_row(keys: list[Key]) -> tuple[float, float]:
    """(sum of the keys' areas, keys)."""
    return sum(auprc(key.gold, key.unread_last) for key in keys), float(len(keys))


def average_precision_row(keys: list[Key]) -> tuple[float]:
    gold, scores, seen = (np.concatenate([getattr(key, name) for key in keys]) for name in ("gold", "scores", "seen"))
    return (average_precision(gold, Key(gold, scores, seen).unread_last),)


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top / bottom; 0 where bottom is 0."""
    return np.divide(top, bottom, out=np.zeros_like(top, dtype=np.float64), where=bottom > 0)


def f1_of_means(rows: Float[np.ndarray, "*batch examples 4"]) -> Float[np.ndarray, " *batch"]:
    sums = rows.sum(axis=-2)
    precision, recall = _ratio(sums[..., 0], sums[..., 1]), _ratio(sums[..., 2], sums[..., 3])
    return _ratio(2 * precision * recall, precision + recall)


def mean_over_keys(rows: Float[np.ndarray, "*batch examples 2"]) -> Float[np.ndarray, " *batch"]:
    sums = rows.sum(axis=-2)
    return _ratio(sums[..., 0], sums[..., 1])


def _rounds(row: Callable[[list[Key]], tuple[float, ...]]) -> Callable[[Judged], Rounds[Value]]:
    def rounds(judged: Judged) -> Rounds[Value]:
        yield []
        keys = marked_texts(judged)
        return row(keys) if keys else None

    return rounds


def plausibility_measures(share: float) -> list[Measure]:
    """`share` of a text's words is the predicted rationale: the mean share of marked words in the corpus."""
    check_share(share)
    paper, chance = "DeYoung et al. 2020", "the random row"
    family: Family = "plausibility"
    return [
        Measure("iou_f1", "IOU-F1", "Do the top words form the phrases that people marked? F1 of runs that overlap by half.",
                paper, "higher", 0.0, 1.0, chance, _rounds(lambda keys: iou_row(keys, share)), f1_of_means, True, family),
        Measure("token_f1", "Token-F1", "F1 of the top words against the words that people marked.",
                paper, "higher", 0.0, 1.0, chance, _rounds(lambda keys: token_f1_row(keys, share)), mean_over_keys, True,
                family),
        Measure("auprc", "AUPRC", "How well the scores rank the words that people marked above the others; ERASER's area.",
                paper, "higher", 0.0, 1.0, chance, _rounds(auprc_row), mean_over_keys, True, family),
        Measure("average_precision", "Average precision",
                "How well the scores rank the words that people marked above the others, without lines between points.",
                "Davis & Goadrich 2006", "higher", 0.0, 1.0, chance, _rounds(average_precision_row), needs_highlights=True,
                family=family),
    ]  # fmt: skip
