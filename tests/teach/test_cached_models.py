"""A cached model is found by everything that its results depend on, and by nothing else."""

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from test_training import job, quiet, toy_corpus
from tiny import tiny_bert
from transformers import AutoConfig, PretrainedConfig

import whence.teach.job as job_file
from whence.data import Corpus, Example
from whence.models import Classifier
from whence.run import RunFolder, read_json
from whence.teach import Job, cached_job


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Job, Corpus], str]:
    """Where the cache would keep a training; nothing is trained."""
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(job_file, "run_job", lambda *_: None)
    return lambda job, corpus: cached_job(job, corpus, quiet).name


def changed(corpus: Corpus, split: str, change: Callable[[Example], Example]) -> Corpus:
    """The corpus with another last example in one split."""
    *most, last = corpus.load(split)
    return replace(corpus, splits={**corpus.splits, split: partial(iter, [*most, change(last)])})


def test_the_same_question_has_the_same_place(place: Callable[[Job, Corpus], str]) -> None:
    assert place(job(), toy_corpus()) == place(job(), toy_corpus()) == place(job(select="macro_f1"), toy_corpus())
    assert place(job(), toy_corpus()) != place(job(seed=1), toy_corpus())
    assert place(job(), toy_corpus()) != place(job(select="accuracy"), toy_corpus())


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize(
    "change",
    [
        {"texts": {"text": "another text"}},
        {"label": "negative"},
        {"highlights": ({"text": ((0, 2),)},)},
        {"explanations": ("because",)},
        {"pairs": (((0, 1), (2, 3)),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_split_and_field_counts(place: Callable[[Job, Corpus], str], split: str, change: dict[str, object]) -> None:
    corpus = toy_corpus()
    assert place(job(), corpus) != place(job(), changed(corpus, split, lambda e: replace(e, **change)))


def test_the_order_of_labels_counts(place: Callable[[Job, Corpus], str]) -> None:
    corpus = toy_corpus()
    assert place(job(), corpus) != place(job(), replace(corpus, labels=corpus.labels[::-1]))


def test_the_version_counts(place: Callable[[Job, Corpus], str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = place(job(), toy_corpus())
    monkeypatch.setattr(job_file, "versions", lambda: {"whence": "99"})
    assert place(job(), toy_corpus()) != before


def test_what_stands_in_named_files_counts(place: Callable[[Job, Corpus], str], tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("film 1 2\n")
    with_vectors = job().model_copy(update={"vectors": str(vectors)})
    before = place(with_vectors, toy_corpus())
    vectors.write_text("film 1 3\n")
    assert place(with_vectors, toy_corpus()) != before


@pytest.mark.parametrize("where", ["model", "guide", "objective"])
@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_a_model_that_was_trained_again_counts(
    place: Callable[[Job, Corpus], str], tmp_path: Path, where: str, file: str
) -> None:
    """As the start of a training, as a guide, and as an option of an objective; its tokenizer too."""
    classifier = tiny_bert()
    for folder in (tmp_path / "run" / "model", tmp_path / "same" / "model"):
        classifier.model.save_pretrained(folder)
        classifier.tokenizer.save_pretrained(folder)
    named = str(tmp_path / "run")
    asked = {
        "model": job().model_copy(update={"model": str(tmp_path / "run" / "model"), "options": {}}),
        "guide": job().model_copy(update={"guide": named}),
        "objective": job(objective={"adversary": 1.0}, options={"adversary": {"base": named}}),
    }[where]
    before = place(asked, toy_corpus())
    assert place(asked, toy_corpus()) == before
    path = tmp_path / "run" / "model" / file
    path.write_bytes(path.read_bytes() + b" ")
    assert place(asked, toy_corpus()) != before


def test_the_commit_of_a_model_of_the_hub_counts(place: Callable[[Job, Corpus], str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked, found = job().model_copy(update={"model": "someone/base", "options": {}}), []
    for commit in ("one", "other", "one"):
        config = PretrainedConfig()
        config._commit_hash = commit
        monkeypatch.setattr(AutoConfig, "from_pretrained", lambda *_, config=config, **__: config)
        found.append(place(asked, toy_corpus()))
    assert found[0] == found[2] != found[1]


def test_a_folder_that_is_called_as_an_architecture_of_ours_does_not_count(
    place: Callable[[Job, Corpus], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = place(job("mlp"), toy_corpus())
    (tmp_path / "mlp").mkdir()
    (tmp_path / "mlp" / "config.json").write_text("{}")
    assert place(job("mlp"), toy_corpus()) == before


def test_the_second_of_two_processes_waits_and_says_for_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is one of the operating system: two threads with two open files are to it as two processes."""
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path))
    training = job("mlp", epochs=1)
    before = cached_job(training, toy_corpus(), quiet)
    config, results, fingerprint = read_json(before / "config.json"), read_json(before / "results.json"), weights(before)
    shutil.rmtree(before)
    first = RunFolder(before, {k: v for k, v in config.items() if k != "versions"}, quiet)
    waiting = threading.Event()
    said: list[str] = []

    def told(*words: str, **_: object) -> None:
        said.extend(words)
        waiting.set()

    monkeypatch.setattr("builtins.print", told)
    with ThreadPoolExecutor() as pool:
        with first:
            second = pool.submit(cached_job, training, toy_corpus(), quiet)
            assert waiting.wait(60)
            assert not second.done()
        assert second.result(60) == before
    assert f"is in use by process {os.getpid()}" in said[0]
    assert read_json(before / "results.json")["history"] == results["history"]
    assert weights(before) == fingerprint


def weights(folder: Path) -> str:
    return Classifier.load(folder).fingerprint
