"""From outside the package: a token method, an alignment method and a measure are one definition and one registry line each.

(An objective: tests/teach/test_tasks.py; a study: tests/studies/test_study.py.)
"""

from pathlib import Path

import numpy as np
import pytest
from tiny import pairs, texts, tiny_bert

import whence
from whence.explain import METHODS, Method
from whence.explain.alignments import ALIGNMENT_METHODS, AlignmentMethod, Cells
from whence.explain.tokens import Ask, Scored
from whence.measure import FAITHFULNESS, Judged, Measure, Value
from whence.run import Rounds


def longest_word(ask: Ask) -> Rounds[Scored]:
    yield []
    return Scored(np.array([float(len(word)) for word in ask.encoded.words]))


def top_word_alone(judged: Judged) -> Rounds[Value]:
    """What is left of the score when only the first-ranked word is seen."""
    kept = np.arange(judged.encoded.word_count) == int(np.argmax(judged.scores))
    [only] = yield [Ask(judged.encoded, judged.target, judged.hide).keeping(kept)]
    return (only.score(judged.target),)


def test_a_token_method_and_a_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "longest", Method("longest", "Longest word", "Long words.", "–", "none", longest_word))
    measure = Measure(
        "alone", "Top word alone", "Score of the top word alone.", "–", "higher", 0.0, 1.0, "random", top_word_alone
    )
    monkeypatch.setitem(FAITHFULNESS, "alone", measure)
    model = whence.load(tiny_bert())
    made = model.explain("Nobody expected unbelievable storms", method="longest")
    assert made.words[int(np.argmax(made.scores))] == "unbelievable"
    report = whence.audit(model, texts()[:3], tmp_path, methods=["longest"], measures=["alone"], say=lambda _: None)
    values = {row["method"]: row["value"] for row in report.results["table"] if row["measure"] == "alone"}
    assert set(values) == {"longest", "random"}
    assert all(0 <= value <= 1 for value in values.values())


def test_an_alignment_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def diagonal(asks, runner, tick, **_):  # type: ignore[no-untyped-def]
        return [Cells(np.eye(*ask.shape)) for ask in asks]

    method = AlignmentMethod("diagonal", "Diagonal", "Word i with word i.", "–", "none", diagonal)
    monkeypatch.setitem(ALIGNMENT_METHODS, "diagonal", method)
    pair = pairs()[0]
    made = whence.load(tiny_bert()).align(pair.texts["premise"], pair.texts["hypothesis"], method="diagonal")
    assert np.array(made.scores) == pytest.approx(np.eye(*np.array(made.scores).shape))
