"""`check` finds what was broken on purpose."""

import json
from pathlib import Path

from whence.data.check import check
from whence.data.corpus import Corpus
from whence.data.example import Example
from whence.data.readers.published import File, Published, read
from whence.data.readers.topics import imdb_row
from whence.data.table import open_table


def tiny(root: Path, *rows: object, expected: int = 2) -> Corpus:
    (root / "t.jsonl").write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    splits = {"test": lambda where: read(where, "t.jsonl", imdb_row, "test")}
    file = File("t.jsonl", expected, {"neg": 1, "pos": expected - 1})
    return Published("tiny", "text", ("negative", "positive"), "about", splits, {"test": expected}, (file,)).at(root)


POS, NEG = {"id": "a", "label": "pos", "text": "good"}, {"id": "b", "label": "neg", "text": "bad"}


def test_a_good_corpus(tmp_path: Path) -> None:
    report = check(tiny(tmp_path, POS, NEG))
    assert report.ok
    assert report.problems() == []
    assert report.splits[0].labels == {"positive": 1, "negative": 1}
    assert (report.files[0].rows, report.files[0].labels) == (2, {"pos": 1, "neg": 1})


def test_a_row_broken_on_purpose(tmp_path: Path) -> None:
    report = check(tiny(tmp_path, POS, '{"id": "b", "label": "neg", "te'))
    assert not report.ok
    [bad] = report.bad_rows
    assert (bad.row, Path(bad.file).name) == (2, "t.jsonl")
    assert "tiny/test: 1 rows; expected 2" in report.problems()


def test_counts_and_labels(tmp_path: Path) -> None:
    assert check(tiny(tmp_path, POS, NEG, NEG)).problems() == [
        "tiny/test: 3 rows; expected 2", "t.jsonl: 3 rows; expected 2", "t.jsonl: 2 rows with label neg; expected 1",
    ]  # fmt: skip


def test_a_missing_file_does_not_stop_the_check(tmp_path: Path) -> None:
    corpus = tiny(tmp_path, POS, NEG)
    (tmp_path / "t.jsonl").unlink()
    assert any("no such file" in problem for problem in check(corpus).problems())


def test_flawed_examples() -> None:
    flawed = [
        Example("1", {"text": "abc"}, "z"),
        Example("2", {"premise": "abc"}, "x"),
        Example("3", {"text": "abc"}, "x", highlights=({"text": ((1, 9),)},)),
        Example("4", {"text": "abc"}, "x", highlights=({"text": ((2, 2),)},)),
        Example("5", {"text": "abc"}, "x", highlights=({"text": ((0, 3),)},)),
    ]
    report = check(Corpus("c", "text", ("x", "y"), {"test": lambda: iter(flawed)}))
    assert [bad.row for bad in report.bad_rows] == [1, 2, 3, 4]
    assert report.splits[0].rows == 1


def test_a_users_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("text,label\na,x\nb\nc,y\n", encoding="utf-8")
    report = check(open_table(tmp_path / "m.csv"))
    assert [str(bad).split(", ")[1] for bad in report.bad_rows] == ["row 2: 1 field; expected 2 (text"]
    assert report.splits[0].labels == {"x": 1, "y": 1}
