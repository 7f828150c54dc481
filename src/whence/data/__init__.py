"""Text in: examples, corpora, readers of the published file formats, planted corpora."""

from whence.data.check import CheckReport, check
from whence.data.corpus import BadRow, Corpus, Rows, Selection
from whence.data.example import FIELDS, Example, Highlights, Task
from whence.data.files import data_root
from whence.data.registry import PUBLISHED, names, open_corpus
from whence.data.table import Columns
from whence.data.template import TEMPLATES, Parsed, Rendered, Template, open_template
from whence.data.words import Span, covered, runs, space_spans, word_spans, words

__all__ = [
    "FIELDS", "PUBLISHED", "TEMPLATES", "BadRow", "CheckReport", "Columns", "Corpus", "Example", "Highlights", "Parsed",
    "Rendered", "Rows", "Selection", "Span", "Task", "Template", "check", "covered", "data_root", "names", "open_corpus",
    "open_template", "runs", "space_spans", "word_spans", "words",
]  # fmt: skip
