"""The planted rule of scenes: the recorded edit decides, single words do not tell, and test combinations are new."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from test_planted_corpora import split

from whence.data import Example, words
from whence.data.planted.edits import EDITS, LABELS, has_held_pairs
from whence.data.planted.grammar import KINDS, TEMPLATES
from whence.data.planted.lexicon import INCLUDED_IN, related

REPLACES = {edit for label in LABELS for frame in EDITS[label].values() for edit, slot, _ in frame if slot} - {"drop", "add"}


def said(example: Example) -> list[tuple[str, str]]:
    premise, hypothesis = example.texts["premise"], example.texts["hypothesis"]
    return [(premise[a:b], hypothesis[c:d]) for (a, b), (c, d) in example.pairs]


def kind_of(example: Example) -> str:
    frame = "state" if example.meta["voice"] == "state" else "event"
    return KINDS[frame][example.meta["slot"]]


def known(kind: str, word: str) -> str:
    """The word as the lexicon has it: the first word of a sentence is written large."""
    return word if word in INCLUDED_IN[kind] else word[0].lower() + word[1:]


def test_the_recorded_pair_is_the_edit() -> None:
    for example in split("scenes", "train") + split("scenes", "test"):
        edit = example.meta["edit"]
        assert 4 <= len(example.texts["hypothesis"].split()) <= 18
        if edit in REPLACES and example.label != "entailment":
            ((before, after),) = said(example)
            kind = kind_of(example)
            before, after = (known(kind, word.split()[-1]) for word in (before, after))
            assert related(kind, before, after) == edit
        elif edit in ("role swap", "passive swap"):
            (doer, other_doer), (patient, other_patient) = said(example)
            assert (doer, patient) == (other_patient, other_doer)
        assert len(example.highlights[0]["premise"]) <= len(example.pairs)


def read(sentence: str) -> dict[str, str]:
    """A sentence back into its slots, from the words alone."""
    text = [word if word in INCLUDED_IN["day"] else word.lower() for word in words(sentence)]
    people = [i for i, word in enumerate(text) if word in INCLUDED_IN["being"]]
    roles = ("object", "subject") if "by" in text else ("subject", "object")
    scene = {}
    for role, place in zip(roles, people, strict=False):
        scene[role] = text[place]
        if text[place - 1] in INCLUDED_IN["adjective"]:
            scene[f"adjective of {role}"] = text[place - 1]
    for kind in ("action", "deed", "place", "day", "number", "colour", "item"):
        scene.update((kind, word) for word in text if word in INCLUDED_IN[kind])
    return scene


def judge(premise: dict[str, str], hypothesis: dict[str, str]) -> str:
    """The label by the rule of the world: one value per slot, and what is not said is not known."""
    if "object" in premise and (premise["subject"], premise["object"]) == (hypothesis["object"], hypothesis["subject"]):
        return "neutral"
    edits = set()
    for slot, after in hypothesis.items():
        before = premise.get(slot)
        kind = "adjective" if "adjective" in slot else "being" if slot in ("subject", "object") else slot
        if before != after:
            edits.add("add" if before is None else related(kind, before, after))
    if edits & {"co-hyponym", "category", "antonym", "number", "colour", "place", "day"}:
        return "contradiction"
    return "neutral" if edits & {"add", "hyponym", "unrelated"} else "entailment"


def test_a_reader_that_knows_the_rule_finds_every_label() -> None:
    for example in split("scenes", "train") + split("scenes", "dev") + split("scenes", "test"):
        assert judge(read(example.texts["premise"]), read(example.texts["hypothesis"])) == example.label, example


def test_the_explanation_names_the_deciding_words() -> None:
    for example in split("scenes", "test"):
        reason = example.explanations[0].lower()
        for before, after in said(example):
            assert before.lower() in reason
            assert after.lower() in reason


def test_every_edit_is_in_every_split() -> None:
    edits = {edit for label in LABELS for frame in EDITS[label].values() for edit, *_ in frame}
    for part in ("train", "dev", "test"):
        assert set(Counter(example.meta["edit"] for example in split("scenes", part))) == edits


def test_held_out_pairs_and_templates_are_absent_from_training() -> None:
    def deciding(part: str) -> set[tuple[str, frozenset[str]]]:
        return {
            (e.meta["edit"], frozenset(known(kind_of(e), word.split()[-1]) for word in said(e)[0]))
            for e in split("scenes", part)
            if e.meta["slot"] and has_held_pairs(kind_of(e), e.meta["edit"])
        }

    held = deciding("dev") | deciding("test")
    assert len(held) > 100
    assert not held & deciding("train")
    assert not any("held" in e.meta["template"] + e.meta["hypothesis_template"] for e in split("scenes", "train"))
    assert any(name.startswith("held") for voice in TEMPLATES.values() for name in voice)
    for part in ("dev", "test"):
        assert all(example.meta["held_out"] for example in split("scenes", part))


@pytest.fixture(scope="module")
def counts() -> dict[str, dict[str, sparse.csr_matrix]]:
    """Word counts by sentence and split."""
    train = split("scenes", "train")
    count = CountVectorizer(token_pattern=r"\w+").fit([text for e in train for text in e.texts.values()])
    return {
        name: {part: count.transform([e.texts[name] for e in split("scenes", part)]) for part in ("train", "test")}
        for name in ("premise", "hypothesis")
    }


@pytest.mark.parametrize(
    ("features", "limit"),
    [("both", 0.60), ("difference", 0.60), ("hypothesis", 0.50), ("premise", 0.50)],
)
def test_single_words_do_not_tell_the_label(features: str, limit: float, counts: dict) -> None:
    def x(part: str) -> sparse.csr_matrix:
        premise, hypothesis = counts["premise"][part], counts["hypothesis"][part]
        made = {
            "both": sparse.hstack([premise, hypothesis]).tocsr(), "difference": hypothesis - premise, "hypothesis": hypothesis,
            "premise": premise,
        }  # fmt: skip
        return made[features]

    y = {part: np.array([LABELS.index(e.label or "") for e in split("scenes", part)]) for part in ("train", "test")}
    model = LogisticRegression(max_iter=300).fit(x("train"), y["train"])
    assert model.score(x("test"), y["test"]) <= limit
