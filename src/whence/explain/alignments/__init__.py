"""Alignment explainers: a number for every word pair. Add one by adding a file and naming it here."""

from whence.explain.alignments import (
    arec,
    back_select,
    co_attention,
    diffmask,
    fewest_cuts,
    gradients,
    leave_one_out,
    lime,
    random,
)
from whence.explain.alignments.diffmask import GateSettings, trained_gate
from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, explain_alignments, pair_asks

_FILES = (arec, fewest_cuts, co_attention, leave_one_out, back_select, lime, gradients, diffmask, random)
ALIGNMENT_METHODS: dict[str, AlignmentMethod] = {method.name: method for file in _FILES for method in file.METHODS}

__all__ = [
    "ALIGNMENT_METHODS", "AlignmentMethod", "Cells", "GateSettings", "PairAsk", "explain_alignments", "pair_asks",
    "trained_gate",
]  # fmt: skip
