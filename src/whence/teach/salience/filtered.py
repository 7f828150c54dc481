"""TextRank of what is left without stop words and punctuation; those have salience 0.

On plain text TextRank favours what stands near everything, "the" and ",". Mihalcea & Tarau rank nouns and adjectives; without a
tagger, leaving out stop words (scikit-learn's list) and tokens without a letter or digit comes near that. Windows run over what
is left.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from whence.models import Encoded
from whence.teach.salience.prior import Prior, Tokens
from whence.teach.salience.textrank import textrank


def filtered_textrank(
    tokens: Tokens, fitted_on: Tokens, window: int, damping: float, steps: int, tolerance: float
) -> Float[np.ndarray, " tokens"]:
    kept = [replace(e, field=np.where(_says_something(e), e.field, -1)) for e in tokens.encoded]
    return textrank(Tokens(kept, tokens.labels), fitted_on, window, damping, steps, tolerance)


def _says_something(encoded: Encoded) -> Bool[np.ndarray, " tokens"]:
    words = [w.lower() not in ENGLISH_STOP_WORDS and any(map(str.isalnum, w)) for w in encoded.words]
    return np.array([*words, False])[encoded.word]


PRIORS = [
    Prior(
        "textrank_filtered",
        "TextRank without stop words and punctuation.",
        "Mihalcea & Tarau 2004",
        filtered_textrank,
        {"window": 4, "damping": 0.85, "steps": 10, "tolerance": 1e-6},
    ),
]
