"""Tables in the form of Jain & Wallace's preparation of MIMIC-III; the real ones need credentials."""

from pathlib import Path

import pytest

from whence.data.check import check
from whence.data.registry import catalogue, open_corpus
from whence.errors import BadInput


def write(root: Path, name: str, rows: list[str]) -> None:
    (root / "mimic").mkdir(exist_ok=True)
    (root / "mimic" / f"{name}.csv").write_text("\n".join(["text,label,exp_split", *rows]) + "\n")


def test_splits_and_labels(tmp_path: Path) -> None:
    rows = ['"sugar high, insulin given",1,train', "well,0,train", "type two,1,dev", "no finding,0,test"]
    write(tmp_path, "diabetes", rows)
    corpus = open_corpus("mimic_diabetes", tmp_path)
    assert {s: [(e.texts["text"], e.label) for e in corpus.load(s)] for s in corpus.splits} == {
        "train": [("sugar high, insulin given", "diagnosed"), ("well", "absent")],
        "dev": [("type two", "diagnosed")],
        "test": [("no finding", "absent")],
    }
    assert check(corpus).ok
    assert {row["name"]: row["here"] for row in catalogue(tmp_path)}["mimic_diabetes"]
    assert not {row["name"]: row["here"] for row in catalogue(tmp_path)}["mimic_anemia"]


def test_without_dev_rows_a_part_of_train_is_dev(tmp_path: Path) -> None:
    write(tmp_path, "anemia", [f"note {i},{i % 2},train" for i in range(200)] + ["last,1,test"])
    corpus = open_corpus("mimic_anemia", tmp_path)
    train, dev = corpus.load("train"), corpus.load("dev")
    assert len(train) + len(dev) == 200
    assert 10 < len(dev) < 50


@pytest.mark.parametrize(("row", "problem"), [("x,2,train", "label '2'"), ("x,1,val", "exp_split 'val'"), ("x,1", "2 fields")])
def test_bad_rows(tmp_path: Path, row: str, problem: str) -> None:
    write(tmp_path, "diabetes", ["well,0,train", row])
    corpus = open_corpus("mimic_diabetes", tmp_path)
    with pytest.raises(BadInput, match=rf"diabetes\.csv, row 2: {problem}"):
        corpus.load("train")


def test_missing_column(tmp_path: Path) -> None:
    (tmp_path / "mimic").mkdir()
    (tmp_path / "mimic" / "diabetes.csv").write_text("text,label\nx,1\n")
    with pytest.raises(BadInput, match="no column 'exp_split'"):
        open_corpus("mimic_diabetes", tmp_path).load("train")
