"""The true reason: the tokens of highlighted words get all the mass, in equal parts. A text without highlights is uniform."""

import numpy as np
from jaxtyping import Float

from whence.models import Encoded
from whence.teach.salience.prior import Prior, Tokens


def planted(tokens: Tokens, _: Tokens) -> Float[np.ndarray, " tokens"]:
    return np.concatenate([np.zeros(0), *(_marked(e) for e in tokens.encoded)])


def _marked(encoded: Encoded) -> np.ndarray:
    words = np.concatenate([encoded.example.highlighted_words(name) for name in encoded.fields])
    return np.append(words, False)[encoded.word].astype(float)


PRIORS = [Prior("planted", "The words that people, or the makers of a planted corpus, marked as the reason.", "–", planted)]
