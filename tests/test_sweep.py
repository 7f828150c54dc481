"""Sweeps: one training for every combination, each in its own folder, as if it had been trained alone."""

import json
import sys
from pathlib import Path
from typing import Any

import fsspec
import pytest

import whence
from whence.api import sweeps as api
from whence.cli import main
from whence.errors import BadInput

SMALL: dict[str, Any] = {"limit": 24, "epochs": 2, "options": {"hidden_size": 8}}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


def silent(_line: str) -> None:
    pass


def test_every_combination_is_trained_as_it_would_be_alone(tmp_path: Path) -> None:
    over = {"seed": [0, 1], "option.attention": ["dot", "uniform"]}
    found = whence.sweep("reviews", "mlp", tmp_path / "runs", over, say=silent, **SMALL)
    names = [run["run"] for run in found["runs"]]
    assert names == [
        "000-seed=0-option.attention=dot", "001-seed=0-option.attention=uniform",
        "002-seed=1-option.attention=dot", "003-seed=1-option.attention=uniform",
    ]  # fmt: skip
    assert [run["settings"] for run in found["runs"]][2] == {"seed": 1, "option.attention": "dot"}
    alone = whence.train(
        "reviews", "mlp", tmp_path / "alone", seed=1, say=silent, limit=24, epochs=2,
        options={"hidden_size": 8, "attention": "dot"},
    )  # fmt: skip
    assert found["runs"][2]["dev"] == alone["dev"]
    assert found["runs"][2]["test"] == alone["test"]
    for file in ("config.json", "model/model.safetensors", "shards/predictions-test.parquet"):
        assert (tmp_path / "runs" / names[2] / file).read_bytes() == (tmp_path / "alone" / file).read_bytes()
    assert whence.load(tmp_path / "runs" / names[2]).labels == whence.load(tmp_path / "alone").labels


def test_a_killed_sweep_continues_and_ends_the_same_also_at_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = fsspec.filesystem("memory")
    store.store.clear()
    over = {"learning_rate": [0.01, 0.001, 0.0001]}
    trained: list[float] = []
    real = api.cached_job

    def dies(job: Any, *more: Any) -> Path:
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(job.settings.learning_rate)
        return real(job, *more)

    monkeypatch.setattr(api, "cached_job", dies)
    with pytest.raises(KeyboardInterrupt):
        whence.sweep("reviews", "mlp", "memory://b/runs", over, say=silent, **SMALL)
    assert trained == [0.01, 0.001]
    assert "/b/runs/001-learning_rate=0.001.tar" in store.store
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "another machine"))
    monkeypatch.setattr(api, "cached_job", lambda job, *more: trained.append(job.settings.learning_rate) or real(job, *more))
    there = whence.sweep("reviews", "mlp", "memory://b/runs", over, say=silent, **SMALL)
    assert trained == [0.01, 0.001, 0.0001]
    here = whence.sweep("reviews", "mlp", tmp_path / "runs", over, say=silent, **SMALL)
    assert here == there
    assert (tmp_path / "runs" / "results.json").read_bytes() == store.cat("/b/runs/results.json")
    model = "002-learning_rate=0.0001/model/model.safetensors"
    assert (tmp_path / "runs" / model).read_bytes() == store.cat(f"/b/runs/{model}")
    store.store.clear()


def test_objectives_weights_and_their_options_are_swept() -> None:
    usual = {"objectives": ["cross_entropy", "saloss=0.5"], "parameters": {"saloss": {"prior": "tfidf"}}}
    values = {"objective.saloss": 0.1, "saloss.prior": "chi2", "option.hidden_size": 8, "epochs": 3, "guide": 5}
    assert api._applied(usual, values) == {
        "objectives": ["cross_entropy", "saloss=0.1"], "parameters": {"saloss": {"prior": "chi2"}},
        "options": {"hidden_size": 8}, "epochs": 3, "guide": "5",
    }  # fmt: skip
    assert usual["parameters"] == {"saloss": {"prior": "tfidf"}}, "what was given stays"


@pytest.mark.parametrize(
    ("over", "problem"),
    [
        ({}, "nothing to sweep over"),
        ({"colour": [1, 2]}, "unknown setting to sweep over 'colour'"),
        ({"seed": []}, "expected several values"),
        ({"seed": "0,1"}, "expected several values"),
        ({"seed": [1, 1]}, "has 1 twice"),
        ({"seed": [0, -1]}, "seed is -1"),
        ({"epochs": [1, "x"]}, "epochs: "),
        ({"limit": [4, 5]}, "limit is given and swept over"),
        ({"saloss.prior": ["odd"]}, "saloss"),
        ({"objective.nope": [1.0]}, "unknown objective 'nope'"),
        ({"option.nope": [1]}, "nope"),
    ],
)
def test_a_wrong_sweep_is_refused_before_anything_is_trained(over: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=problem):
        whence.sweep("reviews", "mlp", tmp_path / "runs", over, say=silent, limit=24)
    assert not (tmp_path / "runs").exists()


def test_the_command_line_shows_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["train", "--data", "reviews", "--model", "mlp", "--limit", "24", "--out", str(tmp_path / "runs")]

    def ended(*more: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["whence", *usual, *more])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    code, out, err = ended("--sweep", "learning-rate=0.01,0.001", "--sweep", "epochs=1")
    assert code == 0, err
    assert "learning_rate" in out
    assert "test accuracy" in out
    assert "001-learning_rate=0.001-epochs=1" in out
    code, out, _ = ended("--sweep", "learning-rate=0.01,0.001", "--sweep", "epochs=1", "--json")
    assert code == 0
    assert [run["settings"]["learning_rate"] for run in json.loads(out)["runs"]] == [0.01, 0.001]
    for wrong in (["--engine", "ray"], ["--gpus-per-task", "0.5"]):
        code, _, err = ended(*wrong)
        assert (code, err) == (
            2,
            "whence: --engine, --address and --gpus-per-task are for many trainings; expected --sweep with them\n",
        )
