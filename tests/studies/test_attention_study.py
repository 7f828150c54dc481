"""The attention study at its smallest: every table and figure is there, and a killed run continues to the same results."""

from pathlib import Path

import pytest

from whence.report.study_report import write_study_report
from whence.studies.attention import STUDY
from whence.studies.attention.paper import TABLE_5
from whence.studies.attention.settings import settings
from whence.studies.kit.corpora import TITLES
from whence.studies.study import run_study

TINY = {
    "corpora": {
        "reviews": {
            "train": 64, "dev": 16, "test": 24, "seeds": 2, "repeats": 1, "lambdas": [0.0, 0.001],
            "cuts": 2, "searched": 24, "correlated": 6, "encoder_train": 32, "encoder_lambdas": [0.01],
        }
    },
    "options": {"embedding_dim": 8, "hidden_size": 8}, "epochs": 1, "adversary_epochs": 2, "cuts_epochs": 1, "search_steps": 10,
    "permutations": 5, "encoder": "encoder", "encoder_epochs": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


def quiet(_: str) -> None:
    return None


def test_every_table_and_figure_and_resume(tmp_path: Path) -> None:
    whole = run_study(STUDY, "smoke", tmp_path / "whole", overrides=TINY, say=quiet)
    always = {"table2", "table3", "table5", "practised", "correlation", "search", "planted", "transformer"}
    assert always <= set(whole["tables"]) <= always | {"table4"}  # which is there if an adversary got far enough
    assert {"figure2-0", "figure3", "figure5", "figure6"} == set(whole["figures"])
    guides = [row["guide"] for row in whole["tables"]["table3"]["rows"]]
    assert guides == ["Uniform", "Trained MLP", "Base LSTM", "Adversary"]
    assert {row["model"] for row in whole["tables"]["planted"]["rows"]} == {
        "base-0", "base-1", "uniform-0", "adversary-0-0", "adversary-0.001-0", "search",
    }  # fmt: skip
    practised = [(row["practised on"], row["figure"]) for row in whole["tables"]["practised"]["rows"]]
    assert practised == [(t, f) for t in ("training texts", "and texts cut from them") for f in ("F1", "TVD", "JSD")]
    write_study_report(whole, tmp_path / "report.html")
    assert "Figure 5" in (tmp_path / "report.html").read_text()
    # what a kill leaves: some shards, no results; the models are in the cache
    (tmp_path / "whole" / "results.json").unlink()
    for name in ("reviews-search", "reviews-mlp-base-0"):
        (tmp_path / "whole" / "shards" / f"{name}.parquet").unlink()
    again = run_study(STUDY, "smoke", tmp_path / "whole", overrides=TINY, say=quiet)
    for part in ("tables", "figures", "claims"):
        assert again[part] == whole[part]


def test_every_scale_has_settings_and_the_full_one_is_the_papers() -> None:
    for scale in ("smoke", "small", "full"):
        assert settings(scale).corpora  # type: ignore[arg-type]
    full = settings("full")
    assert (full.adversary_epochs, full.epochs, full.batch_size) == (80, 8, 32)
    titles = {TITLES[name] for name in full.corpora}
    assert titles == {"SST", "IMDb", "AG News", "20 Newsgroups", "Diabetes", "Anemia"}
    assert TABLE_5["SST"][5.25e-4] == {"f1": 0.823, "tvd": 0.036, "jsd": 0.514}
