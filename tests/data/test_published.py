"""The published corpora themselves: every count, every span. Needs the files; skipped without them."""

from collections import Counter
from pathlib import Path

import pytest

from whence.data.check import check
from whence.data.corpus import BadRow
from whence.data.files import stored, table_rows
from whence.data.readers.nli import esnli_row
from whence.data.registry import PUBLISHED

pytestmark = pytest.mark.realdata


# MIMIC needs credentials: its reader is tested on tables of the same form
@pytest.mark.parametrize("name", [name for name in PUBLISHED if not name.startswith("mimic")])
def test_counts_labels_and_spans(name: str, data_root: Path) -> None:
    """Rows per file and label, rows per split; `check` also holds every highlight and pair against its text."""
    report = check(PUBLISHED[name].at(data_root))
    assert report.problems() == []


def test_esnli_highlights(data_root: Path) -> None:
    """All three annotators; never the premise of a neutral pair."""
    examples = PUBLISHED["esnli"].at(data_root).load("dev")
    assert all(len(e.highlights) == len(e.explanations) == 3 for e in examples)
    assert not any(marked["premise"] for e in examples if e.label == "neutral" for marked in e.highlights)
    edges = {e.texts[f][s] + e.texts[f][end - 1] for e in examples for m in e.highlights for f in m for s, end in m[f]}
    assert sum(not edge.isalnum() for edge in edges) < 10, "only tokens of nothing but punctuation keep it"
    assert len({e.id for e in examples}) == len(examples)


def test_esnli_stars_agree_with_the_released_positions(data_root: Path) -> None:
    """The files tell the marked words twice: by stars, which we read, and by positions among the pieces between spaces."""
    for item in table_rows(stored(data_root, "esnli/esnli_test.csv")):
        assert not isinstance(item, BadRow)
        row = item[1]
        example = esnli_row(row, "")
        for k, marked in enumerate(example.highlights, 1):
            for n, (name, spans) in enumerate(marked.items(), 1):
                found = {str(example.texts[name].count(" ", 0, start)) for start, _ in spans}
                assert found == set(row[f"Sentence{n}_Highlighted_{k}"].strip("{}").split(",")) - {""}


def test_breaking_nli_pairs_differ(data_root: Path) -> None:
    examples = PUBLISHED["breaking_nli"].at(data_root).load("test")
    for e in examples:
        for first, second in e.pairs:
            assert e.texts["premise"][slice(*first)] != e.texts["hypothesis"][slice(*second)]
    assert sum(not e.pairs for e in examples) < 10
    assert Counter(len(e.pairs) for e in examples)[1] > 8000


def test_cose_highlights_are_nearly_all_found(data_root: Path) -> None:
    for name in ("cose_v1.0", "cose_v1.11"):
        train = PUBLISHED[name].at(data_root).load("train")
        assert sum(not e.highlights for e in train) / len(train) < 0.005


def test_splits_do_not_share_texts_where_dev_is_derived(data_root: Path) -> None:
    corpus = PUBLISHED["imdb"].at(data_root)
    train, dev = ({e.texts["text"] for e in corpus.load(split)} for split in ("train", "dev"))
    assert not train & dev


def test_newsgroup_bodies_have_no_headers(data_root: Path) -> None:
    corpus = PUBLISHED["newsgroups"].at(data_root)
    texts = [e.texts["text"] for split in corpus.splits for e in corpus.load(split)]
    assert not any(text.startswith(("From:", "Subject:")) for text in texts)
    assert sum(not text for text in texts) < 15


def test_hans_subcases(data_root: Path) -> None:
    counts = Counter(e.meta["subcase"] for e in PUBLISHED["hans"].at(data_root).load("test"))
    assert len(counts) == 30
    assert set(counts.values()) == {1000}
