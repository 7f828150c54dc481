"""ERASER's JSON lines: what is saved is loaded; every way in which a row can be wrong is one line with file and row."""

import json
from pathlib import Path
from typing import Any

import pytest
from tiny import pairs, texts

from whence.data import Example, word_spans
from whence.errors import BadInput
from whence.explain import TokenScores
from whence.explain.eraser_file import load_eraser, save_eraser

MAT = Example("m1", {"text": "A cat sat, on the mat."})
PAIR = Example("p1", {"premise": "A cat sat.", "hypothesis": "It sat!"})


def explanation(example: Example, scores: list[float] | None = None) -> TokenScores:
    spans = {name: tuple(word_spans(text)) for name, text in example.texts.items()}
    n = sum(map(len, spans.values()))
    given = tuple(scores) if scores is not None else tuple((i * 7 % 5 - 2) / 4 for i in range(n))
    return TokenScores(example.id, dict(example.texts), spans, given, "lime", "positive", 0.75)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_row_is_as_eraser_wants_it(tmp_path: Path) -> None:
    """Words A|cat|sat|,|on|the|mat|. are tokens A|cat|sat,|on|the|mat. – six of them, and half are three."""
    file = tmp_path / "out.jsonl"
    save_eraser(file, [explanation(MAT, [0, 1, 0.5, 0.25, -1, 0, 2, -0.5])], share=0.5)
    assert read(file) == [{
        "annotation_id": "m1",
        "rationales": [{
            "docid": "m1",
            "hard_rationale_predictions": [{"start_token": 1, "end_token": 3}, {"start_token": 5, "end_token": 6}],
            "soft_rationale_predictions": [0, 1, 0.75, -1, 0, 1.5],
        }],
        "classification": "positive", "classification_scores": {"positive": 0.75}, "method": "lime", "target": "positive",
    }]  # fmt: skip
    [loaded] = load_eraser(file, [MAT])
    assert loaded.scores == (0, 1, 0.375, 0.375, -1, 0, 0.75, 0.75)
    assert (loaded.method, loaded.target, loaded.probability) == ("lime", "positive", 0.75)


