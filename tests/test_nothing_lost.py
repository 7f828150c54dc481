"""The command line never takes what is not ours, and a place that cannot be written is one line with exit code 2."""

import json
import sys
from pathlib import Path

import pytest
import torch
from tiny import SENTENCES, tiny_bert

from whence.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    classifier, folder = tiny_bert(), tmp_path_factory.mktemp("model")
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    file = tmp_path / "texts.csv"
    file.write_text("text\n" + "".join(f'"{sentence}"\n' for sentence in SENTENCES))
    return file


def whence(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["whence", *argv])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


@pytest.mark.parametrize("verb", [["explain"], ["explain", "--eraser"], ["align", "--pair", "good"]])
def test_out_never_takes_the_place_of_a_folder(
    verb: list[str], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("precious")
    for out in ("thesis", ".", "/proc/x.jsonl", "thesis/chapter.tex/x.jsonl"):
        monkeypatch.chdir(tmp_path)
        assert whence([*verb, "--model", str(model), "--text", "A good film.", "--out", out], monkeypatch) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert out in line
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_a_run_is_never_put_where_something_else_is(
    model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = texts.read_text()
    for verb in (
        ["audit", "--model", str(model), "--data", str(texts), "--method", "attention"],
        ["train", "--model", "mlp", "--data", "reviews", "--limit", "20", "--epochs", "1"],
        ["study", "attention", "--scale", "smoke"],
    ):
        for out in (".", "texts.csv", "texts.csv/run", "/proc/run"):
            assert whence([*verb, "--out", out], monkeypatch) == 2
            assert out in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["texts.csv"]
    assert texts.read_text() == before


def test_a_wrong_setting_does_not_stand_in_the_way_of_the_right_one(
    model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    audit = ["audit", "--model", str(model), "--data", str(texts), "--method", "lime", "--measure", "loo_tau", "--out", out]
    assert whence([*audit, "--set", "lime.foo=1"], monkeypatch) == 2
    assert whence([*audit, "--set", "lime.n_samples=20"], monkeypatch) == 0
    train = ["train", "--model", "mlp", "--data", "reviews", "--limit", "40", "--epochs", "1", "--out", f"{out}-train"]
    assert whence([*train, "--guide", str(tmp_path / "nobody")], monkeypatch) == 2
    assert whence(train, monkeypatch) == 0


@pytest.mark.parametrize("verb", ["explain", "align", "audit"])
def test_the_same_method_twice_is_refused(
    verb: str, model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--text", "A good film.", "--pair", "good"] if verb == "align" else ["--data", str(texts)]
    argv = [verb, "--model", str(model), *given, "--method", "random", "--method", "random", "--out", str(tmp_path / "out")]
    assert whence(argv, monkeypatch) == 2
    assert "twice" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_score_keeps_files_and_methods_apart(model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two methods in one file, two files of one name, and a file called as our baseline: six rows, none for another."""
    ask = ["--model", str(model), "--data", str(texts)]
    files = [tmp_path / "both.jsonl", tmp_path / "one" / "x.jsonl", tmp_path / "two" / "x.jsonl", tmp_path / "random"]
    methods = [("gradient_l2", "random"), ("gradient_l2",), ("attention",), ("attention",)]
    for file, names in zip(files, methods, strict=True):
        file.parent.mkdir(exist_ok=True)
        chosen = [part for name in names for part in ("--method", name)]
        assert whence(["explain", *ask, *chosen, "--out", str(file)], monkeypatch) == 0
    given = [part for file in files for part in ("--explanations", str(file))]
    assert whence(["score", *ask, *given, "--measure", "loo_tau", "--out", str(tmp_path / "out")], monkeypatch) == 0
    table = json.loads((tmp_path / "out" / "results.json").read_text())["table"]
    found = {row["method"]: row["value"] for row in table if row["measure"] == "loo_tau"}
    assert set(found) == {"both.jsonl: gradient_l2", "both.jsonl: random", *map(str, files[1:3]), "random (file)", "random"}
    assert found["both.jsonl: gradient_l2"] == found[str(files[1])] != found[str(files[2])] == found["random (file)"]
