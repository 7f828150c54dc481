"""The frame of studies: settings, pieces, results, resumption, and the verb that runs them. Its study is a toy."""

import importlib
import json
import math
import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict

from whence.cli import main
from whence.errors import BadInput
from whence.run import Piece
from whence.run.engine import LocalEngine
from whence.studies.registry import STUDIES, find_study, names, register
from whence.studies.study import Claim, Context, Earlier, Figure, Findings, Scale, Study, Table, Verdict, list_pieces, run_study


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    draws: int
    faces: int = 6
    names: tuple[str, ...] = ("red", "blue")


def throw(name: str, seed: int, draws: int, faces: int) -> list[dict[str, Any]]:
    dice = random.Random(f"{name} {seed}")
    return [{"eyes": dice.randint(1, faces), "unseeded": random.random()} for _ in range(draws)]


def run(context: Context) -> Findings:
    own: Settings = context.settings
    arguments = {"seed": context.seed, "draws": own.draws, "faces": own.faces}
    rows = context.do([Piece(f"die-{name}", throw, {"name": name, **arguments}) for name in own.names])
    means = {name: np.mean([row["eyes"] for row in rows[f"die-{name}"]]) for name in own.names}
    low = np.float64(math.nan)  # not known
    table = [{"die": n, "ours": m, "low": low, "high": low, "paper": 3.5, "n": np.int64(own.draws)} for n, m in means.items()]
    bars = {"groups": [*means], "series": [{"title": "dice", "values": np.array([*means.values()])}]}
    verdict: Verdict = "holds" if abs(means["red"] - 3.5) < 2 else "undecided"
    (context.artefact("dice") / "red.txt").write_text("red")
    return Findings(
        [Table("means", "Mean eyes", "Of [fair] dice.", [*table[0]], table)],
        [Figure("bars", "Mean eyes", "", "bars", bars)],
        [
            Claim(
                "Dice are fair.", verdict, f"The mean of red is {means['red']:.2f}.", [Earlier("exactly 3.5", "does not hold")]
            )
        ],
        ["A toy."],
    )


def settings(scale: Scale) -> Settings:
    return Settings(draws={"smoke": 5, "small": 50, "full": 500}[scale])


STUDY = Study("toy", "Are dice fair?", "Pacioli 1494", "Throws dice.", settings, run)


def silent(line: str) -> None:
    pass


def without_times(results: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in results.items() if key not in ("seconds", "pieces")}


def test_results_hold_what_was_found_and_what_was_reduced(tmp_path: Path) -> None:
    results = run_study(STUDY, "smoke", tmp_path / "run", seed=7, say=silent)
    assert json.loads((tmp_path / "run" / "results.json").read_text()) == results
    assert results["reduced"] == {"draws": {"here": 5, "full": 500}}
    dice = random.Random("red 7")
    row = results["tables"]["means"]["rows"][0]
    mean = np.mean([dice.randint(1, 6) for _ in range(5)])
    assert row == {"die": "red", "ours": mean, "low": None, "high": None, "paper": 3.5, "n": 5}
    assert results["figures"]["bars"]["data"]["series"][0]["values"][0] == mean
    assert set(results["pieces"]) == {"die-red", "die-blue"}
    assert results["artefacts"] == ["dice/red.txt"]
    [claim] = results["claims"]
    assert claim["earlier"] == [{"rule": "exactly 3.5", "verdict": "does not hold"}]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["settings"] == {"draws": 5, "faces": 6, "names": ["red", "blue"]}
    assert not run_study(STUDY, "full", tmp_path / "full", say=silent)["reduced"]


def test_a_finished_study_is_not_run_again_and_a_killed_one_goes_on(tmp_path: Path) -> None:
    whole = run_study(STUDY, "smoke", tmp_path / "whole", say=silent)
    said: list[str] = []
    assert run_study(STUDY, "smoke", tmp_path / "whole", say=said.append) == whole
    assert said == [f"{tmp_path / 'whole'} is finished; these are its results"]

    class Killed(LocalEngine):
        def run(self, pieces: Any, seed: int, say: Any) -> Any:
            yield next(super().run(pieces, seed, say))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(STUDY, "smoke", tmp_path / "killed", engine=Killed(), say=silent)
    assert [file.name for file in (tmp_path / "killed" / "shards").iterdir()] == ["die-red.parquet"]
    assert without_times(run_study(STUDY, "smoke", tmp_path / "killed", say=silent)) == without_times(whole)
    for name in ("die-red", "die-blue"):
        shards = [(tmp_path / run / "shards" / f"{name}.parquet").read_bytes() for run in ("whole", "killed")]
        assert shards[0] == shards[1]


