"""ERASER folders: token numbers become character spans, and what points nowhere is refused."""

import gzip
import json
from pathlib import Path

import pytest

from whence.data.corpus import BadRow
from whence.data.eraser import open_eraser
from whence.data.registry import PUBLISHED
from whence.errors import BadInput

DOC = "a fine film .\n but  slow"


def row(name: str = "d1", label: str | None = "POS", query: str = "good?", **evidence: object) -> dict[str, object]:
    found = [[{"docid": name, "start_token": 1, "end_token": 3, "text": "fine film"} | evidence]]
    return {"annotation_id": name, "classification": label, "query": query, "evidences": found}


def folder(root: Path, *rows: object, split: str = "train") -> Path:
    root.mkdir(exist_ok=True)
    docs = [{"docid": "d1", "text": DOC}, {"docid": "d2", "text": "dull"}]
    (root / "docs.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(doc) + "\n" for doc in docs).encode()))
    (root / f"{split}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return root


def test_tokens_become_spans(tmp_path: Path) -> None:
    corpus = open_eraser(folder(tmp_path, row(start_token=3, end_token=6), row(start_token=2, end_token=2)))
    first, second = corpus.load("train")
    assert (corpus.task, corpus.labels) == ("text", ("POS",))
    [(start, end)] = first.highlights[0]["text"]
    assert first.texts["text"][start:end] == ".\n but  slow"
    assert second.highlights == ()


def test_different_queries_make_pairs(tmp_path: Path) -> None:
    corpus = open_eraser(
        folder(tmp_path, row(query="q1"), row("d2", None, query="q2", start_token=0, end_token=1), split="val")
    )
    first, second = corpus.load("dev")
    assert first.texts == {"premise": DOC, "hypothesis": "q1"}
    assert first.highlights == ({"premise": ((2, 11),)},)
    assert second.label is None


def test_several_documents_are_joined(tmp_path: Path) -> None:
    both = row()
    both["evidences"] = [[{"docid": "d2", "start_token": 0, "end_token": 1}, {"docid": "d1", "start_token": 0, "end_token": 1}]]
    [example] = open_eraser(folder(tmp_path, both)).load("train")
    assert [example.texts["text"][s:e] for s, e in example.highlights[0]["text"]] == ["dull", "a"]


def test_no_evidence_finds_the_document_by_name(tmp_path: Path) -> None:
    [example] = open_eraser(folder(tmp_path, row() | {"annotation_id": "d1:0:3", "evidences": []})).load("train")
    assert (example.texts["text"], example.highlights) == (DOC, ())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (row("d9"), "document 'd9' is not among the 2 documents"),
        (row() | {"docids": ["d1", "d8"]}, "document 'd8' is not among"),
        (row() | {"docids": ["d2"]}, "evidence in document 'd1'; expected one of the row's documents"),
        (row(end_token=9), "evidence tokens 1 to 9; expected an interval within the 6 tokens of 'd1'"),
        (row(start_token=-1), "evidence tokens -1 to 3"),
        (row() | {"evidences": [{"docid": "d1"}]}, "not a list of lists"),
        ({"classification": "POS"}, "no 'annotation_id'"),
    ],
)
def test_what_points_nowhere(tmp_path: Path, wrong: object, message: str) -> None:
    _, bad = open_eraser(folder(tmp_path, row(), wrong)).rows("train")
    assert isinstance(bad, BadRow)
    assert bad.row == 2
    assert message in bad.problem


def test_documents_in_a_folder(tmp_path: Path) -> None:
    folder(tmp_path, row())
    (tmp_path / "docs.jsonl.gz").unlink()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d1").write_text(DOC + "\n", encoding="utf-8")
    assert open_eraser(tmp_path).load("train")[0].texts["text"] == DOC


def test_documents_without_rows(tmp_path: Path) -> None:
    folder(tmp_path, row(), split="other")
    with pytest.raises(BadInput, match=r"expected train\.jsonl, val\.jsonl or test\.jsonl"):
        open_eraser(tmp_path)


def test_the_published_ones_are_read_the_same_way(tmp_path: Path) -> None:
    folder(tmp_path / "multirc", row(label="True"), row(label="Maybe"), split="val")
    good, bad = PUBLISHED["multirc"].at(tmp_path).rows("dev")
    assert (good.texts["hypothesis"], good.label) == ("good?", "True")
    assert "label 'Maybe'; expected one of False, True" in str(bad)
