"""How good a mask is: fidelity, compactness, contiguity, and whether the label is kept (Jiang et al. 2021).

  fidelity     ‖M(x) − M(x, Z)‖₂ of the logits
  compactness  100 · Σ z_ij / cells                                         in percent
  contiguity   1000 · (2 × 2 windows with exactly three ones) / windows      per mille; 0 without windows
  label_kept   1 if the masked prediction is the unmasked one, else 0

Lower is better for the first three. The paper does not name its denominators; here they are the cells that the model reads and
their (rows − 1)(columns − 1) windows. Cost: 1 forward pass.

A method that only scores gets an *induced* mask: the shortest beginning of its cells, best first (equal scores in reading
order), whose fidelity is below a threshold, which may be none of them; the paper's threshold is the fidelity of AREC's mask for
the same pair + 0.1. With all cells the fidelity is 0, so there always is one. Beginnings are tried in blocks that double, and
the first that fits is taken, so the result is that of one cell at a time. Cost: at most twice the cells kept + 16 passes.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from whence.explain.alignments.method import PairAsk
from whence.measure.alignments.aorc import best_first, keeping_best
from whence.run.masks import MaskRounds

MARGIN = 0.1
"""Added to AREC's fidelity to get the threshold of the others."""
FIRST_BLOCK = 16


@dataclass(frozen=True)
class MaskQuality:
    fidelity: float
    compactness: float
    contiguity: float
    label_kept: float


def quality_rounds(ask: PairAsk, kept: Bool[np.ndarray, "premise hypothesis"]) -> MaskRounds[MaskQuality | None]:
    """None for a pair without cells."""
    if not ask.read.any():
        return None
    [logits] = yield kept[None].astype(np.float32)
    rows, columns = ask.read.any(1), ask.read.any(0)
    return MaskQuality(
        float(np.linalg.norm(logits - ask.logits)),
        compactness(kept[np.ix_(rows, columns)]),
        contiguity(kept[np.ix_(rows, columns)]),
        float(int(logits.argmax()) == ask.target),
    )


def compactness(kept: Bool[np.ndarray, "premise hypothesis"]) -> float:
    return 100 * float(kept.mean())


def contiguity(kept: Bool[np.ndarray, "premise hypothesis"]) -> float:
    ones = kept.astype(int)
    windows = ones[:-1, :-1] + ones[:-1, 1:] + ones[1:, :-1] + ones[1:, 1:]
    return 1000 * float((windows == 3).mean()) if windows.size else 0.0


def induce_rounds(
    ask: PairAsk, scores: Float[np.ndarray, "premise hypothesis"], threshold: float
) -> MaskRounds[Bool[np.ndarray, "premise hypothesis"]]:
    """The mask that the scores stand for at this fidelity."""
    order = best_first(ask, scores)
    start, block = 0, FIRST_BLOCK
    while start < len(order):
        counts = np.arange(start, min(start + block, len(order)))
        masks = keeping_best(ask, order, counts)
        logits = yield masks.astype(np.float32)
        near = np.flatnonzero(np.linalg.norm(logits - ask.logits, axis=1) < threshold)
        if len(near):
            return masks[near[0]]
        start, block = start + block, 2 * block
    return ask.read.copy()
