"""A damaged checkpoint is one line that says what to do; without it the training starts anew."""

import shutil
from pathlib import Path

import pytest

import whence.teach.job as module
from whence.data.registry import open_corpus
from whence.errors import BadInput
from whence.teach import Job, Settings, run_job

JOB = Job(data="reviews", model="mlp", limit=60, settings=Settings(epochs=1))


def quiet(_line: str) -> None:
    pass


@pytest.mark.parametrize("name", ["checkpoint/model.safetensors", "checkpoint/optimizer.safetensors",
                                  "checkpoint/random.safetensors", "checkpoint/state.json", "best.safetensors"])  # fmt: skip
def test_a_damaged_checkpoint_is_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    corpus = open_corpus("reviews")
    monkeypatch.setattr(module, "replace_folder", killed)  # all epochs are done, the model is not written
    with pytest.raises(KeyboardInterrupt):
        run_job(JOB, corpus, tmp_path, quiet)
    monkeypatch.undo()
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=rf"{name}.*remove {tmp_path}/checkpoint and run the same command again"):
        run_job(JOB, corpus, tmp_path, quiet)
    shutil.rmtree(tmp_path / "checkpoint")
    run_job(JOB, corpus, tmp_path, quiet)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model", "results.json", "shards"]
