"""Salience priors: where a text's attention should go, known before training. Add one by adding a file and naming it here."""

from whence.teach.salience import chi2, filtered, planted, textrank, tfidf, trained, uniform
from whence.teach.salience.prior import Prior, Tokens

PRIORS: dict[str, Prior] = {
    prior.name: prior for file in (textrank, filtered, tfidf, chi2, uniform, planted, trained) for prior in file.PRIORS
}

__all__ = ["PRIORS", "Prior", "Tokens"]
