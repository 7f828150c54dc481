"""The one door: names, files, folders, and what it says when there is nothing behind it."""

import json
from pathlib import Path

import pytest

from whence.data import hub
from whence.data.corpus import Corpus
from whence.data.registry import PUBLISHED, names, open_corpus
from whence.errors import BadInput


def test_a_published_name_needs_its_files(tmp_path: Path) -> None:
    corpus = open_corpus("semeval", root=tmp_path)
    assert (corpus.name, corpus.task) == ("semeval", "text")
    with pytest.raises(BadInput, match=r"twitter-2016dev-A\.tsv: no such file"):
        corpus.load("dev")


def test_without_a_root_the_hub_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_DATA", raising=False)
    monkeypatch.setattr(hub, "fetch", lambda source, split: [{"sentence": f"{split} fine ", "label": 1}])
    assert open_corpus("sst").load("dev")[0].texts["text"] == "dev fine "
    with pytest.raises(BadInput, match="WHENCE_DATA"):
        open_corpus("sick")


def test_planted_names() -> None:
    corpus = open_corpus("reviews", seed=3)
    assert isinstance(corpus, Corpus)
    assert corpus.load("test", limit=1)


def test_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sst").mkdir()
    (tmp_path / "sst" / "train.csv").write_text("text,label\na,b\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert open_corpus("./sst").labels == ("b",)
    assert open_corpus(Path("./sst")).labels == ("b",)
    assert open_corpus("sst/train.csv", labels=["c", "b"]).labels == ("c", "b")
    (tmp_path / "sst" / "docs.jsonl").write_text('{"docid": "d", "text": "t"}\n', encoding="utf-8")
    (tmp_path / "sst" / "train.jsonl").write_text(
        json.dumps({"annotation_id": "d", "classification": "x"}) + "\n", encoding="utf-8"
    )
    assert open_corpus("./sst").labels == ("x",)


@pytest.mark.parametrize("given", ["no/such", "nothing.csv", "nothing.jsonl.gz", Path("esnli")])
def test_no_such_path(given: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="no such file or folder"):
        open_corpus(given)


def test_an_unknown_name_lists_all() -> None:
    with pytest.raises(BadInput, match="unknown corpus 'esnIi'") as error:
        open_corpus("esnIi")
    assert all(name in str(error.value) for name in names())


def test_every_entry_is_complete() -> None:
    for name, entry in PUBLISHED.items():
        assert entry.name == name
        assert set(entry.splits) == set(entry.expected) or name.startswith("mimic"), "how large MIMIC is, we cannot see"
        assert len(entry.labels) == len(set(entry.labels)) > 1
        assert entry.files
        assert ";" in entry.about, "the citation, then the licence"
    assert set(hub.HUB) <= set(PUBLISHED)


def test_joined_names_train_on_both_and_test_on_neither(tmp_path: Path) -> None:
    """esnli+snli: both training parts, without what stands in dev or test; the other splits of the first."""
    for name in ("esnli", "snli"):
        (tmp_path / name).mkdir()
        rows = [{"premise": f"{name} {i}", "hypothesis": "b", "gold_label": "neutral"} for i in range(3)]
        rows.append({"premise": "tested", "hypothesis": "b", "gold_label": "neutral"})
        (tmp_path / name / "train_subset.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    columns = ["pairID", "gold_label", "Sentence1", "Sentence2"]
    for split in ("dev", "test"):
        text = "tested" if split == "test" else "looked at"
        (tmp_path / "esnli" / f"esnli_{split}.csv").write_text(f"{','.join(columns)}\n1,neutral,{text},b\n", encoding="utf-8")
    corpus = open_corpus("esnli+snli", root=tmp_path)
    assert [e.texts["premise"] for e in corpus.load("train")] == [f"{n} {i}" for n in ("esnli", "snli") for i in range(3)]
    assert len({e.id for e in corpus.load("train")}) == 6
    assert [e.texts["premise"] for e in corpus.load("test")] == ["tested"]
    with pytest.raises(BadInput, match="cannot be joined"):
        open_corpus("esnli+hans", root=tmp_path)
    with pytest.raises(BadInput, match="unknown corpus"):
        open_corpus("esnli+nothing", root=tmp_path)


def test_a_part_of_a_corpus(tmp_path: Path) -> None:
    rows = [json.dumps({"text": "word " * (1 + i % 7), "label": "ab"[i % 2]}) for i in range(40)]
    (tmp_path / "train.jsonl").write_text("\n".join(rows) + "\n")
    whole = open_corpus(tmp_path)
    part = whole.part({"train": 10}, seed=3)
    chosen = part.load("train")
    assert chosen == whole.load("train", 10, 3)
    assert part.load("train") == chosen  # can be read again
    assert set(part.splits) == {"train"}
    short = whole.part({"train": None}, longest=2).load("train")
    assert {len(e.texts["text"].split()) for e in short} == {1, 2}
    assert len(short) == sum(1 + i % 7 <= 2 for i in range(40))
