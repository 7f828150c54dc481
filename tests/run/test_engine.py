"""Pieces of work: done once, stored whole, the same bytes from every engine."""

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from whence.errors import BadInput
from whence.run import Piece, RunFolder
from whence.run.engine import Engine, LocalEngine, make_engine, piece_seconds, run_pieces, shown_time
from whence.run.ray_engine import RayEngine


def numbers(count: int, log: str | None = None) -> list[dict[str, Any]]:
    """Draws from every global generator, and says in a file that it ran."""
    if log is not None:
        with Path(log).open("a") as file:
            file.write(f"{count}\n")
    scores = torch.randn(64, 64).mm(torch.randn(64, 64)).sum(0).tolist()
    return [{"id": f"é{i}", "x": random.random(), "y": np.random.rand(), "scores": scores} for i in range(count)]


def uneven() -> list[dict[str, Any]]:
    return [{"a": 1}, {"b": "x", "a": 0.5}, {"scores": []}]


def fail(kind: str) -> list[dict[str, Any]]:
    raise BadInput("no such corpus") if kind == "input" else ZeroDivisionError("by zero")


def silent(line: str) -> None:
    pass


def done(folder: RunFolder) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((folder.path / "shards").glob("*"))}


def test_pieces_are_done_once_and_read_back(tmp_path: Path) -> None:
    folder, log, said = RunFolder(tmp_path / "run", {}), tmp_path / "log", []
    pieces = [Piece(f"n{i}", numbers, {"count": i, "log": str(log)}) for i in range(3)]
    first = run_pieces(pieces[:2], folder, LocalEngine(), silent)
    assert first["n0"] == []
    both = run_pieces(pieces, folder, LocalEngine(), said.append)
    assert both["n1"] == first["n1"]
    assert [len(both[f"n{i}"]) for i in range(3)] == [0, 1, 2]
    assert log.read_text().split() == ["0", "1", "2"]
    assert said[0] == "2 of 3 pieces are there already"
    assert "3 of 3" in said[-1]
    assert set(piece_seconds(folder)) == {"n0", "n1", "n2"}


def test_no_number_depends_on_what_ran_before(tmp_path: Path) -> None:
    pieces = [Piece(f"n{i}", numbers, {"count": 2}) for i in range(2)]
    orders = []
    for name, order in (("a", pieces), ("b", pieces[::-1])):
        folder = RunFolder(tmp_path / name, {})
        orders.append(run_pieces(order, folder, LocalEngine(), silent))
        random.random()
    assert orders[0] == orders[1]
    assert orders[0]["n0"] != orders[0]["n1"]
    other = run_pieces(pieces, RunFolder(tmp_path / "c", {}), LocalEngine(), silent, seed=1)
    assert other["n0"] != orders[0]["n0"]


def test_rows_with_different_keys_lose_nothing(tmp_path: Path) -> None:
    rows = run_pieces([Piece("u", uneven, {})], RunFolder(tmp_path / "run", {}), LocalEngine(), silent)["u"]
    assert rows == [
        {"a": 1, "b": None, "scores": None}, {"a": 0.5, "b": "x", "scores": None}, {"a": None, "b": None, "scores": []},
    ]  # fmt: skip


def test_a_failure_names_its_piece_and_keeps_what_was_done(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", {})
    good = Piece("good", numbers, {"count": 1})
    with pytest.raises(BadInput, match="bad: no such corpus"):
        run_pieces([good, Piece("bad", fail, {"kind": "input"})], folder, LocalEngine(), silent)
    with pytest.raises(RuntimeError, match="piece 'bad' failed: ZeroDivisionError: by zero"):
        run_pieces([good, Piece("bad", fail, {"kind": "bug"})], folder, LocalEngine(), silent)
    assert list(done(folder)) == ["good.parquet"]


@pytest.mark.parametrize("names", [["../x"], ["a b"], [".hidden"], ["a", "a"], [""]])
def test_names_must_be_safe_and_unique(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(ValueError, match="expected a name"):
        run_pieces([Piece(n, uneven, {}) for n in names], RunFolder(tmp_path / "run", {}), LocalEngine(), silent)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(BadInput, match="unknown engine 'spark': expected one of local, ray"):
        make_engine("spark")


@pytest.mark.parametrize(("seconds", "shown"), [(3.4, "3 s"), (120, "2 min"), (9000, "2.5 h")])
def test_times_are_short(seconds: float, shown: str) -> None:
    assert shown_time(seconds) == shown


def test_ray_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(BadInput, match=r"not installed; expected: pip install 'whence\[ray\]'"):
        run_pieces([Piece("u", uneven, {})], RunFolder(tmp_path / "run", {}), RayEngine(), silent)


def test_an_address_where_nobody_answers_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(BadInput, match=r"--address '127\.0\.0\.1:1': no Ray cluster answers there"):
        run_pieces([Piece("u", uneven, {})], RunFolder(tmp_path / "run", {}), RayEngine("127.0.0.1:1"), silent)


def test_ray_gives_the_same_bytes_and_saves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, because starting Ray takes many seconds."""
    pytest.importorskip("ray")
    here = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(here))  # its workers import this module
    pieces = [Piece(f"n{i}", numbers, {"count": i}) for i in range(3)]
    bad = Piece("bad", fail, {"kind": "input"})
    folders = {}
    engines: dict[str, Engine] = {"local": LocalEngine(), "ray": RayEngine()}
    for name, engine in engines.items():
        folders[name] = RunFolder(tmp_path / name, {})
        order = [bad, *pieces] if name == "ray" else [*pieces, bad]
        with pytest.raises(BadInput) as refused:
            run_pieces(order, folders[name], engine, silent, seed=5)
        if "did not start" in str(refused.value):
            pytest.skip(f"the machine is too busy: {refused.value}")
        assert str(refused.value) == "bad: no such corpus"
    assert done(folders["ray"]) == done(folders["local"])
    assert list(done(folders["ray"])) == ["n0.parquet", "n1.parquet", "n2.parquet"]
