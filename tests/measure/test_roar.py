"""ROAR: how many words, which ones, and the text that is left, against texts written by hand."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.data import Example, open_template, word_spans
from whence.errors import BadInput
from whence.measure.roar import how_many, marks_of, occluded, occluded_source, random_scores, top_words
from whence.models.text_models import build_text_model
from whence.models.text_tokenizer import build_text_tokenizer

PAIR = Example("1", {"premise": "A man naps outside.", "hypothesis": "The man runs."}, "contradiction", explanations=("why",))
ASKED = Example("2", {"question": "Where is bread baked?"}, "B", ("a library", "an oven", "a river"), explanations=("hot",))
SENTINELS = [f"<extra_id_{i}>" for i in range(9)]


@pytest.mark.parametrize(
    ("words", "percent", "hidden"),
    [
        (10, 10, 1),
        (10, 20, 2),
        (14, 10, 1),
        (15, 10, 2),
        (25, 30, 8),
        (2, 10, 1),
        (1, 30, 1),
        (5, 0, 0),
        (3, 100, 3),
        (0, 10, 0),
    ],
)
def test_how_many(words: int, percent: float, hidden: int) -> None:
    assert how_many(words, percent) == hidden


def test_the_highest_words_are_hidden_and_of_equal_ones_the_earlier() -> None:
    assert top_words([0.1, 3.0, 0.2, 3.0, 5.0], 60) == [1, 3, 4]
    assert top_words([1.0, 2.0, 2.0, 2.0], 50) == [1, 2]


def test_random_words_depend_on_seed_and_example_alone_and_are_nested() -> None:
    state = random.getstate()
    scores = random_scores("x", 20, seed=0)
    assert scores == random_scores("x", 20, seed=0)
    assert random.getstate() == state
    assert scores != random_scores("y", 20, seed=0)
    assert scores != random_scores("x", 20, seed=1)
    few, more = top_words(scores, 10), top_words(scores, 30)
    assert len(few) == 2
    assert len(more) == 6
    assert set(few) < set(more)


def test_the_source_is_the_one_that_a_person_would_write() -> None:
    """Words: The man runs . | A man naps outside . (the hypothesis comes first in the source)."""
    nli = open_template("nli.i-or")
    assert occluded_source(nli, PAIR, [], SENTINELS) == "explain nli hypothesis: The man runs. premise: A man naps outside."
    assert (
        occluded_source(nli, PAIR, [1, 2, 6], SENTINELS)
        == "explain nli hypothesis: The <extra_id_0>. premise: A man <extra_id_1> outside."
    )
    # a run ends with its field, and the prompt between the fields stays
    assert (
        occluded_source(nli, PAIR, [3, 4], SENTINELS)
        == "explain nli hypothesis: The man runs<extra_id_0> premise: <extra_id_1> man naps outside."
    )
    masked = occluded_source(nli, PAIR, [0, 2], ["[MASK]"] * 9)
    assert masked == "explain nli hypothesis: [MASK] man [MASK]. premise: A man naps outside."


def test_choices_can_be_hidden_and_the_answer_stays() -> None:
    """Words: Where is bread baked ? | a library | an oven | a river."""
    hidden = occluded(open_template("cose.i-or"), ASKED, [2, 7, 8], SENTINELS)
    assert hidden.texts == {
        "text": "explain cos_e question: Where is <extra_id_0> baked? choice: a library choice: <extra_id_1> choice: a river"
    }
    target = open_template("source.i-or")
    assert target.render(hidden).text == hidden.texts["text"]
    assert target.render_target(hidden) == "an oven explanation: hot"
    assert target.candidates(hidden, ("A", "B", "C")) == ASKED.choices


@given(st.lists(st.sampled_from(["dog", "<extra_id_0>", "it's", "§", "…", "日本", " "]), max_size=8), st.data())
def test_words_that_are_not_hidden_stay_as_they_are(pieces: list[str], data: st.DataObject) -> None:
    text = " ".join(pieces)
    example = Example("1", {"text": text}, "yes", explanations=("so",))
    spans = word_spans(text)
    hidden = data.draw(st.sets(st.integers(0, len(spans) - 1))) if spans else set()
    found = occluded_source(open_template("source.i-or"), example, hidden, iter(lambda: "\0", None))
    kept = [text[a:b] for i, (a, b) in enumerate(spans) if i not in hidden]
    assert [found[a:b] for a, b in word_spans(found.replace("\0", " "))] == kept
    assert found.count("\0") == sum(i in hidden and i - 1 not in hidden for i in range(len(spans)))


def test_marks_are_sentinels_where_there_are_some_else_the_mask_token() -> None:
    tokenizer = build_text_tokenizer(["a b c"])
    marks = marks_of(tokenizer)
    assert [next(marks) for _ in range(3)] == SENTINELS[:3]
    later = [next(marks) for _ in range(200)]
    assert later[-1] == "<extra_id_99>"

    class Bare:
        mask_token: str | None = "[MASK]"

        def get_vocab(self) -> dict[str, int]:
            return {"a": 0}

    bare = Bare()
    marks = marks_of(bare)
    assert [next(marks) for _ in range(2)] == ["[MASK]", "[MASK]"]
    bare.mask_token = None
    with pytest.raises(BadInput, match="neither sentinels"):
        marks_of(bare)


def test_a_sentinel_is_one_token_of_the_retrained_model() -> None:
    source = occluded_source(open_template("nli.i-or"), PAIR, [1, 6], SENTINELS)
    _, tokenizer = build_text_model("small_t5", [source], {"hidden_size": 16, "layers": 1})
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(source)["input_ids"])
    assert tokens.count("<extra_id_0>") == tokens.count("<extra_id_1>") == 1
    assert tokenizer.unk_token not in tokens