def test_settings_can_be_overridden_and_bad_ones_are_one_line(tmp_path: Path) -> None:
    results = run_study(STUDY, "smoke", tmp_path / "a", overrides={"draws": 9, "names": ["red"]}, say=silent)
    assert results["reduced"]["names"] == {"here": ["red"], "full": ["red", "blue"]}
    assert results["tables"]["means"]["rows"][0]["n"] == 9
    with pytest.raises(BadInput, match=r"'settings' is .* there and .* now"):
        run_study(STUDY, "smoke", tmp_path / "a", say=silent)
    with pytest.raises(BadInput, match="has no such setting; expected one of draws, faces, names"):
        run_study(STUDY, "smoke", tmp_path / "b", overrides={"drawz": 1})
    with pytest.raises(BadInput, match=r"--set draws: Input should be a valid integer.*got 'many'"):
        run_study(STUDY, "smoke", tmp_path / "b", overrides={"draws": "many"})
    assert not (tmp_path / "b").exists()


def test_two_pieces_of_a_study_cannot_share_a_name(tmp_path: Path) -> None:
    def twice(context: Context) -> Findings:
        for seed in (1, 2):
            context.do([Piece("die", throw, {"name": "red", "seed": seed, "draws": 1, "faces": 6})])
        return Findings([], [], [], [])

    with pytest.raises(ValueError, match="piece 'die' was asked for before"):
        run_study(Study("toy", "", "", "", settings, twice), "smoke", tmp_path / "run", say=silent)


@pytest.mark.parametrize("name", names())
def test_every_registered_study_has_settings_for_all_scales(name: str) -> None:
    study = find_study(name)
    assert study.name == name
    fields = [set(study.settings(scale).model_dump()) for scale in ("smoke", "small", "full")]
    assert fields[0] == fields[1] == fields[2]
    assert study.settings("smoke").model_config.get("extra") == "forbid"


@pytest.mark.parametrize("name", names())
def test_pieces_of_every_study_are_listed_without_running_one(name: str) -> None:
    assert list_pieces(find_study(name), "smoke")


def test_rows_come_by_what_they_are_about(tmp_path: Path) -> None:
    """Keys of any kind, several pieces of one key, and a piece that two keys share is done once."""
    seen = {}

    def keyed(context: Context) -> Findings:
        one, two = (Piece(f"die-{i}", throw, {"name": str(i), "seed": 0, "draws": i, "faces": 6}) for i in (1, 2))
        seen.update(context.gather({("red", 1): [one, two], "again": [two]}))
        return Findings([Table("empty", "", "", [], [])], [], [], [])

    results = run_study(Study("toy", "", "", "", settings, keyed), "smoke", tmp_path / "run", say=silent)
    assert [len(rows) for rows in seen["red", 1]] == [1, 2]
    assert seen["again"] == [seen["red", 1][1]]
    assert set(results["pieces"]) == {"die-1", "die-2"}
    assert results["tables"] == {}  # a table without rows is left out


PARTS = {f"{name}.py" for name in ("__init__", "settings", "models", "pieces", "found", "tables", "figures", "claims")}


@pytest.mark.parametrize("name", ["attention", "saloss", "alignment", "association", "mpii"])
def test_every_study_package_has_the_same_files(name: str) -> None:
    folder = Path(str(importlib.import_module(f"whence.studies.{name}").__file__)).parent
    assert {file.name for file in folder.iterdir() if file.is_file()} == PARTS | {"paper.toml"}


def whence(monkeypatch: pytest.MonkeyPatch, *argv: str) -> int:
    """With a study from outside the package: this file and one line."""
    monkeypatch.setattr("whence.studies.registry.STUDIES", dict(STUDIES))
    register(STUDY)
    monkeypatch.setattr(sys, "argv", ["whence", "study", *argv])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_the_verb_runs_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["toy", "--scale", "smoke", "--out", str(tmp_path / "run"), "--set", "faces=2"]
    assert whence(monkeypatch, *argv) == 0
    shown = capsys.readouterr()
    assert "Of [fair] dice." in shown.out
    assert "Dice are fair." in shown.out
    assert "by an earlier rule (exactly 3.5): does not hold" in shown.out
    assert re.search(r"^(holds|undecided) +Dice are fair", shown.out, re.MULTILINE)
    assert "settings differ from the paper's own" in shown.out
    assert "2 of 2" in shown.err
    assert "Are dice fair?" in (tmp_path / "run" / "report.html").read_text()
    assert whence(monkeypatch, *argv, "--json") == 0
    assert json.loads(capsys.readouterr().out)["study"] == "toy"


def test_a_name_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.studies.registry.STUDIES", dict(STUDIES))
    assert register(STUDY) is find_study("toy")
    with pytest.raises(ValueError, match="there is a study 'toy' already"):
        register(STUDY)


def test_the_verb_lists_studies_and_explains_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whence(monkeypatch) == 0
    assert "Throws dice." in capsys.readouterr().out
    out = str(tmp_path / "run")
    for argv, message in (
        (["toys"], "unknown study 'toys': expected one of"),
        (["toy", "--scale", "huge"], "unknown scale 'huge': expected one of full, small, smoke"),
        (["toy", "--engine", "spark"], "unknown engine 'spark': expected one of local, ray"),
        (["toy", "--address", "here:1"], "--address 'here:1' was given with engine 'local'"),
        (["toy", "--set", "faces"], "--set 'faces': expected NAME=VALUE"),
    ):
        assert whence(monkeypatch, *argv, "--out", out) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert not Path(out).exists()