def test_a_pair_has_two_documents(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    save_eraser(file, [explanation(PAIR)], 0.3, {"p1": {"negative": 0.8, "positive": 0.2}})
    [row] = read(file)
    assert [r["docid"] for r in row["rationales"]] == ["p1_premise", "p1_hypothesis"]
    assert [len(r["soft_rationale_predictions"]) for r in row["rationales"]] == [3, 2]
    assert row["classification"] == "negative"  # what the model says
    [loaded] = load_eraser(file, [PAIR])
    assert (loaded.target, loaded.probability) == ("positive", 0.2)  # what was explained


def test_round_trip(tmp_path: Path) -> None:
    """Sums by token survive; a second trip changes nothing at all."""
    odd_texts = {"": "", "s\ud800": "a\ud800b <script> 漢字 👩‍👩‍👧 שלום", "one": "one"}
    odd = [Example(id, {"text": text}) for id, text in odd_texts.items()]
    for examples in (texts() + odd, pairs()):
        first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
        made = [explanation(example) for example in examples]
        save_eraser(first, made, 0.25)
        loaded = load_eraser(first, list(reversed(examples)))
        assert [(e.id, e.texts, e.spans, e.words) for e in loaded] == [(e.id, e.texts, e.spans, e.words) for e in made]
        save_eraser(second, loaded, 0.25)
        again = load_eraser(second, examples)
        assert [e.scores for e in again] == [pytest.approx(e.scores) for e in loaded]
        assert [sum(e.scores) for e in loaded] == [pytest.approx(sum(e.scores)) for e in made]
    single = explanation(Example("w", {"text": "every word is one token"}))
    save_eraser(first, [single], 0.25)
    assert load_eraser(first, [Example("w", single.texts)]) == [single]


def test_files_of_others(tmp_path: Path) -> None:
    """Only hard rationales, only one of two documents, no scores and no method: all of it is allowed by the format."""
    file = tmp_path / "theirs.jsonl"
    rationale = {"docid": "p1_hypothesis", "hard_rationale_predictions": [{"start_token": 1, "end_token": 2}]}
    file.write_text(json.dumps({"annotation_id": "p1", "rationales": [rationale], "classification": "negative"}) + "\n")
    [loaded] = load_eraser(file, [PAIR], method="their model")
    assert loaded.scores == (0, 0, 0, 0, 0, 0.5, 0.5)
    assert (loaded.method, loaded.target) == ("their model", "negative")
    assert loaded.probability != loaded.probability  # not a number: the file does not say
    save_eraser(tmp_path / "ours.jsonl", [loaded], 0.5)
    assert "NaN" not in (tmp_path / "ours.jsonl").read_text()


GOOD: dict[str, Any] = {
    "annotation_id": "m1", "classification": "positive",
    "rationales": [{"docid": "m1", "soft_rationale_predictions": [0.0] * 6}],
}  # fmt: skip


def rationale(**changes: Any) -> dict[str, Any]:
    return {**GOOD, "rationales": [{"docid": "m1", **changes}]}


@pytest.mark.parametrize(("row", "problem"), [
    ("{", "not valid JSON"),
    ("[]", "a JSON list"),
    ({**GOOD, "annotation_id": "m2"}, "annotation_id 'm2' is not among the 1 examples"),
    ({**GOOD, "annotation_id": 3}, "'annotation_id' is 3; expected a string"),
    ({**GOOD, "classification": None}, "'classification' is null; expected a string"),
    ({**GOOD, "rationales": {}}, "'rationales' is {}; expected a list"),
    ({**GOOD, "rationales": ["m1"]}, "expected a list of objects"),
    ({**GOOD, "rationales": GOOD["rationales"] * 2}, "docid 'm1' twice"),
    ({**GOOD, "classification_scores": {"positive": "high"}}, "'classification_scores' is"),
    (rationale(docid="m1_premise"), "docid 'm1_premise'; expected m1"),
    (rationale(docid=None), "'docid' is null"),
    (rationale(), "neither soft_rationale_predictions nor hard_rationale_predictions"),
    (rationale(soft_rationale_predictions=[0.0] * 5), "5 soft_rationale_predictions for 'm1'; expected one for each"),
    (rationale(soft_rationale_predictions=[]), "0 soft_rationale_predictions"),
    (rationale(soft_rationale_predictions=[0.0] * 5 + [float("nan")]), "expected a list of finite numbers"),
    (rationale(soft_rationale_predictions=[0.0] * 5 + [True]), "expected a list of finite numbers"),
    (rationale(soft_rationale_predictions=[0.0] * 5 + [10**400]), "expected a list of finite numbers"),
    (rationale(soft_rationale_predictions="high"), "expected a list of finite numbers"),
    (rationale(hard_rationale_predictions=[{"start_token": 4, "end_token": 7}]), "tokens 4 to 7 of 'm1'; expected a part"),
    (rationale(hard_rationale_predictions=[{"start_token": 2, "end_token": 2}]), "tokens 2 to 2"),
    (rationale(hard_rationale_predictions=[{"start_token": "0"}]), 'tokens "0" to null'),
    (rationale(hard_rationale_predictions=[3]), "expected [{start_token, end_token}]"),
    (GOOD, "annotation_id 'm1' for the second time"),
])  # fmt: skip
def test_the_validator_fires(tmp_path: Path, row: Any, problem: str) -> None:
    """Trap 9 of peers.md: ERASER's own check of docids can never fail. Row 1 is good, row 2 is not."""
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in (GOOD, row)) + "\n")
    with pytest.raises(BadInput) as caught:
        load_eraser(file, [MAT])
    assert str(caught.value).startswith(f"{file}, row 2: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_saving_refuses_what_cannot_be_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    with pytest.raises(BadInput, match="two explanations of example 'm1'"):
        save_eraser(file, [explanation(MAT), explanation(MAT)], 0.2)
    with pytest.raises(BadInput, match="no classification scores for example 'm1'"):
        save_eraser(file, [explanation(MAT)], 0.2, {})
    with pytest.raises(BadInput, match="share of words"):
        save_eraser(file, [explanation(MAT)], 0.0)
    assert not file.exists()
    with pytest.raises(BadInput, match="1 of the examples share an id"):
        load_eraser(file, [MAT, MAT])
