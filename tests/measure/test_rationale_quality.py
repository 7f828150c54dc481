"""Quality, sufficiency and leakage, counted by hand."""

import numpy as np
import pytest

from whence.errors import BadInput
from whence.measure.rationale_quality import accuracy_gain, leakage_adjusted, names_label, quality, sufficiency

GOLD = ["a", "b", "a", "b", "c"]
I_O = ["a", "a", "b", None, "c"]  # 2 of 5
IR_O = ["a", "b", "a", "b", "a"]  # 4 of 5
R_O = ["a", "b", "a", "a", None]  # 3 of 5


def test_quality_and_sufficiency_are_differences_of_accuracies() -> None:
    np.testing.assert_array_equal(accuracy_gain(GOLD, IR_O, I_O), [0, 1, 1, 1, -1])
    assert quality(GOLD, IR_O, I_O).value == pytest.approx(4 / 5 - 2 / 5)
    assert sufficiency(GOLD, IR_O, R_O).value == pytest.approx(4 / 5 - 3 / 5)
    own = ["b", "b", "b", None, "a"]  # the explained model: IR→O guesses 2 of 5, I→O 1; no label is never right
    assert quality(own, IR_O, I_O).value == pytest.approx(2 / 5 - 1 / 5)
    found = quality(GOLD, IR_O, I_O)
    assert found.low <= found.value <= found.high


def test_a_rationale_that_changes_nothing_has_no_quality() -> None:
    found = quality(GOLD, I_O, I_O)
    assert (found.low, found.value, found.high) == (0, 0, 0)


def test_leaking_rationales_are_counted_apart() -> None:
    leaks = np.array([True, True, True, True, False])
    found = leakage_adjusted(GOLD, IR_O, I_O, leaks)
    assert found.plain == pytest.approx(2 / 5)
    assert (found.leaking, found.other, found.leaking_share) == (pytest.approx(3 / 4), -1, 0.8)
    assert found.adjusted == pytest.approx((3 / 4 - 1) / 2)  # four leaking rationales do not outvote the one that does not
    alone = leakage_adjusted(GOLD, IR_O, I_O, np.zeros(5, dtype=bool))
    assert (alone.leaking, alone.adjusted) == (None, alone.plain)


def test_a_label_is_named_as_words_of_its_own() -> None:
    texts = ["so it is Neutral.", "neutrality", "fish  tank", "fish-tank x", "", "(c++)"]
    labels = ["neutral", "neutral", "fish tank", "tank", None, "c++"]
    np.testing.assert_array_equal(names_label(texts, labels), [True, False, True, True, False, True])


def test_lengths_must_fit() -> None:
    for wrong in (["a"], []):
        with pytest.raises(BadInput, match="expected one for each"):
            accuracy_gain(wrong, IR_O, wrong)
    with pytest.raises(BadInput, match="expected 5"):
        leakage_adjusted(GOLD, IR_O, I_O, np.ones(2, dtype=bool))
