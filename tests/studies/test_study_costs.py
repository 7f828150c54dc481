"""The time of a study: trainings by their steps, measurements by a line through two sizes, what cannot be timed by name."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.cli import main
from whence.data import Corpus, Example
from whence.errors import BadInput
from whence.models import BlackBox, Classifier
from whence.models.generator import Generator
from whence.run.engine import Piece, Rows
from whence.studies import costs
from whence.studies.costs import _line, time_pieces
from whence.studies.kit.models import trained
from whence.teach import Job, Settings, cached_job
from whence.teach.cost import TrainingCost, training_cost
from whence.teach.job import prepared

TEST = 300
clock = [0.0]
"""Of the toy's measurements."""


def corpus() -> Corpus:
    def rows(split: str, count: int) -> list[Example]:
        return [
            Example(f"{split}{i}", {"text": f"a {('good', 'bad')[i % 2]} film"}, ("pos", "neg")[i % 2]) for i in range(count)
        ]

    sizes = {"train": 100, "dev": 40, "test": TEST}
    return Corpus("toy", "text", ("pos", "neg"), {split: partial(iter, rows(split, n)) for split, n in sizes.items()})


def job(seed: int = 0, epochs: int = 3) -> Job:
    settings = Settings(epochs=epochs, batch_size=8, seed=seed, select="loss")
    return Job(data="toy", model="mlp", options={"hidden_size": 8}, settings=settings)


def train(seed: int) -> Rows:
    return [{"accuracy": trained(job(seed), corpus()).results["test"]["accuracy"]}]


def measure(seed: int, count: int) -> Rows:
    """As if it took 2 seconds, and half a second for each text."""
    classifier = trained(job(seed), corpus()).classifier
    encoded = classifier.encode(corpus().load("test", count))
    clock[0] += 2 + 0.5 * len(encoded)
    return [{"n": len(encoded)}]


def hide(hidden: dict[str, list[int]]) -> Rows:
    return [{"n": len(hidden[e.id])} for e in corpus().load("test")]


def depends(rows: list[int]) -> Rows:
    trained(job(0), corpus()).classifier.encode([corpus().load("test")[i] for i in rows])
    return []


def writes(seed: int) -> Rows:
    """A model that writes, and that nobody has trained, would write for ever, or nothing."""
    trained(job(seed), corpus())
    generator = object.__new__(Generator)
    generator.encode(corpus().load("test"))
    return []


def breaks(given: int) -> Rows:
    raise ZeroDivisionError


@pytest.fixture
def listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "plan"))
    for port in (Classifier, Generator, BlackBox):
        monkeypatch.setattr(port, "encode", port.encode)  # put back afterwards
    monkeypatch.setattr(costs, "now", lambda: (clock[0], 2 * clock[0]))
    costs._listen()
    yield
    costs._forget()


def test_a_training_is_start_reading_steps_and_judging() -> None:
    one = np.array([1.0, 10.0])
    cost = TrainingCost(start=one, reading=0.1 * one, step=2 * one, loss=0.25 * one, judging=0.5 * one, judged=None)
    # 10 steps an epoch, 20 texts of dev judged each time: 1 + 0.1·130 + 3·(20 + 5 + 10) + 30·0.5
    assert cost.seconds(80, 20, 30, epochs=3, batch_size=8).tolist() == [134.0, 1340.0]
    writes = TrainingCost(one, 0 * one, 0 * one, one, one, judged=5)
    # few texts are written, but the loss is of all of dev
    assert writes.seconds(80, 20, 3, epochs=2, batch_size=8)[0] == 1 + 2 * (20 + 5) + 3


def test_what_is_measured_of_a_training() -> None:
    """A clock that goes on by one each time that somebody looks: whatever is timed takes one second."""
    looks = [0.0]

    def look() -> tuple[float, float]:
        looks[0] += 1
        return looks[0], looks[0]

    filled, splits, *_ = prepared(job(), corpus())
    cost, task = training_cost(filled, corpus(), splits, clock=look)
    assert (cost.start[0], cost.step[0]) == (1, 1)
    assert cost.reading[0] == pytest.approx(2 / 96)  # 12 batches of 8: texts, and what objectives make of them
    assert cost.judging[0] == cost.loss[0] == pytest.approx(1 / 40)  # on all of dev
    assert task.model.training is False


def test_pieces_are_planned_without_training_anything(listening: None, tmp_path: Path) -> None:
    clock[0] = 0.0
    pieces = [
        Piece("train-0", train, {"seed": 0}), Piece("train-1", train, {"seed": 1}), Piece("again", train, {"seed": 1}),
        Piece("measure", measure, {"seed": 0, "count": TEST}), Piece("measure-less", measure, {"seed": 1, "count": 100}),
        Piece("hide", hide, {"hidden": {}}), Piece("depends", depends, {"rows": []}), Piece("breaks", breaks, {"given": 1}),
        Piece("writes", writes, {"seed": 2}),
    ]  # fmt: skip
    found = time_pieces(pieces, 0, tmp_path / "real")
    planned = found["by_piece"]
    assert planned["measure"] == pytest.approx({"seconds": 2 + 0.5 * TEST, "cpu_seconds": 2 * (2 + 0.5 * TEST)})
    assert planned["measure-less"]["seconds"] == pytest.approx(2 + 0.5 * 100)
    one = pytest.approx(planned["train-0"]["seconds"])  # sums of what was measured, taken apart again
    assert planned["train-0"]["seconds"] > 0
    assert planned["train-1"]["seconds"] == one, "timed once, counted twice"
    assert planned["again"]["seconds"] == 0, "the same training is done once"
    assert found["trained"]["seconds"] == pytest.approx(3 * planned["train-0"]["seconds"])
    assert planned["hide"] == {"seconds": 0, "cpu_seconds": 0}
    assert found["untimed"] == ["depends", "breaks", "writes"]
    assert planned["writes"]["seconds"] == one, "its training is known"
    assert len(list((tmp_path / "plan" / "models").iterdir())) == 1, "one untrained model stands for both"
    assert not (tmp_path / "real").exists()


def test_what_is_trained_already_costs_nothing(listening: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "real"))
    cached_job(job(0), corpus(), lambda _: None)
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "plan"))
    found = time_pieces([Piece("a", train, {"seed": 0}), Piece("b", train, {"seed": 1})], 0, tmp_path / "real")["by_piece"]
    assert found["a"]["seconds"] == 0
    assert found["b"]["seconds"] > 0


def test_a_line_goes_through_two_points() -> None:
    one = np.ones(2)
    assert _line((16, 10 * one), (64, 34 * one))(400).tolist() == [202.0, 202.0]
    assert _line((16, 10 * one), (64, 9 * one))(400).tolist() == [9.0, 9.0], "noise is no slope"
    assert _line((10, 5 * one), (10, 6 * one))(20).tolist() == [12.0, 12.0]


def test_bad_input_of_a_piece_is_said(listening: None, tmp_path: Path) -> None:
    def no_corpus(given: int) -> Rows:
        raise BadInput("no such corpus")

    with pytest.raises(BadInput, match="no such corpus"):
        time_pieces([Piece("p", no_corpus, {"given": 1})], 0, tmp_path)


def test_pieces_are_listed_with_the_reason_where_the_data_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHENCE_DATA", raising=False)
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
    argv = ["whence", "plan", "study", "attention", "--scale", "small", "--data-root", str(tmp_path / "nowhere"), "--json"]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert said["untimed"] == said["pieces"]
    assert len(said["pieces"]) > 10
    assert "nowhere" in said["why"]
    assert list(tmp_path.iterdir()) == []
