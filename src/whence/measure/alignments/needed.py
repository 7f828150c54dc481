"""Does the prediction need alignments at all? What is left when no word pair may align (Z = 0).

  label_kept   1 if the label without any alignment is the label of the model as it is, else 0
  fidelity     ‖M(x) − M(x, 0)‖₂ of the logits

Where the label is kept, the empty mask explains it, and a compactness of 0 is no success. So these two, and the share of empty
masks, belong beside every table of alignment rationales. Cost: 1 forward pass.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from whence.explain.alignment import Alignment
from whence.explain.alignments.method import PairAsk
from whence.run.masks import MaskRounds


@dataclass(frozen=True)
class Without:
    label_kept: float
    fidelity: float


def without_rounds(ask: PairAsk) -> MaskRounds[Without | None]:
    """None for a pair without cells."""
    if not ask.read.any():
        return None
    [logits] = yield np.zeros((1, *ask.shape), dtype=np.float32)
    return Without(float(int(logits.argmax()) == ask.target), float(np.linalg.norm(logits - ask.logits)))


def empty_share(alignments: Sequence[Alignment]) -> float | None:
    """Share of the masks that keep no cell; None where no method made a mask."""
    masks = [alignment.kept for alignment in alignments if alignment.kept is not None]
    return float(np.mean([not mask.any() for mask in masks])) if masks else None


def need_in_words(alignments: Iterable[Alignment]) -> str:
    """How many of the predictions stay without any alignment, by label; empty where nobody asked."""
    stays = [(alignment.target, not alignment.needed) for alignment in alignments if alignment.needed is not None]
    if not stays:
        return ""
    parts = []
    for label in dict.fromkeys(target for target, _ in stays):
        mine = [stay for target, stay in stays if target == label]
        parts.append(f"{label} {np.mean(mine):.0%} of {len(mine)}")
    share = np.mean([stay for _, stay in stays])
    return f"Without any alignment {share:.0%} of {len(stays)} predictions stay the same ({', '.join(parts)})."
