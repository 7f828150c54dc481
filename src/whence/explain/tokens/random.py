"""Random scores: the yardstick in every comparison. A measure on which random wins is broken. Cost: none."""

from whence.explain.tokens.method import Ask, Method, Scored
from whence.run import Steps


def random_steps(ask: Ask) -> Steps[Scored]:
    yield []
    return Scored(ask.generator("random").standard_normal(ask.encoded.word_count))


METHODS = [
    Method(
        "random", "Random", "Numbers drawn at random: what every method must beat.", "–", "none", random_steps, stochastic=True
    )
]
