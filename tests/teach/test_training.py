"""Training learns, stops, continues exactly after a kill, and leaves a folder that from_pretrained opens."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import whence.teach.loop as loop
from whence.data import Corpus, Example, Rows
from whence.errors import BadInput
from whence.models import Classifier
from whence.models.build import build_model
from whence.run import Runner
from whence.teach import Job, Settings, default_settings, parse_objectives, run_job


def toy_corpus(n: int = 240) -> Corpus:
    """ "good" makes it positive, "bad" negative; everything else is noise."""

    def rows(split: str, count: int) -> Iterator[Example]:
        draw = np.random.default_rng(["train", "dev", "test"].index(split))
        for i in range(count):
            label = "positive" if i % 2 else "negative"
            noise = draw.choice(["film", "the", "plot", "was", "and", "a", "actor"], size=draw.integers(3, 9)).tolist()
            noise.insert(int(draw.integers(0, len(noise))), "good" if i % 2 else "bad")
            yield Example(f"{split}{i}", {"text": " ".join(noise)}, label)

    def split(name: str, count: int) -> "Rows":
        return rows(name, count)

    sizes = {"train": n, "dev": 20, "test": 20}
    return Corpus(
        "toy", "text", ("negative", "positive"), {name: (lambda name=name, k=k: split(name, k)) for name, k in sizes.items()}
    )


def job(model: str = "bilstm", **settings: object) -> Job:
    options = {"hidden_size": 16} | ({} if model == "encoder" else {"embedding_dim": 16})
    given = default_settings(model) | {"epochs": 6, "batch_size": 8, "learning_rate": 5e-3, "patience": 4} | settings
    return Job(data="toy", model=model, options=options, settings=Settings(**given))


def quiet(_: str) -> None:
    return None


@pytest.mark.parametrize("model", ["bilstm", "mlp", "encoder"])
def test_learns_and_saves(tmp_path: Path, model: str) -> None:
    results = run_job(job(model), toy_corpus(), tmp_path / "run", quiet)
    assert results["test"]["macro_f1"] > 0.9
    assert results["test"]["examples"] == 20
    folder = tmp_path / "run" / "model"
    classifier = Classifier(AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    assert classifier.labels == ("negative", "positive")
    assert Classifier.load(tmp_path / "run").fingerprint == classifier.fingerprint
    predicted = [r.label for r in Runner(classifier).predict(classifier.encode(toy_corpus().load("test")))]
    gold = [classifier.labels.index(e.label or "") for e in toy_corpus().load("test")]
    assert np.mean(np.array(predicted) == gold) == results["test"]["accuracy"]
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["config.json", "model", "results.json", "shards"]
    assert run_job(job(model), toy_corpus(), tmp_path / "run", quiet)["seconds"] == results["seconds"]  # not trained again


class KilledError(Exception):
    pass


@pytest.mark.parametrize("kill_at", [1, 7, 12, 13, 30])
def test_killed_and_continued_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int) -> None:
    """The process dies right after any checkpoint, in or at the end of an epoch; dropout makes random state matter."""
    settings = {"checkpoint_seconds": 0.0, "epochs": 3}
    whole = job(**settings)
    whole.options["dropout"] = 0.3
    uninterrupted = run_job(whole, toy_corpus(), tmp_path / "whole", quiet)
    saves = 0
    real_save = loop.save_checkpoint

    def save_then_die(*args: object) -> None:
        nonlocal saves
        real_save(*args)
        saves += 1
        if saves == kill_at:
            raise KilledError

    monkeypatch.setattr(loop, "save_checkpoint", save_then_die)
    with pytest.raises(KilledError):
        run_job(whole, toy_corpus(), tmp_path / "killed", quiet)
    monkeypatch.setattr(loop, "save_checkpoint", real_save)
    torch.manual_seed(999)  # a new process has another random state
    continued = run_job(whole, toy_corpus(), tmp_path / "killed", quiet)
    assert continued["history"] == uninterrupted["history"]
    assert continued["test"] == uninterrupted["test"]
    assert Classifier.load(tmp_path / "killed").fingerprint == Classifier.load(tmp_path / "whole").fingerprint


def test_half_written_checkpoint_is_not_there(tmp_path: Path) -> None:
    run_job(job(epochs=1), toy_corpus(), tmp_path / "run", quiet)
    shutil.copytree(tmp_path / "run", tmp_path / "other")
    (tmp_path / "other" / "results.json").unlink()
    (tmp_path / "other" / ".checkpoint.123.tmp").mkdir()
    again = run_job(job(epochs=1), toy_corpus(), tmp_path / "other", quiet)
    assert again["test"] == json.loads((tmp_path / "run" / "results.json").read_text())["test"]


def test_early_stopping(tmp_path: Path) -> None:
    results = run_job(job(epochs=50, patience=2), toy_corpus(), tmp_path / "run", quiet)
    assert len(results["history"]) == results["best_epoch"] + 2
    assert results["dev"]["macro_f1"] == max(h["dev"]["macro_f1"] for h in results["history"])


def test_a_limit_is_stated(tmp_path: Path) -> None:
    limited, generous = job(epochs=1), job(epochs=1)
    limited.limit, generous.limit = 40, 4000
    assert run_job(limited, toy_corpus(), tmp_path / "a", quiet)["notes"] == [
        "trained on 40 examples drawn with seed 0 (limit)"
    ]
    assert "4000 is more than the 240" in run_job(generous, toy_corpus(), tmp_path / "b", quiet)["notes"][0]


def test_seed_decides(tmp_path: Path) -> None:
    runs = [run_job(job(epochs=1, seed=s), toy_corpus(), tmp_path / str(i), quiet) for i, s in enumerate((3, 3, 4))]
    assert runs[0]["history"] == runs[1]["history"] != runs[2]["history"]


@pytest.mark.parametrize("kinds", [1, 2])
def test_batches_cover_every_example_once(kinds: int) -> None:
    lengths = [(i % 13, i * 7 % 17)[:kinds] for i in range(50)]
    first = loop.bucketed(lengths, 8, seed=1, epoch=0)
    assert sorted(i for batch in first for i in batch) == list(range(50))
    assert first == loop.bucketed(lengths, 8, seed=1, epoch=0) != loop.bucketed(lengths, 8, seed=1, epoch=1)


def test_batches_hold_sources_and_targets_of_about_one_length() -> None:
    draw = np.random.default_rng(0)
    lengths = [(int(a), int(b)) for a, b in draw.integers(5, 60, (2000, 2))]

    def padded(batches: list[list[int]]) -> int:
        return sum(len(b) * (max(lengths[i][0] for i in b) + max(lengths[i][1] for i in b)) for b in batches)

    real = sum(map(sum, lengths))
    by_chance = [list(range(i, i + 16)) for i in range(0, 2000, 16)]
    assert padded(loop.bucketed(lengths, 16, 0, 0)) < 1.25 * real < padded(by_chance)


def test_frozen_vectors_stay_frozen_when_training_goes_on_from_a_folder(tmp_path: Path) -> None:
    model, tokenizer = build_model("bilstm", ("a", "b"), ["x"], options={"train_embeddings": False})
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again, _ = build_model(str(tmp_path), ("a", "b"), [])
    assert not again.get_input_embeddings().weight.requires_grad
    assert build_model(str(tmp_path), ("a", "b"), [], options={"train_embeddings": True})[0].embeddings.weight.requires_grad


def test_objectives() -> None:
    assert parse_objectives(["cross_entropy", "balanced_cross_entropy=0.5"]) == {
        "cross_entropy": 1.0,
        "balanced_cross_entropy": 0.5,
    }
    with pytest.raises(
        BadInput,
        match="unknown objective 'x': expected one of adversary, backward, balanced_cross_entropy, critic, cross_entropy",
    ):
        parse_objectives(["x"])
    with pytest.raises(BadInput, match="not a number"):
        parse_objectives(["cross_entropy=much"])


def test_mixed_precision_rounds_products_and_keeps_weights_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[torch.dtype, bool]] = []
    total = loop.total

    def watched(*given: Any) -> Any:
        objective = total(*given)

        def term(step: Any) -> Any:
            seen.append((step.logits.dtype, torch.is_grad_enabled()))
            return objective(step)

        term.learners = objective.learners  # type: ignore[attr-defined]
        return term

    monkeypatch.setattr(loop, "total", watched)
    rounded = run_job(job("encoder", precision="bfloat16", select="loss"), toy_corpus(), tmp_path / "rounded", quiet)
    assert {dtype for dtype, learning in seen if learning} == {torch.bfloat16}
    assert {dtype for dtype, learning in seen if not learning} == {torch.float32}  # dev
    exact = run_job(job("encoder", select="loss"), toy_corpus(), tmp_path / "exact", quiet)
    assert rounded["test"]["macro_f1"] > 0.9
    assert rounded["history"][0]["loss"] != exact["history"][0]["loss"]
    assert rounded["history"][0]["loss"] == pytest.approx(exact["history"][0]["loss"], rel=0.02)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "rounded" / "model")
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert any((weight != weight.bfloat16().float()).any() for weight in model.parameters())


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match="unknown architecture 'bilstn': expected one of bilstm, decomposable, encoder, esim, mlp"
    ):
        run_job(job(model="bilstn"), toy_corpus(), tmp_path / "a", quiet)
    with pytest.raises(BadInput, match="reads pairs"):
        run_job(job(model="esim"), toy_corpus(), tmp_path / "b", quiet)
    no_train = Corpus("t", "text", ("a", "b"), {"test": lambda: iter([Example("1", {"text": "x"}, "a")])})
    with pytest.raises(BadInput, match="no training split"):
        run_job(job(), no_train, tmp_path / "c", quiet)
