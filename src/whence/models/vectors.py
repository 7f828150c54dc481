"""Pretrained word vectors from text files (GloVe's and fastText's format: word, then values, split by spaces); .gz and .xz too."""

import gzip
import lzma
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from whence.errors import BadInput

Vectors = dict[str, np.ndarray]


def read_vectors(path: Path, vocabulary: Collection[str]) -> Vectors:
    """The vectors of the words in `vocabulary` that the file has; float32[dim] each."""
    if not path.exists():
        raise BadInput(f"{path}: no such file; expected word vectors as text (word, then numbers, split by spaces)")
    wanted, vectors, dim = set(vocabulary), {}, None
    for row, line in enumerate(_lines(path), start=1):
        word, _, rest = line.rstrip("\n").partition(" ")
        if dim is None:
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
        raise BadInput(f"{path}: none of the {len(wanted)} words of the vocabulary has a vector there; expected lower-case words")
    return vectors


def _lines(path: Path) -> Iterator[str]:
    opener: dict[str, IO[str]] = {}
    if path.suffix == ".gz":
        opener["f"] = gzip.open(path, "rt", encoding="utf-8")
    elif path.suffix == ".xz":
        opener["f"] = lzma.open(path, "rt", encoding="utf-8")
    else:
        opener["f"] = path.open(encoding="utf-8")
    with opener["f"] as lines:
        try:
            yield from lines
        except (EOFError, OSError, lzma.LZMAError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot be read to the end ({error}); expected UTF-8 text, plain, .gz or .xz") from error
