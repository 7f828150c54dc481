"""Explanations of a corpus as a file: the same bytes however often the run is broken off, and one part in memory at a time."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tiny import own_model

from whence.api import load
from whence.data import Example
from whence.data.corpus import BadRow, Corpus
from whence.errors import BadInput
from whence.explain import load_explanations, to_file
from whence.explain.explanation import FORMAT
from whence.explain.to_file import explain_to_file


def corpus(count: int) -> Corpus:
    return Corpus(
        "films", "text", ("a", "b"), {"test": lambda: (Example(str(i), {"text": f"good film {i % 7}"}) for i in range(count))}
    )


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_file, "FEWEST", 3)


def test_a_selection_is_what_load_gives() -> None:
    films = corpus(40)
    for limit in (None, 7, 40, 99):
        chosen = films.select("test", limit, 5)
        assert [e.id for e in chosen] == [e.id for e in films.load("test", limit, 5)] == [e.id for e in chosen]
        assert len(chosen) == len(list(chosen))
    bad = Corpus("films", "text", (), {"test": lambda: iter([Example("0", {"text": "x"}), BadRow("f.csv", 2, "no text")])})
    with pytest.raises(BadInput, match=r"f\.csv, row 2: no text"):
        bad.select("test")
    with pytest.raises(BadInput, match="no rows"):
        Corpus("films", "text", (), {"test": lambda: iter(())}).select("test")


def test_a_run_that_is_broken_off_continues_to_the_same_bytes(tmp_path: Path, parts: None) -> None:
    model, examples, calls = load(own_model("mlp").model, own_model("mlp").tokenizer), corpus(10).select("test"), [0]

    def make(name: str, several: list[Example]) -> list[Any]:
        calls[0] += 1
        if calls[0] == 4:
            raise KeyboardInterrupt
        return model.explain(several, method=name)

    methods, out = ["random", "leave_one_out"], tmp_path / "made.jsonl"
    out.write_text("older\n")
    with pytest.raises(KeyboardInterrupt):
        explain_to_file(out, {"seed": 0}, examples, methods, make)
    assert out.read_text() == "older\n"
    assert explain_to_file(out, {"seed": 0}, examples, methods, make) == 20
    assert calls[0] == 4 + 2 * 4 - 3, "what was made is not made again"
    whole = tmp_path / "whole.jsonl"
    explain_to_file(whole, {"seed": 0}, examples, methods, lambda name, several: model.explain(several, method=name))
    assert out.read_bytes() == whole.read_bytes()
    assert [(x.method, x.id) for x in load_explanations(out)] == [(m, e.id) for m in methods for e in examples]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.jsonl", "whole.jsonl"]


def test_another_command_does_not_continue_it(tmp_path: Path, parts: None) -> None:
    def stop(name: str, several: list[Example]) -> list[Any]:
        if several[0].id != "0":
            raise KeyboardInterrupt
        return [*load(own_model("mlp").model, own_model("mlp").tokenizer).explain(several, method=name)]

    out = tmp_path / "made.jsonl"
    with pytest.raises(KeyboardInterrupt):
        explain_to_file(out, {"seed": 0}, corpus(10).select("test"), ["random"], stop)
    for config, count in (({"seed": 1}, 10), ({"seed": 0}, 9)):
        with pytest.raises(BadInput, match="holds another run"):
            explain_to_file(out, config, corpus(count).select("test"), ["random"], stop)


def test_one_part_is_read_at_a_time(tmp_path: Path, parts: None) -> None:
    read = [0]

    def rows() -> Any:
        for i in range(30):
            read[0] = i
            yield Example(str(i), {"text": "good film"})

    class Made:
        def to_dict(self) -> dict[str, Any]:
            return {}

    films = Corpus("films", "text", (), {"test": rows}).select("test")

    def make(_: str, several: list[Example]) -> list[Made]:
        assert read[0] == int(several[-1].id), "the next part is read when this one is done"
        return [Made() for _ in several]

    assert explain_to_file(tmp_path / "x.jsonl", {}, films, ["m"], make) == 30
    assert len((tmp_path / "x.jsonl").read_text().splitlines()) == 30


def test_a_stored_explanation_has_every_field_of_the_value() -> None:
    made = load(own_model("mlp").model, own_model("mlp").tokenizer).explain("good film", method="leave_one_out")
    assert list(made.to_dict().items()) == [("format", FORMAT), *asdict(made).items()]


def test_a_number_beyond_all_bounds_is_one_line(tmp_path: Path) -> None:
    made = load(own_model("mlp").model, own_model("mlp").tokenizer).explain("good film", method="random")
    line = json.dumps(made.to_dict())
    (tmp_path / "x.jsonl").write_text(line.replace("[[0, 4]", "[[0, 1e999]") + "\n")
    with pytest.raises(BadInput, match=r"x\.jsonl, row 1: not an explanation"):
        load_explanations(tmp_path / "x.jsonl")


def test_what_is_wrong_from_the_start_leaves_nothing(tmp_path: Path) -> None:
    def refuse(name: str, several: list[Example]) -> list[Any]:
        raise BadInput("no such method for this model")

    with pytest.raises(BadInput, match="no such method"):
        explain_to_file(tmp_path / "x.jsonl", {}, corpus(3).select("test"), ["m"], refuse)
    assert list(tmp_path.iterdir()) == []
