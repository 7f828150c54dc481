"""Cosine similarity of a written explanation with one that a person wrote (Liu et al. 2022, Figure 5).

  cos(v(a), v(b)),  v(text) = mean of the vectors of its words that have one

The paper does not say which vectors. Ours are those of a file (GloVe), or are learned from the training explanations: the rows
of V·S of a truncated SVD of their tf-idf matrix U·S·Vᵀ (latent semantic analysis, Deerwester et al. 1990). Frequent words share
much of any two texts, so compare with what another example's explanation gets. Cost: no passes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from whence.measure.text.tokens import Tokens, treebank

Vectors = Mapping[str, np.ndarray]


def mean_vector(words: Sequence[str], vectors: Vectors) -> Float[np.ndarray, " dim"] | None:
    found = [vectors[word] for word in words if word in vectors]
    return np.mean(found, axis=0) if found else None


def cosine(one: str, other: str, vectors: Vectors, tokens: Tokens = treebank) -> float | None:
    """None where one of the texts has no word with a vector, or a mean of length 0."""
    a, b = (mean_vector(tokens(text), vectors) for text in (one, other))
    if a is None or b is None:
        return None
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if length > 0 else None


def learned_vectors(texts: Sequence[str], size: int = 50, tokens: Tokens = treebank) -> dict[str, np.ndarray]:
    """Word vectors of `size` numbers, or fewer where there are fewer words or texts."""
    counted = TfidfVectorizer(tokenizer=tokens, token_pattern=None, lowercase=False)
    table = counted.fit_transform(texts)
    svd = TruncatedSVD(min(size, min(table.shape) - 1), algorithm="arpack", random_state=0).fit(table)
    rows = svd.components_.T * svd.singular_values_
    return dict(zip(counted.get_feature_names_out(), rows, strict=True))
