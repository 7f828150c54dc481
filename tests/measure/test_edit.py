"""Points at the edit: 1 for a method that knows, its chance for random, and part of every audit of counterfactual pairs."""

from pathlib import Path

import numpy as np
import pytest
from bag_model import bag_classifier

import whence
from whence.data import Example
from whence.data.edits import coupled
from whence.data.planted.counterparts import planted_pairs
from whence.errors import BadInput
from whence.explain import METHODS, explain
from whence.measure import Judged, choose_measures
from whence.measure.alignments.edit import edit_found, touching_edit
from whence.measure.edit import edit_rounds
from whence.models import Classifier
from whence.run import Runner

NEUTRAL = ("the", "film", "was", "we", "saw", "it", "on", "monday")
WEIGHTS = dict.fromkeys(NEUTRAL, 0.0) | {"witty": 1.5, "lovely": 1.0, "dull": -1.5, "awful": -1.0}


def pairs() -> list[Example]:
    """One or two opinions in eight words: the label turns with them."""
    made = []
    for place in range(7):
        said, other = list(NEUTRAL), list(NEUTRAL)
        said[place], other[place] = "witty", "dull"
        if place % 2:
            said[place - 1], other[place - 1] = "lovely", "awful"
        made += coupled(
            Example(f"{place}a", {"text": " ".join(said)}, "yes"), Example(f"{place}b", {"text": " ".join(other)}, "no")
        )
    return made


def values(classifier: Classifier, method: str, seed: int = 0) -> list[float]:
    runner = Runner(classifier)
    encoded = classifier.encode(pairs())
    made = explain(runner, encoded, METHODS[method], hide="delete", seed=seed)
    found = runner.drive(
        edit_rounds(Judged(e, x, "delete", classifier.labels.index(x.target))) for e, x in zip(encoded, made, strict=True)
    )
    return [value[0] for value in found if value is not None]


def test_leave_one_out_finds_the_word_that_turns_the_label() -> None:
    assert values(bag_classifier(WEIGHTS), "leave_one_out") == [1.0] * 14


def test_random_scores_its_chance() -> None:
    classifier = bag_classifier(WEIGHTS)
    chance = np.mean([example.edited_words("text").mean() for example in pairs()])
    found = [value for seed in range(150) for value in values(classifier, "random", seed)]
    assert np.mean(found) == pytest.approx(chance, abs=4 * np.std(found) / len(found) ** 0.5)


def test_undefined_where_words_were_only_taken_away() -> None:
    classifier = bag_classifier(WEIGHTS | {"not": -3.0})
    first, second = coupled(Example("a", {"text": "not witty"}, "no"), Example("b", {"text": "witty"}, "yes"))
    encoded = classifier.encode([first, second])
    made = explain(Runner(classifier), encoded, METHODS["leave_one_out"], hide="delete")
    found = Runner(classifier).drive(edit_rounds(Judged(e, x, "delete", 0)) for e, x in zip(encoded, made, strict=True))
    assert found == [(1.0,), None]


def test_chosen_by_default_only_where_there_are_edits() -> None:
    assert "edit" in {m.name for m in choose_measures(pairs())}
    plain = [Example("x", {"text": "a film"}, "yes")]
    assert "edit" not in {m.name for m in choose_measures(plain)}
    with pytest.raises(BadInput, match="edit needs counterfactual pairs"):
        choose_measures(plain, ["edit"])


def test_audits_of_pairs_tell_it(tmp_path: Path) -> None:
    report = whence.audit(
        bag_classifier(WEIGHTS), pairs(), tmp_path, hide="delete", methods=["leave_one_out", "random"], say=str
    )
    rows = {row["method"]: row for row in report.results["table"] if row["measure"] == "edit"}
    assert rows["leave_one_out"]["value"] == 1.0
    assert rows["random"]["value"] < 0.6
    assert "Points at the edit" in report.path.read_text()


def test_alignments_at_equal_size() -> None:
    example = planted_pairs("scenes").load("dev", 1)[0]
    touching, k = touching_edit(example), int(example.edited_words("hypothesis").sum())
    assert touching.sum() == k * len(example.edited_words("premise"))
    draw = np.random.default_rng(0)
    assert edit_found(example, touching + draw.random(touching.shape)) == 1.0
    assert edit_found(example, draw.random(touching.shape) - touching) == 0.0
    assert edit_found(example, touching * 1.0, ~touching) == 0.0  # the model never read the edited words
    found = [edit_found(example, draw.random(touching.shape)) or 0.0 for _ in range(4000)]
    assert np.mean(found) == pytest.approx(touching.mean(), abs=0.03)
    assert edit_found(Example("x", example.texts, "neutral"), touching * 1.0) is None
