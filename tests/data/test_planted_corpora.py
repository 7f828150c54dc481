"""What every planted corpus promises: the same bytes from a seed, distinct examples, balance, and spans that hold."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

from whence.data import Example, words
from whence.data.planted import PLANTED, choices, shortcuts
from whence.errors import BadInput

SIZES = {
    "scenes": (24_000, 2_000, 2_000), "reviews": (12_000, 1_000, 1_000), "choices": (6_000, 600, 600),
    "shortcuts": (12_000, 1_000, 1_000),
}  # fmt: skip
DIGEST = """
import hashlib
from whence.data.planted import PLANTED
for name in sorted(PLANTED):
    print(name, hashlib.sha256("\\n".join(map(repr, PLANTED[name](3).load("dev"))).encode()).hexdigest())
"""


@cache
def split(name: str, part: str) -> list[Example]:
    return PLANTED[name](0).load(part)


def texts(example: Example) -> tuple[str, ...]:
    return (*example.texts.values(), *sorted(example.choices))


@pytest.mark.parametrize("name", PLANTED)
def test_sizes_balance_and_ids(name: str) -> None:
    corpus = PLANTED[name](0)
    for part, size in zip(("train", "dev", "test"), SIZES[name], strict=True):
        examples = split(name, part)
        assert len(examples) == size == corpus.expected[part]
        assert len({example.id for example in examples}) == size
        counts = Counter(example.label for example in examples)
        assert set(counts) == set(corpus.labels)
        assert max(counts.values()) - min(counts.values()) <= 0.02 * size


@pytest.mark.parametrize("name", PLANTED)
def test_examples_are_distinct_within_and_between_splits(name: str) -> None:
    everything = [texts(example) for part in ("train", "dev", "test") for example in split(name, part)]
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize("name", PLANTED)
def test_test_words_occur_in_training(name: str) -> None:
    known = {word for example in split(name, "train") for text in texts(example) for word in words(text)}
    for part in ("dev", "test"):
        assert {word for example in split(name, part) for text in texts(example) for word in words(text)} <= known


@pytest.mark.parametrize("name", PLANTED)
def test_every_example_has_a_reason(name: str) -> None:
    for example in split(name, "train")[:3_000] + split(name, "test"):
        assert len(example.explanations) == 1
        assert example.explanations[0].endswith(".")
        for field, text in example.texts.items():
            spans = example.highlights[0][field]
            assert spans
            assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
            assert example.highlighted_words(field).any()


def test_the_same_seed_gives_the_same_bytes_in_any_process() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": salt},
        ).stdout
        for salt in ("1", "2")
    ]
    here = [
        f"{name} {hashlib.sha256(chr(10).join(map(repr, PLANTED[name](3).load('dev'))).encode()).hexdigest()}"
        for name in sorted(PLANTED)
    ]
    assert runs[0] == runs[1] == "\n".join(here) + "\n"


@pytest.mark.parametrize("name", PLANTED)
def test_seeds_differ(name: str) -> None:
    assert [texts(e) for e in PLANTED[name](1).load("dev")] != [texts(e) for e in PLANTED[name](2).load("dev")]


def test_choices_hold_the_answer_and_a_held_out_rival() -> None:
    seen = {(example.meta["answer"], other) for example in split("choices", "train") for other in example.choices}
    for example in split("choices", "test"):
        answer = example.meta["answer"]
        assert example.choices["ABC".index(example.label or "")] == answer
        ((start, end),) = example.highlights[0]["question"]
        reason = example.explanations[0].lower()
        assert example.texts["question"][start:end].lower() in reason
        assert answer in reason
        assert any((answer, other) not in seen for other in example.choices if other != answer)
    assert len(choices(0, options=5).load("dev", limit=10)[0].choices) == 5


def test_neither_choices_nor_question_alone_tell_the_answer() -> None:
    """An answer is as often right as wrong answers allow, no held-out rival is ever shown as the right one, and a thing has two
    homes, so that only a reader of both knows."""
    train = split("choices", "train")
    shown = Counter(choice for example in train for choice in example.choices)
    right = Counter(example.meta["answer"] for example in train)
    places = {example.meta["answer"] for example in train if example.meta["kind"] == "where"}
    assert all(abs(right[place] / shown[place] - 1 / 3) < 0.06 for place in places)
    asked = {frozenset((example.meta["answer"], other)) for example in train for other in example.choices}
    for example in split("choices", "test"):
        answer = example.meta["answer"]
        assert any(frozenset((answer, other)) not in asked for other in example.choices if other != answer)
    homes: dict[str, set[str]] = {}
    for example in train:
        if example.meta["kind"] == "where":
            ((start, end),) = example.highlights[0]["question"]
            homes.setdefault(example.texts["question"][start:end], set()).add(example.meta["answer"])
            assert example.explanations[0].split()[1] == example.meta["answer"]
    assert all(len(found) == 2 for found in homes.values())


@pytest.mark.parametrize(
    "bad",
    [{"rate": 1.5}, {"token": "two words"}, {"token": "same", "other": "same"}, {"token": "superb"}],
)
def test_shortcuts_refuse_what_would_not_decide(bad: dict) -> None:
    with pytest.raises(BadInput, match="shortcuts: "):
        shortcuts(0, **bad)


def test_choices_refuse_too_many_options() -> None:
    with pytest.raises(BadInput, match="expected 2 to 5"):
        choices(0, options=6)
