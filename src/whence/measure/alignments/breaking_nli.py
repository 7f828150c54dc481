"""Breaking NLI: does the rationale hold the one phrase pair in which premise and hypothesis differ? (Jiang et al. 2021, 4.2.1)

The gold cells are the word pairs of `Example.pairs`. The alignments of a mask are its 4-connected components.

  max_f1     of the component whose removal moves the logits most (Euclidean), its F1 against the gold cells: 0 without any
  exact_inc  1 if every gold cell is kept, else 0
  soft_inc   |kept ∩ gold| / |gold|

A component is removed from the mask that keeps everything, as leave-one-out removes a cell. The paper names neither the unit
(here: cells, not words) nor what the alignments of a mask are. Not defined without gold cells that the model read. Cost: one
forward pass for each component.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from whence.explain.alignments.rectangles import components
from whence.run.masks import MaskRounds


@dataclass(frozen=True)
class FoundPair:
    """How well one rationale finds the annotated pair."""

    max_f1: float
    exact_inc: float
    soft_inc: float


def f1(kept: Bool[np.ndarray, "*cells"], gold: Bool[np.ndarray, "*cells"]) -> float:
    """Of two sets of cells; 0 if either is empty."""
    total = int(kept.sum() + gold.sum())
    return 2 * int((kept & gold).sum()) / total if total else 0.0


def found_pair_rounds(
    kept: Bool[np.ndarray, "premise hypothesis"],
    gold: Bool[np.ndarray, "premise hypothesis"],
    logits: Float[np.ndarray, " labels"],
) -> MaskRounds[FoundPair | None]:
    """For one pair: yields the masks that lack one component, is sent their logits; `logits` are those without a mask."""
    if not gold.any():
        return None
    parts = components(kept)
    best = 0.0
    if parts:
        without = yield (1.0 - np.stack(parts)).astype(np.float32)
        moved = np.linalg.norm(without - logits, axis=1)
        best = f1(parts[int(moved.argmax())], gold)
    return FoundPair(best, float(kept[gold].all()), float(kept[gold].mean()))
