"""Longer texts with one label: IMDb, AG News, 20 Newsgroups.

IMDb: JSON lines id, label, rating, text. AG News: test as the released CSV (class 1 to 4, title, description), a part of train
as JSON lines (label, text, source). 20 Newsgroups, by date: JSON lines id, group, text with its mail headers. None has a
published dev split: `dev` is the 15 % of train that a hash of the text chooses, and `train` is the rest.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from whence.data.corpus import Rows
from whence.data.example import Example
from whence.data.files import Row, table_rows
from whence.data.readers.published import SENTIMENT, File, Make, Published, label_of, part, read, text_of

AG_NAMES = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
_GROUPS = {"rec.sport.baseball": "baseball", "rec.sport.hockey": "hockey"}
_IMDB = {"neg": "negative", "pos": "positive"}
_QUOTE = re.compile(r"^\s*(?:\w{0,4}[|:}]?>|[|:}]\s)|(?:writes|wrote|says|said)\s*:\s*$|^\s*(?:In article\b|Quoted from)")
_RULE = re.compile(r"\s*[-_=*+~#|/\\.]{2,}[-_=*+~#|/\\. ]*")
ag_csv = partial(table_rows, columns=("label", "title", "description"))


def imdb_row(row: Row, number: str) -> Example:
    meta = {"rating": str(row["rating"])} if "rating" in row else {}
    return Example(str(row.get("id", number)), {"text": text_of(row, "text")}, label_of(row.get("label"), _IMDB), meta=meta)


def ag_row(row: Row, number: str, classes: str = "1234") -> Example | None:
    """A row of the CSV, or of the JSON lines in which title and description are already joined, as here, by a space."""
    label = label_of(row.get("label"), AG_NAMES)
    if str(row["label"]) not in classes:
        return None
    text = text_of(row, "text") if "text" in row else f"{text_of(row, 'title')} {text_of(row, 'description')}"
    return Example(number, {"text": text}, label, meta={name: str(row[name]) for name in ("title", "source") if name in row})


def newsgroup_row(row: Row, number: str) -> Example | None:
    group = text_of(row, "group")
    if group not in _GROUPS:
        return None  # the published file has two more pairs of groups, for other tasks
    return Example(str(row.get("id", number)), {"text": body(text_of(row, "text"))}, _GROUPS[group], meta={"group": group})


def body(message: str) -> str:
    """What the author of a mail wrote: without headers, quoted lines, the lines that announce them, and the signature.

    In the train file of this copy all line breaks but the last are tabs, so they are put back first.
    """
    if "\n" not in message.rstrip("\n"):
        message = message.replace("\t", "\n")
    _, _, text = message.partition("\n\n")
    lines = text.rstrip().split("\n")
    kept = [line for line in lines if not _QUOTE.search(line)]
    # A signature starts with a line of dashes or the like; only near the end, because tables have such lines too.
    for at in range(max(len(kept) - 12, 0), len(kept)):
        if _RULE.fullmatch(kept[at]):
            kept = kept[:at]
            break
    return "\n".join(kept).strip()


def _with_dev(name: str, make: Make, test: Callable[[Path], Rows]) -> dict[str, Callable[[Path], Rows]]:
    return {
        "train": partial(read, name=name, make=part(make, dev=False), split="train"),
        "dev": partial(read, name=name, make=part(make, dev=True), split="dev"),
        "test": test,
    }


def _ag(make: Make) -> dict[str, Callable[[Path], Rows]]:
    test = partial(read, name="ag_news/test.csv", make=make, split="test", rows=ag_csv)
    return _with_dev("ag_news/train_subset.jsonl", make, test)


_HALVES = {"neg": 12500, "pos": 12500}
_AG_FILES = (
    File("ag_news/train_subset.jsonl", 20392, {"1": 5085, "2": 5054, "3": 5045, "4": 5208}),
    File("ag_news/test.csv", 7600, dict.fromkeys("1234", 1900), read=ag_csv),
)
_AG_ABOUT = "AG News (Zhang et al. 2015), a part of train; research and other non-commercial use; dev is 15 % of train"
_MAIL = ("rec.sport.baseball", "rec.sport.hockey", "alt.atheism", "soc.religion.christian")

CORPORA = (
    Published(
        "imdb", "text", SENTIMENT, "IMDb film reviews (Maas et al. 2011); no licence stated; dev is 15 % of train",
        _with_dev("imdb/train.jsonl", imdb_row, partial(read, name="imdb/test.jsonl", make=imdb_row, split="test")),
        {"train": 21257, "dev": 3743, "test": 25000},
        (File("imdb/train.jsonl", 25000, _HALVES), File("imdb/test.jsonl", 25000, _HALVES)),
    ),
    Published(
        "ag_news", "text", tuple(AG_NAMES.values()), _AG_ABOUT, _ag(ag_row),
        {"train": 17409, "dev": 2983, "test": 7600}, _AG_FILES,
    ),
    Published(
        "ag_news_wb", "text", ("World", "Business"), f"World or Business: {_AG_ABOUT}", _ag(partial(ag_row, classes="13")),
        {"train": 8653, "dev": 1477, "test": 3800}, _AG_FILES,
    ),
    Published(
        "newsgroups", "text", ("baseball", "hockey"),
        "20 Newsgroups by date (Lang 1995), baseball or hockey, message bodies; no licence stated; dev is 15 % of train",
        _with_dev("20newsgroups/train.jsonl", newsgroup_row,
                  partial(read, name="20newsgroups/test.jsonl", make=newsgroup_row, split="test")),
        {"train": 1013, "dev": 184, "test": 796},
        (File("20newsgroups/train.jsonl", 2276, dict(zip(_MAIL, (597, 600, 480, 599), strict=True)), "group"),
         File("20newsgroups/test.jsonl", 1513, dict(zip(_MAIL, (397, 399, 319, 398), strict=True)), "group")),
    ),
)  # fmt: skip
