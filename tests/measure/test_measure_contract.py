"""What every registered measure keeps to: a value in its range or None, whatever the text and the explanation."""

import numpy as np
import pytest
from tiny import examples_for

from whence.data import Example
from whence.explain import METHODS, TokenScores, default_hide, explain
from whence.measure import FAITHFULNESS
from whence.measure.edit import MEASURES as EDIT
from whence.measure.erasure import MEASURES as ERASURE
from whence.measure.loo_tau import MEASURES as LOO_TAU
from whence.measure.measure import Judged, Measure
from whence.measure.plausibility import plausibility_measures
from whence.models import Classifier, Label
from whence.run import Runner

ALL: dict[str, Measure] = {measure.name: measure for measure in (*ERASURE, *LOO_TAU, *EDIT, *plausibility_measures(0.3))}
ODD = (
    "", " ", "good", "good good", "👩‍👩‍👧 ❤️ ok", "שלום עולם", "<script>alert('x')</script>", "a\ud800b \udfff", "x" * 100,
    "[MASK] [SEP]", "漢字かな mixed",
)  # fmt: skip


def examples(classifier: Classifier) -> list[Example]:
    """Odd texts and plain ones, each with its first half marked, as by people and as edited."""
    pair = classifier.own and classifier.model.reads_pairs
    odd = [Example(str(i), {"premise": t, "hypothesis": "a dog slept"} if pair else {"text": t}) for i, t in enumerate(ODD)]
    halves = [
        {name: ((0, len(text) // 2 + 1),) for name, text in e.texts.items() if text} for e in odd + examples_for(classifier)[:2]
    ]
    return [
        Example(e.id, e.texts, highlights=(half,), edits=half)
        for e, half in zip(odd + examples_for(classifier)[:2], halves, strict=True)
    ]


def judged(classifier: Classifier, method: str) -> list[Judged]:
    encoded = classifier.encode(examples(classifier))
    made = explain(Runner(classifier), encoded, METHODS[method])
    hide = default_hide(classifier)
    return [Judged(e, x, hide, Label(classifier.labels.index(x.target))) for e, x in zip(encoded, made, strict=True)]


def test_what_counts_as_faithful_is_said_by_the_measures() -> None:
    every = {m.name: m for m in (*FAITHFULNESS.values(), *plausibility_measures(0.2), *EDIT)}
    assert {name for name, m in every.items() if m.family == "faithfulness"} == set(FAITHFULNESS)
    assert all(m.family != "other" for m in every.values())
    assert every["decision_flip"].unit == "share"
    assert every["loo_tau"].favours == "leave_one_out"


@pytest.mark.parametrize("measure", ALL.values(), ids=list(ALL))
@pytest.mark.parametrize("method", ["random", "gradient_l2", "input_x_gradient"])
def test_values_are_in_range_or_undefined(classifier: Classifier, measure: Measure, method: str) -> None:
    cases = judged(classifier, method)
    values = Runner(classifier).drive(measure.rounds(case) for case in cases)
    defined = [value for value in values if value is not None]
    assert len(defined) >= 3
    assert len({len(value) for value in defined}) == 1
    assert np.isfinite(defined).all()
    each = [float(measure.aggregate(np.array([value]))) for value in defined]
    assert all(measure.low - 1e-9 <= value <= measure.high + 1e-9 for value in each)
    everything = np.array(defined)
    assert measure.aggregate(everything).shape == ()
    twice = measure.aggregate(np.stack([everything, everything]))  # as the bootstrap calls it
    assert twice.tolist() == [pytest.approx(float(measure.aggregate(everything)))] * 2
    again = Runner(classifier, token_budget=1).drive(measure.rounds(case) for case in reversed(cases))
    for first, second in zip(values, reversed(again), strict=True):
        assert (first is None) == (second is None)
        assert first is None or first == pytest.approx(second, abs=1e-4)


@pytest.mark.parametrize("measure", ALL.values(), ids=list(ALL))
def test_constant_scores_are_no_error(bert: Classifier, measure: Measure) -> None:
    for case in judged(bert, "random"):
        flat = TokenScores(**{**vars(case.explanation), "scores": (0.0,) * len(case.scores)})
        [value] = Runner(bert).drive([measure.rounds(Judged(case.encoded, flat, case.hide, case.target))])
        assert value is None or np.isfinite(value).all()
        if measure.name == "loo_tau":
            assert value is None


@pytest.mark.parametrize("measure", ALL.values(), ids=list(ALL))
def test_a_measure_says_what_it_is(measure: Measure) -> None:
    assert measure.title
    assert measure.about.endswith(".")
    assert measure.paper
    assert measure.chance
    assert measure.low < measure.high
    better, worse = (measure.high, measure.low) if measure.direction == "higher" else (measure.low, measure.high)
    assert measure.better(better, worse)
    assert not measure.better(worse, better)
