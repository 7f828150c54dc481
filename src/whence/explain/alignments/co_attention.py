"""Co-attention: the weights by which the model itself aligns words.

  score_ij = (A^P_ij + A^H_ij) / 2      A^P: premise word i over the hypothesis; A^H: hypothesis word j over the premise

Transformers: the two cross-sentence blocks of the attention, averaged over layers and heads; a word attends as the mean of its
pieces and is attended to as their sum. The baseline of Jiang et al. 2021. Cost: 1 forward pass.
"""

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, by_masks
from whence.run.masks import CO_ATTENTION, MaskRounds


def co_attention_rounds(ask: PairAsk) -> MaskRounds[Cells]:
    return Cells((yield CO_ATTENTION))


METHODS = [
    AlignmentMethod(
        "co_attention",
        "Co-attention",
        "How much the model itself aligns the two words.",
        "Parikh et al. 2016; Chen et al. 2017",
        "1 forward",
        by_masks(co_attention_rounds),
    )
]
