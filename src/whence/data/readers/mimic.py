"""Discharge summaries of MIMIC-III as Jain & Wallace (2019) prepare them: Diabetes and Anemia.

MIMIC-III needs credentials, so nothing is fetched; whoever has access runs their preparation and puts its two tables below the
data root: mimic/diabetes.csv and mimic/anemia.csv, with columns text, label (0 or 1) and exp_split (train, dev or test). Where
exp_split names no dev rows, `dev` is the 15 % of train that a hash of the text chooses. Diabetes: 1 = diagnosed (ICD-9 250.00).
Anemia: 0 = acute, 1 = chronic as in "Attention is not not Explanation"; the released preparation codes it the other way round
(1 = 285.1, acute blood loss), so the label is named by its number alone.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from whence.data.corpus import Rows
from whence.data.example import Example
from whence.data.files import Row, stored, table_rows
from whence.data.readers.published import File, Published, RowError, in_dev, label_of, read, text_of

rows = partial(table_rows, needs=("text", "label", "exp_split"))
SPLITS = ("train", "dev", "test")


def summary(row: Row, number: str, split: str, labels: dict[str, str], own_dev: bool) -> Example | None:
    named = text_of(row, "exp_split")
    if named not in SPLITS:
        raise RowError(f"exp_split '{named}'; expected one of {', '.join(SPLITS)}")
    text = text_of(row, "text")
    if named == "train" and not own_dev and in_dev(text):
        named = "dev"
    return Example(number, {"text": text}, label_of(row["label"], labels)) if named == split else None


def _read(root: Path, name: str, split: str, labels: dict[str, str]) -> Rows:
    file = stored(root, name)
    own_dev = any(isinstance(item, tuple) and item[1].get("exp_split") == "dev" for item in rows(file))
    make = partial(summary, split=split, labels=labels, own_dev=own_dev)
    yield from read(root, name, make, split, rows)


def _corpus(name: str, about: str, labels: dict[str, str]) -> Published:
    file = f"mimic/{name}.csv"
    splits: dict[str, Callable[[Path], Rows]] = {s: partial(_read, name=file, split=s, labels=labels) for s in SPLITS}
    about = f"{about}; MIMIC-III (Johnson et al. 2016), credentials needed; as prepared by Jain & Wallace 2019"
    return Published(f"mimic_{name}", "text", tuple(labels.values()), about, splits, {}, (File(file, None, read=rows),))


CORPORA = (
    _corpus("diabetes", "Is diabetes diagnosed?", {"0": "absent", "1": "diagnosed"}),
    _corpus("anemia", "Acute or chronic anemia?", {"0": "0", "1": "1"}),
)
