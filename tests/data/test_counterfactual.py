"""Counterfactual pairs: from files in three layouts, from planted corpora, and what is wrong with bad ones."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.data import BadRow, Example, check, open_corpus, words
from whence.data.edits import coupled, edited_spans
from whence.data.planted.counterparts import planted_pairs
from whence.data.planted.opinions import ADJECTIVES, VERBS
from whence.data.readers.published import RowError
from whence.errors import BadInput

REVIEWS = (
    "Sentiment\tText\tbatch_id\n"
    'Negative\t"This is ""bad"".<br />Do not see it."\t122\n'
    "Negative\tA weak story.\t7\n"
    'Positive\t"This is ""good"".<br />See it."\t122\n'
    "Positive\tA strong story!\t7\n"
)
NLI = (
    "sentence1\tsentence2\tgold_label\n"
    "A boy kicks a ball.\tA boy is playing cricket.\tcontradiction\n"
    "A boy kicks a ball.\tA boy is playing soccer.\tentailment\n"
    "A man sits in a car.\tHe sits.\tentailment\n"
    "A man stands by a car.\tHe sits.\tcontradiction\n"
)


def edits(example: Example) -> dict[str, list[str]]:
    return {name: [example.texts[name][a:b] for a, b in spans] for name, spans in example.edits.items()}


def opened(tmp_path: Path, name: str, written: str) -> list[Example]:
    (tmp_path / name).write_text(written)
    corpus = open_corpus(f"counterfactual:{tmp_path / name}")
    assert check(corpus).ok
    return corpus.load(next(iter(corpus.splits)))


def test_two_rows_that_share_an_id(tmp_path: Path) -> None:
    found = opened(tmp_path, "train_paired.tsv", REVIEWS)
    assert [(e.id, e.label) for e in found] == [
        ("122-original", "Negative"), ("122-edited", "Positive"), ("7-original", "Negative"), ("7-edited", "Positive"),
    ]  # fmt: skip
    assert [edits(e)["text"] for e in found] == [["bad", "Do not"], ["good"], ["weak", "."], ["strong", "!"]]
    assert found[0].meta["counterpart"] == "122-edited"
    assert found[1].meta["counterpart"] == "122-original"
    assert not any(e.highlights for e in found)


def test_pairs_of_rows_that_share_a_sentence(tmp_path: Path) -> None:
    found = opened(tmp_path, "dev.tsv", NLI)
    assert [edits(e) for e in found] == [
        {"premise": [], "hypothesis": ["cricket"]}, {"premise": [], "hypothesis": ["soccer"]},
        {"premise": ["sits in"], "hypothesis": []}, {"premise": ["stands by"], "hypothesis": []},
    ]  # fmt: skip
    assert found[2].meta["counterpart"] == found[3].id == "dev-4"


def test_two_texts_in_one_row(tmp_path: Path) -> None:
    row = {
        "id": "x",
        "premise": "A dog.",
        "hypothesis": "A cat.",
        "label": "no",
        "edited_hypothesis": "A dog.",
        "edited_label": "yes",
    }
    first, second = opened(tmp_path, "pairs.jsonl", json.dumps(row))
    assert (first.id, second.id, first.label, second.label) == ("x", "x-edited", "no", "yes")
    assert (edits(first)["hypothesis"], edits(second)["hypothesis"]) == (["cat"], ["dog"])
    assert second.texts == {"premise": "A dog.", "hypothesis": "A dog."}
    row = {"Text": "So dull.", "Label": "0", "edited_text": "So witty.", "edited_label": "1"}
    assert [edits(e) for e in opened(tmp_path, "mine.jsonl", json.dumps(row))] == [{"text": ["dull"]}, {"text": ["witty"]}]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("text\tlabel\tpair_id\na b\tx\t1\na c\tx\t1\n", "row 2: '1-edited' has the label of its counterpart"),
        ("text\tlabel\tpair_id\nA b\tx\t1\na  b\ty\t1\n", "row 2: '1-edited' has the words of its counterpart"),
        ("text\tlabel\tpair_id\na b\tx\t1\na c\ty\t2\n", "row 1: pair_id '1' has one row"),
        ("text\tlabel\tpair_id\na b\tx\t1\na c\ty\t1\na d\ty\t1\n", "row 3: pair_id '1' is there a third time"),
        ("text\tlabel\tpair_id\na b\tx\t\n", "row 1: pair_id '' is empty"),
        ("text\tlabel\na b\tx\n", "nothing couples its rows"),
        ("body\tlabel\tpair_id\na b\tx\t1\n", "no text column; it has body, label, pair_id"),
        ("text\tpair_id\na b\t1\n", "no label column"),
        ("text\tedited_text\tlabel\na b\ta c\tx\n", "expected label and edited_label"),
        ("premise\thypothesis\tlabel\na\tb\tx\nc\td\ty\n", "row 1: shares no sentence with the next row"),
        ("premise\thypothesis\tlabel\na\tb\tx\n", "row 1: shares no sentence with the next row"),
        ("text\tlabel\tpair_id\na b\tx\t1\na c\t\t1\n", "row 2: label ''; expected one of x"),
        ("text\tlabel\tpair_id\n", "expected at least one"),
    ],
)
def test_bad_files_say_what_is_wrong_and_where(tmp_path: Path, written: str, message: str) -> None:
    (tmp_path / "bad.tsv").write_text(written)
    with pytest.raises(BadInput, match=message):
        open_corpus(f"counterfactual:{tmp_path / 'bad.tsv'}").load("all")


def test_spellings_of_one_label_are_one(tmp_path: Path) -> None:
    found = opened(tmp_path, "x.csv", "text,label,pair_id\na b,Yes,1\na c,no,1\nd e,yes ,2\nd f,no,2\n")
    assert [e.label for e in found] == ["Yes", "no", "Yes", "no"]
    (tmp_path / "y.csv").write_text("text,label,pair_id\na b,Yes,1\na c,yes,1\n")
    with pytest.raises(BadInput, match="has the label of its counterpart"):
        open_corpus(f"counterfactual:{tmp_path / 'y.csv'}").load("all")


def test_no_such_file() -> None:
    with pytest.raises(BadInput, match=r"counterfactual:none\.tsv: no such file"):
        open_corpus("counterfactual:none.tsv")


@given(
    st.lists(st.sampled_from(["a", "B", "c.", "é", "中", "\n"]), max_size=8),
    st.lists(st.sampled_from(["a", "b", "C.", "d"]), max_size=8),
)
def test_what_is_left_without_the_edits_is_the_same(a: list[str], b: list[str]) -> None:
    first, second = " ".join(a), " ".join(b)
    left = []
    for text, spans in zip((first, second), edited_spans(first, second), strict=True):
        for start, end in reversed(spans):
            text = text[:start] + " " + text[end:]
        left.append([word.casefold() for word in words(text)])
    assert left[0] == left[1]


def test_coupled_refuses_the_same_label() -> None:
    with pytest.raises(RowError, match="label of its counterpart"):
        coupled(Example("1", {"text": "a"}, "x"), Example("2", {"text": "b"}, "x"))


def test_planted_reviews_turn_with_their_opinions() -> None:
    side = {word: label for table in (ADJECTIVES, VERBS) for label in table for word in table[label]}
    pairs = planted_pairs("reviews").load("dev")
    assert len(pairs) == 2000
    for example in pairs:
        votes: Counter[str] = Counter()
        said = [word.lower() for word in words(example.texts["text"])]
        for before, word in zip(["", *said], said, strict=False):
            if word in side:
                turned = before in ("not", "never")
                votes[{"negative": "positive", "positive": "negative"}[side[word]] if turned else side[word]] += 1
        assert votes.most_common(1)[0][0] == example.label  # counted from the words alone
        assert {word for text in edits(example)["text"] for word in text.split()} <= {*side, "not", "never"}


def test_planted_scenes_turn_with_one_word() -> None:
    pairs = planted_pairs("scenes").load("dev")
    assert len(pairs) > 400
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        assert (first.label, second.label) == ("neutral", "entailment")
        assert first.texts["premise"] == second.texts["premise"]
        [*_, word] = edits(second)["hypothesis"][-1].split()
        assert word.lower() in {w.lower() for w in words(first.texts["premise"])}
        assert 1 <= first.edited_words("hypothesis").sum() <= 2  # the word, and its article where that changes


def test_the_same_seed_gives_the_same_pairs() -> None:
    assert planted_pairs("reviews", 3).load("dev", 50) == planted_pairs("reviews", 3).load("dev", 50)
    assert not any(isinstance(row, BadRow) for row in planted_pairs("scenes", 1).rows("test"))
