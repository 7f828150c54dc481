"""How good written rationales are, from the answers of models that read them. Pure functions over labels; no passes.

I is the input, R a rationale, O the label. `gold` is what counts as right: the corpus' labels, or the model's own predictions.

  quality         Acc(IR→O) − Acc(I→O)       against gold labels (Wiegreffe et al. 2021)
  simulatability  the same against the explained model's own predictions: does R help to guess what it said?
  sufficiency     Acc(IR→O) − Acc(R→O)       what the input adds to the rationale; 0: the rationale alone is enough
  leakage-adjusted simulatability (Hase et al. 2020): rationales that give the label away and those that do not are counted
                  apart, and the two means are averaged. A rationale leaks where it names the predicted label (`names_label`);
                  Hase et al. say: where R→O finds it from the rationale alone

Quality is not monotone under noise: rationales that have become unusable are ignored by IR→O, and it returns towards 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import regex
from jaxtyping import Bool, Float

from whence.errors import BadInput
from whence.measure.measure import mean
from whence.measure.statistics import Estimate, bootstrap

Labels = Sequence[str | None]


def accuracy_gain(gold: Labels, with_more: Labels, with_less: Labels) -> Float[np.ndarray, " examples"]:
    """For each example 1 if only `with_more` is right, −1 if only `with_less` is, else 0: its mean is a gain in accuracy."""
    return _right(gold, with_more) - _right(gold, with_less)


def quality(gold: Labels, ir_o: Labels, i_o: Labels, seed: int = 0) -> Estimate:
    """Acc(IR→O) − Acc(I→O); against a model's own predictions as `gold` it is simulatability."""
    return bootstrap(accuracy_gain(gold, ir_o, i_o)[:, None], mean, seed)


def sufficiency(gold: Labels, ir_o: Labels, r_o: Labels, seed: int = 0) -> Estimate:
    """Acc(IR→O) − Acc(R→O)."""
    return bootstrap(accuracy_gain(gold, ir_o, r_o)[:, None], mean, seed)


@dataclass(frozen=True)
class Simulatability:
    """`adjusted` is the mean of both kinds, or the one kind that there is."""

    plain: float
    leaking: float | None
    other: float | None
    leaking_share: float
    adjusted: float


def leakage_adjusted(own: Labels, ir_o: Labels, i_o: Labels, leaks: Bool[np.ndarray, " examples"]) -> Simulatability:
    """`own` are the explained model's predictions."""
    gain, leaks = accuracy_gain(own, ir_o, i_o), np.asarray(leaks, dtype=bool)
    if len(leaks) != len(gain):
        raise BadInput(f"{len(leaks)} rationales are marked as leaking or not; expected {len(gain)}, one for each example")
    kinds = [float(gain[chosen].mean()) if chosen.any() else None for chosen in (leaks, ~leaks)]
    there = [value for value in kinds if value is not None]
    return Simulatability(float(gain.mean()), kinds[0], kinds[1], float(leaks.mean()), float(np.mean(there)))


def names_label(rationales: Sequence[str], labels: Labels) -> Bool[np.ndarray, " examples"]:
    """Rationales in which the predicted label stands as words of its own, in any case."""
    return np.array([label is not None and _stands_in(label, text) for text, label in zip(rationales, labels, strict=True)])


def _stands_in(label: str, text: str) -> bool:
    spelled = r"\s+".join(map(regex.escape, label.split()))
    return bool(spelled) and regex.search(rf"(?<!\w){spelled}(?!\w)", text, regex.IGNORECASE | regex.FULLCASE) is not None


def _right(gold: Labels, predicted: Labels) -> np.ndarray:
    """1 where the label is the right one; an output without a label is wrong, also where gold has none."""
    if len(gold) != len(predicted) or not gold:
        raise BadInput(f"{len(predicted)} predictions for {len(gold)} labels; expected one for each, and at least one")
    return np.array([float(p is not None and p == g) for g, p in zip(gold, predicted, strict=True)])
