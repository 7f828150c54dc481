"""Random scores: the yardstick in every comparison. A measure on which random wins is broken. Cost: none."""

from whence.explain.tokens.method import Ask, Method, Scored
from whence.run import Rounds


def random_rounds(ask: Ask) -> Rounds[Scored]:
    yield []
    return Scored(ask.generator("random").standard_normal(ask.encoded.word_count))


METHODS = [
    Method(
        "random", "Random", "Numbers drawn at random: what every method must beat.", "–", "none", random_rounds, stochastic=True
    )
]
