"""Co-attention: the weights by which the model itself aligns words.

  score_ij = (A^P_ij + A^H_ij) / 2      A^P: premise word i over the hypothesis; A^H: hypothesis word j over the premise

Transformers: the two cross-sentence blocks of the attention, averaged over layers and heads; a word attends as the mean of its
pieces and is attended to as their sum. The baseline of Jiang et al. 2021. Cost: 1 forward pass.
"""

from collections.abc import Sequence

import numpy as np

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk
from whence.run import Tick
from whence.run.masks import MaskRunner


def co_attention_cells(asks: Sequence[PairAsk], masks: MaskRunner, tick: Tick | None) -> list[Cells]:
    found = [Cells(np.zeros(ask.shape)) for ask in asks]
    for numbers, pairs in masks.groups():
        for i, weights in zip(numbers, pairs.co_attention(), strict=True):
            found[i] = Cells(weights)
        if tick:
            tick(len(numbers))
    return found


METHODS = [
    AlignmentMethod(
        "co_attention",
        "Co-attention",
        "How much the model itself aligns the two words.",
        "Parikh et al. 2016; Chen et al. 2017",
        "1 forward",
        co_attention_cells,
    )
]
