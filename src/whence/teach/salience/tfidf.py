"""tf-idf of each token in its text (scikit-learn): tf · (ln((1 + N) / (1 + df)) + 1), df of the N fitted texts have the token.

Every occurrence of a token has the token's value. Tokens are the tokenizer's own, continuations included; the released code of
SaLoss counts whatever scikit-learn's default pattern finds in the joined tokens instead, so that most continuations score 0.
"""

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from whence.teach.salience.prior import Prior, Tokens


def tfidf_values(tokens: Tokens, fitted_on: Tokens) -> csr_array:
    """float[texts, tokens of the vocabulary]"""
    width = max(int(p.ids.max(initial=0)) for p in (tokens, fitted_on)) + 1
    return csr_array(TfidfTransformer().fit(fitted_on.counts(width)).transform(tokens.counts(width)))


def tfidf(tokens: Tokens, fitted_on: Tokens) -> Float[np.ndarray, " tokens"]:
    scores = np.zeros(len(tokens.ids))
    here = np.flatnonzero(tokens.content)
    if len(here):
        scores[here] = tfidf_values(tokens, fitted_on)[tokens.text[here], tokens.ids[here]]
    return scores


PRIORS = [Prior("tfidf", "Frequent in this text, rare in the others.", "Salton & Buckley 1988", tfidf)]
