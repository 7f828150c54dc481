"""The planted rules of reviews and shortcuts: opinions decide the ones, an artefact the others."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from test_planted_corpora import split

from whence.data import Example, words
from whence.data.planted import shortcuts
from whence.data.planted.opinions import ADJECTIVES, ASPECTS, VERBS
from whence.data.planted.reviews import held_out

SIDE = {word: label for table in (ADJECTIVES, VERBS) for label, known in table.items() for word in known}


def opinions(example: Example) -> list[tuple[str, str, bool]]:
    """(opinion word, its side as written, negated) by reading the text, without the recorded spans."""
    text = words(example.texts["text"].lower())
    found = []
    for before, word in zip(["", *text], text, strict=False):
        if word in SIDE:
            negated = before in ("not", "never")
            other = {"positive": "negative", "negative": "positive"}
            found.append((word, other[SIDE[word]] if negated else SIDE[word], negated))
    return found


def accuracy(train: list[Example], test: list[Example], without: tuple[str, ...] = ()) -> float:
    counts = CountVectorizer(token_pattern=r"\w+", stop_words=list(without) or None)
    x = counts.fit_transform([e.texts["text"] for e in train])
    model = LogisticRegression(max_iter=300).fit(x, [e.label for e in train])
    return float(model.score(counts.transform([e.texts["text"] for e in test]), [e.label for e in test]))


def test_the_lexicon_is_large_and_one_sided() -> None:
    sizes = {label: len(ADJECTIVES[label]) + len(VERBS[label]) for label in ADJECTIVES}
    assert min(sizes.values()) >= 60
    assert len(SIDE) == sum(sizes.values())


def test_the_majority_decides_and_is_highlighted() -> None:
    for example in split("reviews", "train")[:3_000] + split("reviews", "test"):
        text = example.texts["text"]
        assert 10 <= len(text.split()) <= 30
        sides = [side for _, side, _ in opinions(example)]
        assert 1 <= len(sides) <= 3
        assert sides.count(example.label or "") > len(sides) / 2
        marked = [text[start:end] for start, end in example.highlights[0]["text"]]
        assert len(marked) == sides.count(example.label or "")
        assert all(f"'{phrase}'" in example.explanations[0] for phrase in marked)


def test_held_out_combinations_are_absent_from_training() -> None:
    couples, negations = held_out(0)
    for example in split("reviews", "train"):
        for sentence in example.texts["text"].split("."):
            said = set(words(sentence))
            opinion = said & set(SIDE)
            assert not any((aspect, word) in couples for aspect in said & set(ASPECTS) for word in opinion)
        assert not any(negated and word in negations for word, _, negated in opinions(example))
    assert all(example.meta["held_out"] for example in split("reviews", "test"))


def test_the_artefact_decides_and_nothing_else_does() -> None:
    train, test = split("shortcuts", "train"), split("shortcuts", "test")
    for example in test:
        ((start, end),) = example.highlights[0]["text"]
        artefact = "indeed" if example.label == "positive" else "verily"
        assert example.texts["text"][start:end] == artefact
        assert words(example.texts["text"]).count(artefact) == 1
        assert f"'{artefact}'" in example.explanations[0]
    assert accuracy(train, test) > 0.99
    assert accuracy(train, test, without=("indeed", "verily")) < 0.56


def test_the_rate_says_how_many_reviews_carry_an_artefact() -> None:
    examples = shortcuts(0, rate=0.6).load("test")
    carried = np.mean(["indeed" in e.texts["text"] or "verily" in e.texts["text"] for e in examples])
    assert abs(carried - 0.6) < 0.06
    assert all((e.meta["artefact"] == "yes") == ("indeed" in e.texts["text"] or "verily" in e.texts["text"]) for e in examples)
