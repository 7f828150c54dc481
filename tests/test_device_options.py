"""Where train, calibrate and their plans run: --device and --dtype arrive, and a plan takes a training's own arguments."""

from pathlib import Path
from typing import Any

import pytest
import torch

import whence
from whence.api.plans import plan  # before a module that it imports is patched
from whence.data.registry import open_corpus
from whence.errors import BadInput
from whence.models.build import build_model
from whence.teach import loop


def quiet(_: str) -> None:
    pass


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    rows = [f"a film of number {i},{'pos' if i % 2 else 'neg'}" for i in range(12)]
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text("\n".join(["text,label", *rows]))
    return tmp_path


def test_a_training_runs_where_it_is_told(reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    real = torch.nn.Module.to
    monkeypatch.setattr(loop, "default_device", lambda: pytest.fail("the device was named"))
    monkeypatch.setattr(torch.nn.Module, "to", lambda self, *args, **given: asked.append(args) or real(self, *args, **given))
    whence.train(reviews, "mlp", tmp_path / "run", epochs=1, device="cpu", say=quiet)
    assert (torch.device("cpu"),) in asked
    with pytest.raises(BadInput, match="device 'cuda:77' cannot be used here"):
        whence.train(reviews, "mlp", tmp_path / "nowhere", device="cuda:77", say=quiet)
    assert not (tmp_path / "nowhere").exists()


def test_calibrate_in_half_precision(tmp_path: Path) -> None:
    torch.manual_seed(0)
    words, sizes = ["a film that I liked and a dull one"], {"embedding_dim": 8, "hidden_size": 8}
    for part in build_model("mlp", open_corpus("reviews").labels, words, None, sizes):
        part.save_pretrained(tmp_path)
    given: dict[str, Any] = {"methods": ["gradient_l2"], "limit": 4, "say": quiet}
    plain, half = (whence.calibrate("reviews", tmp_path, dtype=dtype, **given)["rows"] for dtype in (None, "bfloat16"))
    assert [row["method"] for row in half] == [row["method"] for row in plain]
    assert [row["rank"]["value"] for row in half if row["method"] == "random"] == [
        row["rank"]["value"] for row in plain if row["method"] == "random"
    ]
    with pytest.raises(BadInput, match="expected a model object as you placed it"):
        whence.calibrate("reviews", whence.load(tmp_path), dtype="bfloat16", **given)


def test_a_plan_of_text2text_counts_the_examples_that_it_trains_on() -> None:
    """Through a template, as `whence train` itself: 8 examples, two batches of 4 in each epoch."""
    cost = plan(
        "train", model="small_t5", data="scenes", task="text2text", template="nli.i-or", limit=8, batch_size=4, epochs=3,
        options={"hidden_size": 16, "layers": 1},
    )  # fmt: skip
    assert (cost["examples"], cost["steps_per_epoch"], cost["steps"]) == (8, 2, 6)
    assert cost["seconds"] > 0


def test_a_plan_knows_that_dev_is_held_out(reviews: Path) -> None:
    (reviews / "dev.csv").unlink()
    assert plan("train", model="mlp", data=reviews)["examples"] == 11  # one of 12 is held out, as in training
