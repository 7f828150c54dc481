"""What chooses the epoch, what objectives read, and an objective that is added from outside."""

from pathlib import Path

import pytest
from test_training import job, quiet, toy_corpus
from toy_objective import SHY

from whence.errors import BadInput
from whence.models import Classifier
from whence.run import Runner, read_json
from whence.teach import run_job
from whence.teach.objectives import OBJECTIVES, Objective


@pytest.mark.parametrize(("select", "best"), [("accuracy", max), ("loss", min), ("train_loss", min)])
def test_the_epoch_is_chosen_by_any_metric(tmp_path: Path, select: str, best: object) -> None:
    training = {"select": select, "epochs": 5, "patience": 5, "learning_rate": 1e-3}
    results = run_job(job("mlp", **training), toy_corpus(), tmp_path / "run", quiet)
    found = [epoch["loss"] if select == "train_loss" else epoch["dev"][select] for epoch in results["history"]]
    assert len(set(found)) > 1
    assert results["best_epoch"] == 1 + found.index(best(found))  # type: ignore[operator]
    assert read_json(tmp_path / "run" / "config.json")["settings"]["select"] == select


def test_an_unknown_metric_is_one_line(tmp_path: Path) -> None:
    expected = "unknown metric to select by 'bleu': expected one of accuracy, loss, macro_f1, train_loss"
    with pytest.raises(BadInput, match=expected):
        run_job(job(select="bleu"), toy_corpus(), tmp_path / "run", quiet)


def test_objectives_bring_their_own_selection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(folder: str, **settings: object) -> str:
        run_job(job("encoder", epochs=1, **settings), toy_corpus(20), tmp_path / folder, quiet)
        return read_json(tmp_path / folder / "config.json")["settings"]["select"]

    assert chosen("a") == "macro_f1"
    guided = {"cross_entropy": 1.0, "saloss": 0.1}
    assert chosen("b", objective=guided) == "loss"
    assert chosen("c", objective=guided, select="accuracy") == "accuracy"
    monkeypatch.setitem(OBJECTIVES, "shy", SHY)
    with pytest.raises(BadInput, match=r"saloss by loss, shy by train_loss.*--select"):
        chosen("d", objective={"saloss": 1.0, "shy": 1.0})


def test_an_objective_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OBJECTIVES, "shy", SHY)  # the one line
    results = run_job(job("mlp", objective={"shy": 1.0}, learning_rate=0.05), toy_corpus(), tmp_path / "shy", quiet)
    run_job(job("mlp"), toy_corpus(), tmp_path / "plain", quiet)
    assert results["history"][-1]["loss"] < results["history"][0]["loss"]
    assert read_json(tmp_path / "shy" / "config.json")["settings"]["select"] == "train_loss"

    def largest(name: str) -> float:
        classifier = Classifier.load(tmp_path / name)
        return max(float(abs(r.logits).max()) for r in Runner(classifier).predict(classifier.encode(toy_corpus().load("test"))))

    assert largest("shy") < 0.1 < largest("plain")
    with pytest.raises(BadInput, match="unknown option of objective shy 'bond'"):
        run_job(job("mlp", objective={"shy": 1.0}, options={"shy": {"bond": 1}}), toy_corpus(), tmp_path / "x", quiet)


def test_an_objective_that_reads_what_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = frozenset({"token_logits"})
    monkeypatch.setitem(OBJECTIVES, "words", Objective("words", "", "", lambda _: lambda step: step, reads=reads))
    with pytest.raises(BadInput, match="objective 'words' reads token_logits, which this training does not give; expected one"):
        run_job(job("mlp", objective={"words": 1.0}), toy_corpus(), tmp_path / "run", quiet)
