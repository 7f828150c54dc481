"""Text in: examples, corpora, readers of the published file formats, planted corpora."""

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.example import FIELDS, Example, Highlights, Task
from whence.data.words import Span, covered, runs, space_spans, word_spans, words

__all__ = [
    "FIELDS", "BadRow", "Corpus", "Example", "Highlights", "Rows", "Span", "Task", "covered", "runs", "space_spans",
    "word_spans", "words",
]  # fmt: skip
