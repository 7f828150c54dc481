"""χ² of each token against the labels (scikit-learn), on tf-idf values of the fitted texts: one number per token everywhere.

A token that the fitted texts do not have scores 0.
"""

import numpy as np
from jaxtyping import Float
from sklearn.feature_selection import chi2 as chi2_of_features

from whence.teach.salience.prior import Prior, Tokens
from whence.teach.salience.tfidf import tfidf_values


def chi2(tokens: Tokens, fitted_on: Tokens) -> Float[np.ndarray, " tokens"]:
    values = tfidf_values(fitted_on, fitted_on)
    seen = np.asarray(values.sum(axis=0)).ravel() > 0
    by_token = np.zeros(max(values.shape[1], int(tokens.ids.max(initial=0)) + 1))
    if seen.any():
        by_token[np.flatnonzero(seen)] = chi2_of_features(values[:, np.flatnonzero(seen)], fitted_on.labels)[0]
    return np.where(tokens.content, by_token[tokens.ids], 0.0)


PRIORS = [Prior("chi2", "How much a token says about the label, over all texts.", "Yang & Pedersen 1997", chi2)]
