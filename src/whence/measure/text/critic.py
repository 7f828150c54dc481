"""Critic-Score: does an explanation belong to its input and label, as a trained discriminator sees it? (Liu et al. 2022, §3.6)

  score = share of the triples (X, L', E') for which p(match | X, L', E') > ½

L' and E' are what the model under test predicted and wrote. The discriminator is any classifier with the labels of
data/mismatched.py, taught on people's explanations and on those of examples that share a sentence with them. How far a score
can be believed is said by the discriminator's own accuracy on triples of people: the two belong side by side. Cost: one pass
for each triple.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from whence.data import Example
from whence.data.mismatched import LABELS
from whence.errors import BadInput
from whence.run import Request, Runner


def belonging(critic: Runner, triples: Sequence[Example]) -> Float[np.ndarray, " triples"]:
    """p(match) of triples as `data.mismatched.triple` makes them."""
    names = [name.casefold() for name in critic.classifier.labels]
    if sorted(names) != sorted(LABELS):
        raise BadInput(f"the critic's labels are {', '.join(names) or 'none'}; expected {' and '.join(LABELS)}")
    results = critic.run([Request(encoded) for encoded in critic.classifier.encode(triples)])
    return np.array([result.probabilities[names.index("match")] for result in results], dtype=np.float64)


def critic_score(critic: Runner, triples: Sequence[Example]) -> Float[np.ndarray, " triples"]:
    """1 where a triple is taken for a match; the score is the mean."""
    return (belonging(critic, triples) > 0.5).astype(np.float64)
