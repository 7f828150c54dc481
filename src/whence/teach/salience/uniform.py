"""The same number everywhere: the prior that says nothing, and the baseline that a salience must beat."""

import numpy as np
from jaxtyping import Float

from whence.teach.salience.prior import Prior, Tokens


def uniform(tokens: Tokens, _: Tokens) -> Float[np.ndarray, " tokens"]:
    return np.where(tokens.content, 1.0, 0.0)


PRIORS = [Prior("uniform", "Every token the same.", "–", uniform)]
