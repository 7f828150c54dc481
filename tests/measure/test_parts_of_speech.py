"""Importance by part of speech: with a stub tagger against plain loops, and with NLTK where its data are."""

from collections.abc import Sequence

import numpy as np
import pytest

from whence.data import data_root, word_spans
from whence.errors import BadInput
from whence.explain import TokenScores
from whence.measure.parts_of_speech import by_tag, nltk_tagger, relative_importance, spacy_tagger


def explained(name: str, text: str, scores: Sequence[float]) -> TokenScores:
    return TokenScores(name, {"text": text}, {"text": tuple(word_spans(text))}, tuple(scores), "m", "positive", 0.9)


def by_length(words: Sequence[str]) -> list[str]:
    return ["SHORT" if len(word) < 3 else "LONG" for word in words]


def test_mean_importance_by_tag() -> None:
    """Text 1: shares ½, ½, 0 → 1.5, 1.5, 0. Text 2: 0.2, −0.8 → magnitudes 0.4, 1.6. SHORT: (1.5 + 0 + 0.4)/3."""
    one = [explained("1", "is good a", [3, 3, 0]), explained("2", "it shines", [0.2, -0.8])]
    flat = [explained("1", "is good a", [0, 0, 0]), explained("2", "it shines", [1, 1])]
    found = {(f.model, f.tag): f for f in by_tag({"one": one, "flat": flat}, by_length)}
    assert found["one", "SHORT"].importance.value == pytest.approx((1.5 + 0 + 0.4) / 3)
    assert found["one", "LONG"].importance.value == pytest.approx((1.5 + 1.6) / 2)
    assert found["flat", "SHORT"].importance.value == found["flat", "LONG"].importance.value == pytest.approx(1.0)
    assert found["one", "SHORT"].words == 3
    assert [f.tag for f in by_tag({"one": one}, by_length)] == ["SHORT", "LONG"]


def test_random_texts_against_loops() -> None:
    draw = np.random.default_rng(0)
    several = [explained(str(i), " ".join(["ab", "abcd", "c"] * (i + 1)), draw.standard_normal(3 * i + 3)) for i in range(12)]
    sums: dict[str, list[float]] = {}
    for x in several:
        total = sum(abs(s) for s in x.scores)
        for word, score in zip(x.words, x.scores, strict=True):
            sums.setdefault(by_length([word])[0], []).append(abs(score) * len(x.scores) / total)
    for found in by_tag({"m": several}, by_length):
        assert found.importance.value == pytest.approx(np.mean(sums[found.tag]))
        assert found.importance.low <= found.importance.value <= found.importance.high
        assert found.words == len(sums[found.tag])


def test_relative_importance_is_one_on_average() -> None:
    assert relative_importance(np.array([1.0, -2.0, 3.0])).mean() == pytest.approx(1)
    assert relative_importance(np.zeros(3)).tolist() == [1, 1, 1]
    assert len(relative_importance(np.zeros(0))) == 0


def test_other_texts_are_refused() -> None:
    with pytest.raises(BadInput, match="different texts"):
        by_tag({"a": [explained("1", "good", [1])], "b": [explained("1", "bad", [1])]}, by_length)


def test_missing_spacy_pipeline_is_said() -> None:
    with pytest.raises(BadInput, match="spaCy"):
        spacy_tagger("no_such_pipeline")


@pytest.mark.realdata
def test_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = pytest.importorskip("nltk")
    try:
        folder = data_root(None) / "nltk"
    except BadInput:
        pytest.skip("NLTK's tagger data are looked for below WHENCE_DATA")
    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(BadInput, match="NLTK finds no tagger"):
        nltk_tagger()
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    tag = nltk_tagger()
    assert tag(["The", "old", "cat", "slept", "quietly", "."]) == ["DET", "ADJ", "NOUN", "VERB", "ADV", "."]
    found = {f.tag: f for f in by_tag({"m": [explained("1", "The old cat slept.", [0, 3, 1, 0, 0])]}, tag)}
    assert found["ADJ"].importance.value == pytest.approx(3.75)
    assert found["DET"].importance.value == 0
