"""The Python interface: one in, one out; many in, a list out; tables of every kind; what makes no sense is one line."""

import inspect
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pytest
import torch
from tiny import own_model, texts, tiny_bert

import whence
from whence.errors import BadInput
from whence.models import Classifier
from whence.run import Runner

TEXTS = ["The old cat sat.", "A dog slept through the storm!"]


def quiet(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    return whence.load(tiny_bert())


@pytest.fixture(scope="module")
def pairs() -> Any:
    torch.manual_seed(0)
    return whence.load(own_model("decomposable"))


@pytest.mark.parametrize("verb", ["predict", "explain"])
def test_one_in_one_out(model: Any, verb: str) -> None:
    ask = getattr(model, verb)
    many = ask(TEXTS)
    assert isinstance(many, list)
    assert [type(item) for item in many] == [type(ask(TEXTS[0]))] * 2
    for one in (TEXTS[0], {"text": TEXTS[0]}, whence.Example("0", {"text": TEXTS[0]})):
        found = ask(one)
        assert not isinstance(found, list)
        assert getattr(found, "scores", found) == pytest.approx(getattr(many[0], "scores", many[0]), abs=1e-6)
    assert ask([]) == []
    assert len(ask(TEXTS[:1])) == 1


def test_one_pair_in_one_out(pairs: Any) -> None:
    one = pairs.align(*TEXTS, method="leave_one_out")
    assert pairs.align([TEXTS[0]], [TEXTS[1]], method="leave_one_out")[0].scores == one.scores
    both = {"premise": TEXTS[0], "hypothesis": TEXTS[1]}
    assert pairs.align(both, method="leave_one_out").scores == one.scores
    assert whence.align(pairs, *TEXTS, method="leave_one_out") == one
    assert isinstance(pairs.predict(*TEXTS), dict)
    assert isinstance(pairs.predict([TEXTS[0]], [TEXTS[1]]), list)


TABLES: dict[str, Any] = {
    "data frame": lambda rows: pd.DataFrame(rows),
    "dataset": lambda rows: datasets.Dataset.from_list(rows),
    "arrow table": lambda rows: pa.Table.from_pylist(rows),
    "dicts": lambda rows: rows,
    "generator": lambda rows: (row for row in rows),
    "mixed": lambda rows: [rows[0]["Text"], whence.Example("1", {"text": rows[1]["Text"]})],
    "series": lambda rows: pd.Series([row["Text"] for row in rows]),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind_are_texts(model: Any, kind: str) -> None:
    rows = [{"Text": text, "Label": label} for text, label in zip(TEXTS, ("negative", "positive"), strict=True)]
    explained = model.explain(TABLES[kind](rows), method="gradient_l2")
    assert [dict(e.texts) for e in explained] == [{"text": text} for text in TEXTS]
    assert [e.scores for e in explained] == [e.scores for e in model.explain(TEXTS, method="gradient_l2")]


def test_audit_of_a_data_frame(model: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame([{"text": e.texts["text"], "label": e.label} for e in texts()])
    report = whence.audit(model, frame, tmp_path / "a", methods=["gradient_l2"], say=quiet)
    same = whence.audit(model, texts(), tmp_path / "b", methods=["gradient_l2"], say=quiet)
    assert report.results["table"] == same.results["table"]
    assert report.results["audit"]["accuracy"] == same.results["audit"]["accuracy"]


@pytest.mark.parametrize(
    ("given", "pair", "message"),
    [
        (None, None, "the texts are None; expected a text"),
        (3, None, "the texts are 3; expected"),
        (b"bytes", None, "the texts are b'bytes'; expected"),
        ([TEXTS[0], None], None, "item 2 is NoneType None; expected"),
        ([b"bytes"], None, "item 1 is bytes b'bytes'"),
        ({"text": 7}, None, "row 1: 'text' is 7; expected text"),
        ({"body": "x"}, None, "no text column; it has body"),
        ({"text": ["a", "b"]}, None, "expected text"),
        (TEXTS, TEXTS[:1], "a list of 2 and a list of 1 as second; expected one second text for each"),
        (TEXTS, TEXTS[0], "a list of 2 and a single text as second"),
        ([1.5], None, "item 1 is float 1.5"),
        (datasets.DatasetDict({"train": datasets.Dataset.from_list([{"text": "a"}])}), None, "train"),
        (object(), None, "the texts are a object; expected"),
    ],
)
def test_what_is_no_text_is_one_line(model: Any, given: Any, pair: Any, message: str) -> None:
    for ask in (model.predict, model.explain, model.align):
        with pytest.raises(BadInput) as raised:
            ask(given, pair)
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)


def test_load_takes_what_the_docs_say(tmp_path: Path) -> None:
    torch.manual_seed(0)
    classifier = tiny_bert()
    classifier.model.save_pretrained(tmp_path)
    classifier.tokenizer.save_pretrained(tmp_path)
    for source in ((classifier.model, classifier.tokenizer), str(tmp_path), tmp_path, classifier):
        loaded = whence.load(source)
        assert loaded.predict("good") == pytest.approx(whence.load(classifier).predict("good"), abs=1e-6)
    assert whence.load(classifier.model, classifier.tokenizer).labels == classifier.labels
    assert whence.load(tmp_path, device="cpu", dtype="bfloat16").classifier.model.dtype == torch.bfloat16


def test_batch_tokens_bound_every_batch() -> None:
    classifier = tiny_bert()
    usual, small = whence.load(classifier).predict(TEXTS), whence.load(classifier, batch_tokens=8)
    assert Runner(classifier).token_budget == Runner(classifier).mask_budget == 8
    assert small.predict(TEXTS)[1] == pytest.approx(usual[1], abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": ["a", "b"]}, "2 labels were given"),
        ({"labels": ["a", "a ", "b"]}, "name one output twice"),
        ({"labels": ["a", "", "b"]}, "not empty"),
        ({"device": "gpu7"}, "device 'gpu7' cannot be used here"),
        ({"device": "meta"}, "holds no numbers"),
        ({"dtype": "int3"}, "unknown dtype 'int3': expected one of bfloat16, float16, float32"),
        ({"batch_tokens": 0}, "batch_tokens is 0"),
    ],
)
def test_load_refuses_in_one_line(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    classifier = tiny_bert()
    classifier.model.save_pretrained(tmp_path)
    classifier.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(BadInput) as raised:
        whence.load(tmp_path, **arguments)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed is -1; expected a whole number from 0"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"method": "lime", "parameters": {"n_samples": 0}}, "'n_samples' of method 'lime' must be a whole number from 2"),
        ({"method": "lime", "parameters": {"n_samples": "abc"}}, "got 'abc'"),
        ({"method": "lime", "parameters": {"n_samples": True}}, "got True"),
        ({"method": "lime", "parameters": {"width": float("nan")}}, "'width' of method 'lime' must be a number"),
        ({"method": "kernel_shap", "parameters": {"n_samples": 0}}, "'n_samples' of method 'kernel_shap'"),
        ({"method": "kernel_shap", "parameters": {"n_samples": 10**400}}, "'n_samples' of method 'kernel_shap'"),
        ({"parameters": {"n_steps": 0}}, "'n_steps' of method 'integrated_gradients' must be a whole number from 1"),
        ({"method": "leave_one_out", "parameters": {"x": 1}}, "has no parameter 'x'"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"target": "nobody"}, "unknown label 'nobody'"),
    ],
)
def test_settings_are_checked(model: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        model.explain("good", **arguments)
    assert message in str(raised.value)


def test_every_number_among_the_parameters_has_a_range() -> None:
    from whence.explain import METHODS
    from whence.explain.alignments import ALIGNMENT_METHODS

    for method in (*METHODS.values(), *ALIGNMENT_METHODS.values()):
        assert set(method.ranges) == {name for name, value in method.parameters.items() if isinstance(value, int | float)}
        for name, range_ in method.ranges.items():
            assert range_.low <= method.parameters[name] <= range_.high


def test_signatures_are_written_out() -> None:
    for name in whence.__all__:
        thing = getattr(whence, name)
        if inspect.isfunction(thing):
            kinds = {p.kind for p in inspect.signature(thing).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, name
            assert thing.__doc__, name
    for method in (whence.Model.explain, whence.Model.align, whence.Model.predict):
        assert inspect.Parameter.VAR_KEYWORD not in {p.kind for p in inspect.signature(method).parameters.values()}


def test_outputs_without_names_are_said_to_be_in_order(tmp_path: Path) -> None:
    torch.manual_seed(0)
    classifier = tiny_bert()
    classifier.labels = ("LABEL_0", "LABEL_1", "LABEL_2")
    said: list[str] = []
    report = whence.audit(Classifier.load(classifier), texts(), tmp_path, methods=["gradient_l2"], say=said.append)
    [note] = [note for note in report.results["notes"] if "does not name its outputs" in note]
    assert "LABEL_0, LABEL_1, LABEL_2" in note
    assert "taken to be negative, neutral, positive" in note
    assert "--labels" in note
    assert note in said
    assert "does not name its outputs" in (tmp_path / "report.html").read_text()
