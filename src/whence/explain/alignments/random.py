"""Random scores: the yardstick in every comparison. A measure on which random wins is broken. Cost: none."""

from collections.abc import Sequence

from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk
from whence.run import Runner, Tick


def random_cells(asks: Sequence[PairAsk], runner: Runner, tick: Tick | None) -> list[Cells]:
    if tick:
        tick(len(asks))
    return [Cells(ask.generator("random").standard_normal(ask.shape)) for ask in asks]


METHODS = [
    AlignmentMethod(
        "random",
        "Random",
        "Numbers drawn at random: what every method must beat.",
        "–",
        "none",
        random_cells,
        stochastic=True,
    )
]
