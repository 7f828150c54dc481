"""whence align, and its Python twin: matrices in the terminal, pictures, files; bad input is one line."""

import sys
from pathlib import Path

import pytest
import torch
from tiny import own_model

import whence
from whence.cli import main
from whence.errors import BadInput
from whence.explain.alignment import load_alignments

PAIR = ("The old cat sat on a very small mat.", "A dog slept through the storm!")


@pytest.fixture
def model(tmp_path: Path) -> str:
    torch.manual_seed(0)
    classifier = own_model("decomposable")
    classifier.model.save_pretrained(tmp_path / "model")
    classifier.tokenizer.save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


def run(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["whence", "align", *argv])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_terminal_picture_and_file(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ["--model", model, "--text", PAIR[0], "--pair", PAIR[1]]
    assert run(pair, monkeypatch) == 0
    shown = capsys.readouterr().out
    assert "arec" in shown
    assert all(word in shown for word in ("cat", "storm"))
    for name in ("a.svg", "a.png"):
        assert run([*pair, "--out", str(tmp_path / name)], monkeypatch) == 0
        assert (tmp_path / name).stat().st_size > 500
    assert run([*pair, "--method", "co_attention", "--method", "random", "--out", str(tmp_path / "a.jsonl")], monkeypatch) == 0
    saved = load_alignments(tmp_path / "a.jsonl")
    assert [alignment.method for alignment in saved] == ["co_attention", "random"]
    made = whence.load(model).align(*PAIR, method="co_attention")
    assert saved[0].scores == made.scores


def test_sealed(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ["--model", model, "--text", PAIR[0], "--pair", PAIR[1], "--method", "gradient", "--out", str(tmp_path / "a.jsonl")]
    assert run([*argv, "--sealed"], monkeypatch) == 0
    [saved] = load_alignments(tmp_path / "a.jsonl")
    assert saved.sealed
    assert saved.scores == whence.load(model).align(*PAIR, method="gradient", sealed=True).scores


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--text", "a"], "--text and --pair, or --data"),
        (["--text", "a", "--pair", "b", "--method", "magic"], "unknown method for alignments 'magic': expected one of arec"),
        (["--text", "a", "--pair", "b", "--method", "lime", "--method", "random", "--out", "x.svg"], "one picture"),
    ],
)
def test_bad_input(
    model: str, argv: list[str], expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--model", model, *argv], monkeypatch) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert expected in error


def test_in_python(model: str) -> None:
    loaded = whence.load(model)
    one = loaded.align(*PAIR, method="leave_one_out")
    assert one.shape == (len(one.words[0]), len(one.words[1]))
    assert loaded.align([PAIR[0]], [PAIR[1]], method="leave_one_out") == [one]
    with pytest.raises(BadInput, match="unknown method for alignments"):
        loaded.align(*PAIR, method="attention")
