"""tf-idf of each piece in its text (scikit-learn): tf · (ln((1 + N) / (1 + df)) + 1), df of the N fitted texts have the piece.

Every occurrence of a piece has the piece's value. Pieces are the tokenizer's own, continuations included; the released code of
SaLoss counts whatever scikit-learn's default pattern finds in the joined pieces instead, so that most continuations score 0.
"""

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from whence.teach.salience.prior import Pieces, Prior


def tfidf_values(pieces: Pieces, fitted_on: Pieces) -> csr_array:
    """float[texts, pieces of the vocabulary]"""
    width = max(int(p.ids.max(initial=0)) for p in (pieces, fitted_on)) + 1
    return csr_array(TfidfTransformer().fit(fitted_on.counts(width)).transform(pieces.counts(width)))


def tfidf(pieces: Pieces, fitted_on: Pieces) -> Float[np.ndarray, " tokens"]:
    scores = np.zeros(len(pieces.ids))
    here = np.flatnonzero(pieces.content)
    if len(here):
        scores[here] = tfidf_values(pieces, fitted_on)[pieces.text[here], pieces.ids[here]]
    return scores


PRIORS = [Prior("tfidf", "Frequent in this text, rare in the others.", "Salton & Buckley 1988", tfidf)]
