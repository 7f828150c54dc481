"""The command line: bad input is one clear line and exit code 2; the verbs do what they say."""

import gzip
import json
import re
import sys
from pathlib import Path

import pytest

from whence.cli import main


def run(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["whence", *argv])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A small table of two classes, in a folder of three splits."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for split, n in (("train", 40), ("dev", 10), ("test", 10)):
        rows = [f'"a {"good" if i % 2 else "bad"} film, number {i}",{"pos" if i % 2 else "neg"}' for i in range(n)]
        (folder / f"{split}.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    return folder


@pytest.fixture
def model(reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    argv = [
        "train",
        "--data",
        str(reviews),
        "--model",
        "mlp",
        "--out",
        str(tmp_path / "model"),
        "--epochs",
        "3",
        "--learning-rate",
        "0.02",
    ]
    assert run(argv, monkeypatch) == 0
    capsys.readouterr()
    return tmp_path / "model"


def test_bad_input_is_one_line_and_code_2(
    tmp_path: Path, reviews: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: Path
) -> None:
    (tmp_path / "no-column.csv").write_text("review,stars\nfine,5\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "three.csv").write_text("text,label\na,x\nb,y\nc,z\n")
    (tmp_path / "other.csv").write_text("text,label\na,hot\nb,cold\n")
    whole = gzip.compress(b"text,label\n" + b"a fine film,pos\n" * 2000)
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "bad.jsonl").write_text('{"text": "a", "label": "pos"}\n{"text": \n')
    audit = ["audit", "--model", str(model), "--out", str(tmp_path / "out")]
    cases = [
        ([*audit, "--data", str(tmp_path / "no-column.csv"), "--text-column", "body"], "no-column.csv", "body"),
        ([*audit, "--data", str(tmp_path / "empty.csv")], "empty.csv", "empty"),
        ([*audit, "--data", str(tmp_path / "cut.csv.gz")], "cut.csv.gz", "cut short"),
        ([*audit, "--data", str(tmp_path / "bad.jsonl")], "bad.jsonl", "row 2"),
        ([*audit, "--data", str(tmp_path / "three.csv")], "3 labels (x, y, z)", "the model 2 (neg, pos)"),
        ([*audit, "--data", str(tmp_path / "other.csv")], "cold, hot", "--labels"),
        ([*audit, "--data", str(reviews), "--method", "magic"], "magic", "integrated_gradients"),
        ([*audit, "--data", str(reviews), "--measure", "auprc"], "auprc", "highlights"),
        ([*audit, "--data", str(reviews), "--hide", "burn"], "burn", "mask, pad, delete"),
        ([*audit, "--data", str(reviews), "--set", "lime=3"], "lime", "METHOD.NAME=VALUE"),
        ([*audit, "--data", str(reviews), "--split", "validation"], "validation", "dev, test, train"),
        ([*audit, "--data", "esnlii"], "esnlii", "esnli"),
        ([*audit, "--data", str(tmp_path / "missing.csv")], "missing.csv", "no such file"),
        (["explain", "--model", str(model)], "either --text", "neither"),
        (["explain", "--model", str(reviews), "--text", "x"], "config.json", "save_pretrained"),
        (["explain", "--model", str(model), "--text", "a", "--pair", "b"], "reads single texts", "premise"),
        (["train", "--data", str(reviews), "--model", "bilstn", "--out", str(tmp_path / "x")], "bilstn", "bilstm"),
        (
            ["train", "--data", str(reviews), "--model", "mlp", "--objective", "hope", "--out", str(tmp_path / "x")],
            "hope",
            "cross_entropy",
        ),
        (["train", "--data", str(reviews), "--out", str(tmp_path / "x")], "--model", "issing"),
        (["fly"], "fly", "o such command"),
    ]
    for argv, *expected in cases:
        code = run(argv, monkeypatch)
        error = capsys.readouterr().err.strip()
        assert code == 2, (argv, error)
        assert len(error.splitlines()) == 1, error
        assert error.startswith("whence: "), error
        for words in expected:
            assert words in error, (words, error)


def test_a_label_outside_the_list_names_its_row(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.csv").write_text("text,label\na,pos\nb,neg\nc,meh\n")
    assert (
        run(["audit", "--model", str(model), "--data", str(tmp_path / "odd.csv"), "--out", str(tmp_path / "o")], monkeypatch)
        == 2
    )
    assert "meh" in capsys.readouterr().err


def test_explain_audit_score(
    tmp_path: Path, reviews: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(["explain", "--model", str(model), "--text", "a good <b>film</b>", "--method", "leave_one_out"], monkeypatch) == 0
    )
    assert re.search(r"^ +[+-][0-9.e-]+  good$", capsys.readouterr().out, re.MULTILINE)  # no terminal: words with scores
    out = tmp_path / "audit"
    command = [
        "audit",
        "--model",
        str(model),
        "--data",
        str(reviews),
        "--out",
        str(out),
        "--method",
        "leave_one_out",
        "--method",
        "attention",
    ]
    assert run(command, monkeypatch) == 0
    shown = capsys.readouterr().out
    assert "Random" in shown
    assert "report.html" in shown
    assert (out / "report.html").exists()
    results = json.loads((out / "results.json").read_text())
    assert set(results["methods"]) == {"leave_one_out", "attention", "random"}
    assert run([*command, "--json"], monkeypatch) == 0  # finished already: the same results again
    assert json.loads(capsys.readouterr().out)["table"] == results["table"]
    made = tmp_path / "made.jsonl"
    explain = ["explain", "--model", str(model), "--data", str(reviews), "--method", "leave_one_out", "--out", str(made)]
    assert run(explain, monkeypatch) == 0
    assert run([*explain[:-1], str(tmp_path / "eraser.jsonl"), "--eraser"], monkeypatch) == 0
    score = ["score", "--explanations", str(made), "--explanations", str(tmp_path / "eraser.jsonl"), "--model", str(model)]
    assert run([*score, "--data", str(reviews), "--out", str(tmp_path / "scored"), "--json"], monkeypatch) == 0
    scored = json.loads(capsys.readouterr().out)
    assert list(scored["methods"]) == ["made.jsonl", "eraser.jsonl", "random"]
    ours = {line["measure"]: line["value"] for line in scored["table"] if line["method"] == "made.jsonl"}
    audited = {line["measure"]: line["value"] for line in results["table"] if line["method"] == "leave_one_out"}
    assert ours["decision_flip"] == audited["decision_flip"]
    assert ours["comprehensiveness"] == pytest.approx(audited["comprehensiveness"])


def test_plan_counts_what_an_audit_pays(
    tmp_path: Path, reviews: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--model", str(model), "--data", str(reviews), "--json"]
    assert run(["plan", *command], monkeypatch) == 0
    planned = json.loads(capsys.readouterr().out)
    assert run(["audit", *command, "--out", str(tmp_path / "audit")], monkeypatch) == 0
    paid = json.loads(capsys.readouterr().out)["methods"]
    for name, passes in planned["passes_per_example"].items():
        if name == "integrated_gradients":  # stops early where its error is small
            assert passes["range"]["backward"] == [10, 60]
            assert 10 <= passes["backward"] <= 60
            assert 10 <= paid[name]["passes"]["backward"] <= 60
        else:
            assert passes["backward"] == pytest.approx(paid[name]["passes"]["backward"], abs=0.3)
    assert planned["forward"] > 0
    assert planned["seconds"] > 0


def test_data_verbs(reviews: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("WHENCE_DATA", raising=False)
    assert run(["data", "list", "--json"], monkeypatch) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed["scenes"]["here"]
    assert not listed["esnli"]["here"]
    assert run(["data", "check", str(reviews)], monkeypatch) == 0
    assert "train 40" in capsys.readouterr().out
    (reviews / "dev.csv").write_text("text,label\nfine,pos\nbroken\n")
    assert run(["data", "check", str(reviews)], monkeypatch) == 2
    captured = capsys.readouterr()
    assert "dev.csv, row 2" in captured.out
    assert run(["data", "show", "scenes", "--split", "test", "-n", "2"], monkeypatch) == 0
    assert "because:" in capsys.readouterr().out


def test_interrupt_is_code_130_and_says_truly_what_is_saved(
    reviews: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import whence.teach.loop as loop

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    command = ["train", "--data", str(reviews), "--model", "mlp", "--out", str(tmp_path / "run")]
    with monkeypatch.context() as patch:
        patch.setattr(loop, "bucketed", interrupted)  # before the first step
        assert run(command, monkeypatch) == 130
        assert "interrupted; nothing was saved" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(loop, "save_checkpoint", interrupted)
        assert run(command, monkeypatch) == 130
        assert f"what is finished is saved in {tmp_path / 'run'}: run the same command again" in capsys.readouterr().err
    monkeypatch.setattr("whence.api.model.Model.explain", interrupted)
    assert run(["explain", "--model", str(model), "--text", "x"], monkeypatch) == 130
    assert capsys.readouterr().err.strip() == "whence: interrupted; nothing was saved"


def test_help_keeps_square_brackets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Help is marked up text, where [ray] would be a style and vanish."""
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["study", "--help"], monkeypatch) == 0
    assert "pip install 'whence[ray]'" in capsys.readouterr().out
