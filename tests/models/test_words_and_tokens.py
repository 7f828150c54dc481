"""Words map to tokens and back to the unchanged text, whatever the text."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny import MODELS

from whence.data import Example, covered, runs, space_spans, word_spans, words
from whence.models import Classifier, hide_tokens

ODD = [
    "",
    " ",
    "one",
    "\n\t",
    "👩‍👩‍👧 ❤️ ok",
    "שלום עולם",
    "مرحبا بالعالم",
    "<script>alert('x')</script>",
    "a\ud800b \udfff",
    "\ud83d\ude00 pair",
    "漢字かなカナ mixed",
    "हिन्दी भाषा",
    "don't re-use 3.5, 10,000",
    "word " * 2000,
    "x" * 3000,
    "a\u200bb\u00a0c\u2028d",
    "e\u0301a\u0300",
    "[MASK] [CLS]",
    "\x00\x1b[31m",
]
any_text = st.text(st.characters(exclude_categories=()), max_size=60)


@pytest.mark.parametrize(("text", "expected"), [
    ("It's great.<br />The end", ["It's", "great", ".<", "br", "/>", "The", "end"]),
    ("re-imagined 3.5 of 10,000...", ["re-imagined", "3.5", "of", "10,000", "..."]),
    ("漢字 ok", ["漢", "字", "ok"]),
    ("हिन्दी ❤️", ["हिन्दी", "❤️"]),
    ("", []),
])  # fmt: skip
def test_what_a_word_is(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(any_text)
def test_word_spans_cover_all_but_space(text: str) -> None:
    spans = word_spans(text)
    assert [text[a:b] for a, b in spans] == words(text)
    assert all(a < b for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in pairwise(spans))
    left_over = text
    for a, b in reversed(spans):
        left_over = left_over[:a] + left_over[b:]
    assert left_over.strip() == "" or left_over.isspace()


def test_covered_and_runs() -> None:
    spans = word_spans("one two three four")
    assert covered(spans, [(4, 9)]).tolist() == [False, True, True, False]
    assert covered(spans, []).tolist() == [False] * 4
    assert runs([True, True, False, True]) == [(0, 2), (3, 4)]
    assert runs([]) == []
    assert space_spans(" a  bc.") == [(1, 2), (4, 7)]


@pytest.fixture(scope="module", params=["bert", "roberta", "gpt2", "bilstm"])
def tokenizing(request: pytest.FixtureRequest) -> Classifier:
    return MODELS[request.param]()


def check_mapping(classifier: Classifier, text: str) -> None:
    [encoded] = classifier.encode([Example("x", {"text": text})])
    assert encoded.words == words(text)
    assert encoded.word.max(initial=-1) < len(encoded.words)
    assert (np.diff(encoded.word[encoded.word >= 0]) >= 0).all()  # tokens come in the order of their words
    kept = encoded.tokens_of(np.ones(encoded.word_count, dtype=bool))
    assert kept.all()
    hidden = ~encoded.tokens_of(np.zeros(encoded.word_count, dtype=bool))
    assert (hidden == (encoded.word >= 0)).all()
    assert encoded.sum_to_words(np.ones(len(encoded))).sum() == hidden.sum()


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_map_to_words(tokenizing: Classifier, text: str) -> None:
    check_mapping(tokenizing, text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_text)
def test_any_text_maps_to_words(tokenizing: Classifier, text: str) -> None:
    check_mapping(tokenizing, text)


def test_every_word_is_seen_in_plain_text(tokenizing: Classifier) -> None:
    [encoded] = tokenizing.encode([Example("x", {"text": "The old cat wasn't wonderful, re-imagined 3.5 times!"})])
    assert encoded.unseen == 0


def test_long_text_is_cut_and_counted(bert: Classifier) -> None:
    bert.tokenizer.model_max_length = 20
    try:
        [encoded] = bert.encode([Example("x", {"text": "good " * 50})])
    finally:
        bert.tokenizer.model_max_length = int(1e30)
    assert len(encoded) == 20
    assert encoded.unseen == 50 - encoded.seen.sum() > 0
    assert not encoded.seen[-1]


def test_pair_keeps_its_sentences_apart(bert: Classifier) -> None:
    """Trap 2 of peers.md: a pair is encoded as a pair, with its own segment ids, never as one joined string."""
    [encoded] = bert.encode([Example("x", {"premise": "The cat sat", "hypothesis": "a dog slept"})])
    assert encoded.types is not None
    assert set(encoded.types[encoded.field == 0]) == {0}
    assert set(encoded.types[encoded.field == 1]) == {1}
    assert encoded.word_fields.tolist() == [0, 0, 0, 1, 1, 1]
    expected = bert.tokenizer("The cat sat", "a dog slept")
    assert encoded.ids.tolist() == expected["input_ids"]
    assert encoded.types.tolist() == expected["token_type_ids"]


def test_hiding_happens_on_ids(bert: Classifier) -> None:
    """Trap 1: nothing is decoded and tokenised again; the other ids stay exactly as they were."""
    [encoded] = bert.encode([Example("x", {"text": "Nobody expected unbelievable elephants"})])
    keep = encoded.tokens_of(np.array([True, False, True, True]))
    masked = hide_tokens(encoded, keep, "mask", 4, 0)
    assert (masked.ids[keep] == encoded.ids[keep]).all()
    assert (masked.ids[~keep] == 4).all()
    assert (hide_tokens(encoded, keep, "pad", 4, 0).ids[~keep] == 0).all()
    assert hide_tokens(encoded, keep, "delete", 4, 0).ids.tolist() == encoded.ids[keep].tolist()
