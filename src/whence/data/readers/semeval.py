"""SemEval-2017 task 4A, English: the sentiment of tweets. Tab-separated tweet id, label, text; no header; quotes are text.

train, dev and test are the 2016 files, as in the experiments with salience-guided attention; `test2017` is the test of 2017.
The 2016 test file went through a spreadsheet: it has an empty fourth column, and some texts are wrapped in CSV quotes.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from whence.data.corpus import Rows
from whence.data.example import Example
from whence.data.files import Row, table_rows
from whence.data.readers.published import File, Make, Published, label_of, read, text_of

LABELS = ("negative", "neutral", "positive")
three = partial(table_rows, delimiter="\t", quoted=False, columns=("id", "label", "text"))
four = partial(table_rows, delimiter="\t", quoted=False, columns=("id", "label", "text", "empty"))


def tweet(row: Row, number: str) -> Example:
    return Example(text_of(row, "id"), {"text": text_of(row, "text")}, label_of(row["label"], LABELS))


def wrapped(row: Row, number: str) -> Example:
    text = text_of(row, "text")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    return tweet({**row, "text": text}, number)


def _split(name: str, split: str, spreadsheet: bool = False) -> Callable[[Path], Rows]:
    make: Make = wrapped if spreadsheet else tweet
    return partial(read, name=f"semeval2017_4a/{name}", make=make, split=split, rows=four if spreadsheet else three)


_TEST2017 = "SemEval2017-task4-test.subtask-A.english.txt"

CORPORA = (
    Published(
        "semeval", "text", LABELS,
        "SemEval-2017 task 4A, sentiment of English tweets (Rosenthal et al. 2017); MIT for the copy, tweets not stated",
        {"train": _split("twitter-2016train-A.tsv", "train"), "dev": _split("twitter-2016dev-A.tsv", "dev"),
         "test": _split("twitter-2016test-A.tsv", "test", spreadsheet=True), "test2017": _split(_TEST2017, "test2017")},
        {"train": 6000, "dev": 1999, "test": 20632, "test2017": 12284},
        (File("semeval2017_4a/twitter-2016train-A.tsv", 6000, read=three),
         File("semeval2017_4a/twitter-2016dev-A.tsv", 1999, read=three),
         File("semeval2017_4a/twitter-2016test-A.tsv", 20632, read=four),
         File(f"semeval2017_4a/{_TEST2017}", 12284, dict(zip(LABELS, (3972, 5937, 2375), strict=True)), read=three)),
    ),
)  # fmt: skip
