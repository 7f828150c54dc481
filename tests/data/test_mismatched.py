"""Explanations that do not belong share a sentence, a choice or a deciding word with the example that they are given to."""

import re
from collections import Counter

import numpy as np
import pytest

from whence.data import Example, open_corpus
from whence.data.mismatched import LABELS, triple, with_mismatches
from whence.errors import BadInput
from whence.measure.text.critic import belonging, critic_score
from whence.models import BlackBox
from whence.run import Runner

PATTERNS = """a an the is are not need be being mean means opposite of nothing says holds without too that does show both
sentences tell and carrying"""
FUNCTION = set(re.findall(r"\w+", PATTERNS))
"""Words of the planted explanations that name nothing."""


def pair(name: str, premise: str, hypothesis: str, why: str) -> Example:
    return Example(name, {"premise": premise, "hypothesis": hypothesis}, "neutral", explanations=(why,) if why else ())


def test_a_mismatch_is_of_an_example_with_the_same_sentence() -> None:
    examples = [
        pair("1", "A man naps.", "He dreams.", "Not all who nap dream."),
        pair("2", "A man naps.", "He runs.", "Nobody naps while running."),
        pair("3", "A dog barks.", "He runs.", "Dogs bark while they sit, too."),
        pair("4", "A cat sits.", "It purrs.", "Not all cats purr."),
        pair("5", "A cat sits.", "It purrs loudly.", "Not all cats purr."),
        pair("6", "A man naps.", "It is noon.", ""),
    ]
    for seed in range(5):
        made = with_mismatches({"train": examples}, seed).load("train")
        by_id = {one.id: one for one in made}
        assert sorted(by_id) == [f"{n}-{kind}" for n in (1, 2, 3) for kind in ("match", "mismatch")]
        assert by_id["1-match"].texts["hypothesis"] == "not all who nap dream."
        assert by_id["1-mismatch"].texts["hypothesis"] == "nobody naps while running."  # 6 has no explanation
        assert by_id["3-mismatch"].texts["hypothesis"] == "nobody naps while running."
        assert by_id["1-match"].texts["premise"] == "a man naps. / he dreams. / neutral"
    with pytest.raises(BadInput, match="no two examples of train"):
        with_mismatches({"train": examples[3:5]})


@pytest.mark.parametrize("name", ["scenes", "choices"])
def test_planted_mismatches_are_near_and_wrong(name: str) -> None:
    corpus = open_corpus(name, None)
    examples = corpus.load("dev", 200)
    own = {example.id: example for example in examples}
    made = with_mismatches({"dev": examples})
    assert made.labels == LABELS
    rows = made.load("dev")
    assert Counter(one.label for one in rows) == {"match": len(rows) // 2, "mismatch": len(rows) // 2}
    assert len(rows) > 300
    for one in rows:
        source = own[one.id.rsplit("-", 1)[0]]
        assert (one.texts["hypothesis"] == source.explanations[0].lower()) == (one.label == "match")
        if one.label == "mismatch" and name == "scenes":
            spans = [(field, span) for field, spans in source.highlights[0].items() for span in spans]
            words = {source.texts[field][a:b].casefold() for field, (a, b) in spans}
            others = [e for e in examples if e.explanations[0].lower() == one.texts["hypothesis"]]
            assert any(words & {e.texts[f][a:b].casefold() for f, s in e.highlights[0].items() for a, b in s} for e in others)
            here = {word for text in source.texts.values() for word in re.findall(r"\w+", text.lower())}
            assert set(re.findall(r"\w+", one.texts["hypothesis"])) - here - FUNCTION, "it says nothing new of this example"
    assert [e.id for e in with_mismatches({"dev": examples}, 1).load("dev")] == [e.id for e in rows]


def planted(name: str, premise: str, hypothesis: str, deciding: tuple[str, str], why: str) -> Example:
    spans = tuple(
        (text.index(word), text.index(word) + len(word)) for text, word in zip((premise, hypothesis), deciding, strict=True)
    )
    texts = {"premise": premise, "hypothesis": hypothesis}
    return Example(name, texts, "neutral", explanations=(why,), pairs=((spans[0], spans[1]),))


def test_of_planted_examples_an_explanation_that_may_be_true_here_too_is_no_mismatch() -> None:
    """Both share a sentence; all that the other one's reason says is said here as well, be it in a phrase of several words."""
    vague = planted("1", "A dog with three red hats naps.", "A dog rests.", ("naps", "rests"), "Naps is rests.")
    phrase = planted(
        "2", "A dog with three red hats naps.", "A dog naps.", ("three red hats", "dog"), "Dog holds without hats."
    )
    assert not _others_of(vague, phrase)
    new = planted("3", "A dog with three red hats naps.", "A cat naps.", ("dog", "cat"), "A dog is not a cat.")
    assert _others_of(vague, phrase, new) == {"a dog is not a cat."}


def _others_of(first: Example, *others: Example) -> set[str]:
    """What is given to the first as a mismatch; of the rest only those from which it may come."""
    found = set()
    for seed in range(6):
        try:
            rows = with_mismatches({"dev": [first, *others]}, seed).load("dev")
        except BadInput:
            continue
        found |= {row.texts["hypothesis"] for row in rows if row.id == f"{first.id}-mismatch"}
    return found


def test_the_critic_is_asked_about_input_label_and_explanation() -> None:
    seen: list[tuple[str, str]] = []

    def predict(texts: list[tuple[str, str]]) -> np.ndarray:
        seen.extend(texts)
        sure = [0.9 if "neutral" in premise and "dream" in why else 0.4 for premise, why in texts]
        return np.array([[p, 1 - p] for p in sure])

    critic = Runner(BlackBox(predict, ["match", "mismatch"]))
    example = pair("1", "A man naps.", "He dreams.", "")
    triples = [triple(example, "neutral", "dreams need not be"), triple(example, None, "dreams", name="2")]
    assert belonging(critic, triples) == pytest.approx([0.9, 0.4])
    assert critic_score(critic, triples).tolist() == [1, 0]
    assert seen[0] == ("a man naps. / he dreams. / neutral", "dreams need not be")
    assert "no label" in triples[1].texts["premise"]
    with pytest.raises(BadInput, match="expected mismatch and match"):
        belonging(Runner(BlackBox(predict, ["yes", "no"])), triples)
