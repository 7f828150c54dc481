"""The frame of studies: settings, pieces, results, resumption, and the verb that runs them. Its study is a toy."""

import json
import math
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict

from whence.cli import main
from whence.errors import BadInput
from whence.run import Piece
from whence.studies.registry import STUDIES
from whence.studies.study import Claim, Context, Figure, Findings, Scale, Study, Table, run_study


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    draws: int
    faces: int = 6
    names: tuple[str, ...] = ("red", "blue")


def throw(name: str, seed: int, draws: int, faces: int) -> list[dict[str, Any]]:
    dice = random.Random(f"{name} {seed}")
    return [{"die": name, "eyes": dice.randint(1, faces), "noise": random.random()} for _ in range(draws)]


def run(context: Context) -> Findings:
    own: Settings = context.settings
    arguments = {"seed": context.seed, "draws": own.draws, "faces": own.faces}
    rows = context.do([Piece(f"die-{name}", throw, {"name": name, **arguments}) for name in own.names])
    means = {name: np.mean([row["eyes"] for row in rows[f"die-{name}"]]) for name in own.names}
    table = [{"die": n, "ours": m, "low": m - 1, "high": m + 1, "paper": 3.5, "n": np.int64(own.draws)} for n, m in means.items()]
    return Findings(
        [Table("means", "Mean eyes", "Of fair dice.", ["die", "ours", "low", "high", "paper", "n"], table)],
        [Figure("bars", "Mean eyes", "", "bars", {"groups": [*means], "series": [{"title": "dice", "values": [*means.values()]}]})],
        [Claim("Dice are fair.", abs(means["red"] - 3.5) < 2, f"The mean of red is {means['red']:.2f}.")],
        ["A toy.", f"{math.nan}"],
    )


def settings(scale: Scale) -> Settings:
    return Settings(draws={"smoke": 5, "small": 50, "full": 500}[scale])


STUDY = Study("toy", "Are dice fair?", "Pacioli 1494", "Throws dice.", settings, run)


def test_results_hold_what_was_found_and_what_was_reduced(tmp_path: Path) -> None:
    results = run_study(STUDY, "smoke", tmp_path / "run", say=lambda line: None)
    assert json.loads((tmp_path / "run" / "results.json").read_text()) == results
    assert results["reduced"] == {"draws": {"here": 5, "full": 500}}
    means = results["tables"]["means"]
    assert means["columns"][1] == "ours"
    eyes = [random.Random("red 0").randint(1, 6) for _ in range(1)]
    assert 1 <= eyes[0] <= 6
    assert [row["die"] for row in means["rows"]] == ["red", "blue"]
    assert means["rows"][0]["n"] == 5
    assert set(results["pieces"]) == {"die-red", "die-blue"}
    assert run_study(STUDY, "full", tmp_path / "full", say=lambda line: None)["reduced"] == {}


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_the_verb_runs_a_study(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    monkeypatch.setitem(STUDIES, "toy", __name__)
    argv = ["study", "toy", "--scale", "smoke", "--out", str(tmp_path / "run"), "--engine", engine]
    monkeypatch.setattr(sys, "argv", ["whence", *argv])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    shown = capsys.readouterr().out
    assert "Dice are fair." in shown
    assert (tmp_path / "run" / "report.html").exists()


def test_bad_settings_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected one of draws, faces, names"):
        run_study(STUDY, "smoke", tmp_path / "a", overrides={"drawz": 1})
    with pytest.raises(BadInput, match="--set draws: Input should be a valid integer.*got 'many'"):
        run_study(STUDY, "smoke", tmp_path / "a", overrides={"draws": "many"})
