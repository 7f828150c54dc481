"""Pretrained word vectors from text files (GloVe's and fastText's: word, then values, split by spaces); .gz and .xz too."""

from collections.abc import Collection
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np

from whence.data.corpus import BadRow
from whence.data.files import text_lines
from whence.errors import BadInput

Vectors = dict[str, np.ndarray]


def vector_words(path: Path, count: int) -> list[str]:
    """The first `count` words of the file: the most frequent ones of the corpus that the vectors were learned on."""
    rows = islice(text_lines(path), count)
    return [row[1].partition(" ")[0] for row in rows if not isinstance(row, BadRow)]


def read_vectors(path: Path, vocabulary: Collection[str]) -> Vectors:
    """The vectors of the words in `vocabulary` that the file has; float32[dim] each."""
    return _read(path, frozenset(vocabulary))


@lru_cache(maxsize=4)  # a study trains many models on one corpus, and unpacking a file of vectors takes many seconds
def _read(path: Path, wanted: frozenset[str]) -> Vectors:
    dim = 0
    vectors: Vectors = {}
    for item in text_lines(path):
        if isinstance(item, BadRow):
            raise BadInput(str(item))
        row, line = item
        word, _, rest = line.partition(" ")
        if not dim:
            if row == 1 and len(rest.split()) == 1:  # fastText opens with a line of counts
                continue
            dim = len(rest.split())
        if word not in wanted:
            continue
        try:
            vector = np.array(rest.split(), dtype=np.float32)
        except ValueError:
            raise BadInput(f"{path}, row {row}: a value is not a number; expected a word and {dim} numbers") from None
        if len(vector) != dim:
            raise BadInput(f"{path}, row {row}: {len(vector)} values; expected {dim} as in the first row")
        vectors[word] = vector
    if not vectors:
        raise BadInput(
            f"{path}: none of the {len(wanted)} words of the vocabulary has a vector there; expected lower-case words"
        )
    return vectors
