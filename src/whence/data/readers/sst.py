"""Stanford Sentiment Treebank, sentences with two labels, in the three forms in which it goes around.

`sst`: the released trees, one per line, `(3 (2 It) (4 ...))`, a label 0 to 4 on every node. The root decides: 0 and 1 are
negative, 3 and 4 positive, 2 (neutral) is left out. The tokens are the original ones, Penn escapes undone.
`sst_binary`: sentence TAB 0|1, lower-cased, without hyphens and final full stops. `sst_phrases`: GLUE, train has phrases.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from whence.data.corpus import BadRow, Rows
from whence.data.example import Example
from whence.data.files import Numbered, Row, table_rows, text_lines
from whence.data.readers.published import SENTIMENT, File, Published, RowError, label_of, read, text_of

_TREE = re.compile(r"\(([0-4]) .*\)", re.DOTALL)
_LEAF = re.compile(r"\([0-4] ([^()]+)\)")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_BINARY = {"0": "negative", "1": "positive"}
headless = partial(table_rows, delimiter="\t", quoted=False, columns=("sentence", "label"))
glue = partial(table_rows, delimiter="\t", quoted=False)


def trees(path: Path) -> Numbered:
    for item in text_lines(path):
        if isinstance(item, BadRow):
            yield item
            continue
        number, line = item
        match = _TREE.fullmatch(line)
        if match and line.count("(") == line.count(")"):
            yield number, {"tree": line, "label": match[1]}
        else:
            yield BadRow(str(path), number, f"'{line[:30]}' is not a tree; expected (label (label word) …) with labels 0 to 4")


def tree_row(row: Row, number: str) -> Example | None:
    if row["label"] == "2":
        return None
    tokens = [_ESCAPES.get(token, token).replace("\\/", "/").replace("\\*", "*") for token in _LEAF.findall(row["tree"])]
    if not tokens:
        raise RowError("the tree has no words; expected (label word) at its leaves")
    return Example(number, {"text": " ".join(tokens)}, SENTIMENT[int(row["label"]) > 2], meta={"fine": row["label"]})


def sentence_row(row: Row, number: str) -> Example:
    label = label_of(row["label"], _BINARY) if "label" in row else None  # GLUE's test set has none
    return Example(number, {"text": text_of(row, "sentence")}, label)


def _splits(
    folder: str, ending: str, make: Callable[[Row, str], Example | None], rows: Callable[[Path], Numbered]
) -> dict[str, Callable[[Path], Rows]]:
    return {
        split: partial(read, name=f"sst/{folder}/{split}.{ending}", make=make, split=split, rows=rows)
        for split in ("train", "dev", "test")
    }


_SIZES = {"train": 6920, "dev": 872, "test": 1821}
_ABOUT = "Stanford Sentiment Treebank (Socher et al. 2013), negative or positive"

CORPORA = (
    Published(
        "sst", "text", SENTIMENT, f"{_ABOUT}, sentences with their original tokens; no licence stated",
        _splits("trees", "txt", tree_row, trees), _SIZES,
        (File("sst/trees/train.txt", 8544, read=trees), File("sst/trees/dev.txt", 1101, read=trees),
         File("sst/trees/test.txt", 2210, read=trees)),
    ),
    Published(
        "sst_binary", "text", SENTIMENT, f"{_ABOUT}, lower-cased sentences; no licence stated",
        _splits("binary", "tsv", sentence_row, headless), _SIZES,
        (File("sst/binary/train.tsv", 6920, {"0": 3310, "1": 3610}, read=headless),
         File("sst/binary/dev.tsv", 872, {"0": 428, "1": 444}, read=headless),
         File("sst/binary/test.tsv", 1821, {"0": 912, "1": 909}, read=headless)),
    ),
    Published(
        "sst_phrases", "text", SENTIMENT, f"{_ABOUT}, GLUE's form: train has phrases, test no labels; no licence stated",
        _splits("glue", "tsv", sentence_row, glue), {"train": 67349, "dev": 872, "test": 1821},
        (File("sst/glue/train.tsv", 67349, {"0": 29780, "1": 37569}, read=glue), File("sst/glue/dev.tsv", 872, read=glue),
         File("sst/glue/test.tsv", 1821, read=glue)),
    ),
)  # fmt: skip
