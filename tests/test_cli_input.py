# ruff: noqa: E501  (a command and what it must say, on one line)
"""What people type: wrong settings are one line before any work; names are shown, never obeyed; tables are read as they come."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tiny import own_model

import whence
from whence.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def go(*argv: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["whence", *map(str, argv)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return go


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with three labels each, and a folder of texts."""
    folder = tmp_path_factory.mktemp("here")
    torch.manual_seed(0)
    for name in ("mlp", "decomposable"):
        classifier = own_model(name)
        classifier.model.save_pretrained(folder / name)
        classifier.tokenizer.save_pretrained(folder / name)
    rows = "".join(
        f"a {word} film,{label}\n" for word, label in zip("abcdef", ("negative", "neutral", "positive") * 2, strict=True)
    )
    (folder / "texts.csv").write_text("text,label\n" + rows)
    (folder / "splits").mkdir()
    for split in ("train", "dev", "test"):
        (folder / "splits" / f"{split}.csv").write_text("text,label\n" + rows)
    return folder


def only_line(err: str) -> str:
    [line] = err.strip().splitlines()
    assert line.startswith("whence: ")
    return line


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("explain --model {}/mlp --text x --seed -1", "'--seed': Input should be greater than or equal to 0"),
        ("explain --model {}/mlp --text x --set lime.n_samples=0 --method lime", "must be a whole number from 2 to 1,000,000; got 0"),
        ("explain --model {}/mlp --text x --set lime.n_samples=abc --method lime", "got 'abc'"),
        ("explain --model {}/mlp --text x --set integrated_gradients.n_steps=0", "must be a whole number from 1 to 10,000; got 0"),
        ("explain --model {}/mlp --text x --set kernel_shap.n_samples=0 --method kernel_shap", "'n_samples' of method 'kernel_shap'"),
        ("explain --model {}/mlp --text x --method attention --set lime.foo=1", "method 'lime' has no parameter 'foo'"),
        ("explain --model {}/mlp --text x --method attention --set lime.ridge=1", "'lime' is not among the methods that run"),
        ("explain --model {}/mlp --text x --set nope.foo=1", "unknown method 'nope'"),
        ("explain --model {}/mlp --text x --labels a,,c", "expected names that are not empty"),
        ("explain --model {}/mlp --text x --labels a,a,c", "name one output twice"),
        ("explain --model {}/mlp --text x --eraser", "expected --out FILE too"),
        ("audit --model {}/mlp --data {}/texts.csv --out {}/o --set lime.foo=1", "method 'lime' has no parameter 'foo'"),
        ("audit --model {}/mlp --data {}/texts.csv --out {}/o --method random --method random", "name 'random' twice"),
        ("align --model {}/decomposable --text a --pair b --out x.docx", "unknown ending '.docx'; expected .jsonl, or .svg, .png, .pdf"),
        ("align --model {}/decomposable --text a --pair b --set arec.steps=0", "'steps' of method 'arec' must be a whole number"),
        ("train --data {}/splits --model mlp --out {}/o --learning-rate -1", "learning-rate: input should be greater than 0; got -1.0"),
        ("train --data {}/splits --model mlp --out {}/o --option hidden_size=0", "option 'hidden_size' must be a whole number from 1"),
        ("train --data {}/splits --model mlp --out {}/o --option hiden_size=8", "unknown option of mlp 'hiden_size'"),
        ("train --data {}/splits --model mlp --out {}/o --option attention=odd", "option 'attention' must be one of"),
        ("train --data {}/splits --model mlp --out {}/o --option dropout=1.5", "option 'dropout' must be a number from 0 to below 1"),
        ("train --data {}/splits --model mlp --out {}/o --vectors nowhere.txt", "no such file of vectors"),
        ("train --data {}/texts.csv --model mlp --out {}/o", "expected a folder with train.csv"),
        ("study attention --scale tiny", "unknown scale 'tiny'"),
        ("study attention --scale smoke --seed -3", "greater than or equal to 0"),
        ("plan train --data {}/texts.csv --model mlp", "expected a folder with train.csv"),
        ("plan audit --data {}/texts.csv", "needs a model and data; got no model"),
        ("plan nonsense", "unknown verb to plan 'nonsense'"),
        ("plan study", "no study was named"),
    ],
)  # fmt: skip
def test_wrong_settings_are_one_line(run: Run, here: Path, argv: str, expected: str) -> None:
    code, _, err = run(*argv.replace("{}", str(here)).split())
    assert code == 2
    assert expected in only_line(err)
    assert not (here / "o" / "config.json").exists()


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("calibrate --data sst", "sst holds no planted reasons"),
        ("calibrate --data choices", "choices holds no planted reasons"),
        ("calibrate --data reviews --method nope", "unknown method 'nope'"),
        ("calibrate --data reviews --hide burn", "unknown way to hide a word 'burn'"),
        ("calibrate --data reviews --arch esim", "esim does not read reviews, a corpus of single texts"),
        ("calibrate --data reviews --arch mpl", "unknown architecture 'mpl'"),
        ("calibrate --data reviews --model {}/mlp", "3 labels (negative, neutral, positive) and reviews has 2"),
        ("calibrate --data reviews --model {}/mlp --arch mlp", "both a model and an architecture"),
        ("calibrate --data reviews --seed -1", "greater than or equal to 0"),
        ("calibrate --data reviews --device cuda:77", "device 'cuda:77' cannot be used here"),
        ("calibrate --data reviews --dtype int4", "unknown dtype 'int4'"),
        ("train --data reviews --model mlp --out {}/t --device cuda:77", "device 'cuda:77' cannot be used here"),
        ("plan train --data reviews --model mlp --dtype bfloat16", "training is in float32"),
        ("plan train --data scenes --model small_t5 --task text2text", "text2text needs a template"),
    ],
)
def test_calibrate_refuses_before_it_trains(
    run: Run, here: Path, argv: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.teach.loop.train", lambda *_: pytest.fail("training began"))
    monkeypatch.setattr("whence.teach.job.train", lambda *_: pytest.fail("training began"))
    code, _, err = run(*argv.replace("{}", str(here)).split())
    assert code == 2
    assert expected in only_line(err)


HOSTILE = "\x1b[31m[red]x\x9b2J\u202e"


def test_names_are_shown_and_never_obeyed(run: Run, here: Path, tmp_path: Path) -> None:
    """Escape sequences and markup in file names, headers, labels and texts."""
    path = tmp_path / f"{HOSTILE}.csv"
    path.write_text(f"te{HOSTILE}xt,label\na,b\n")
    for argv in (
        ("data", "check", path),
        ("explain", "--model", here / "mlp", "--data", path),
        ("audit", "--model", here / "mlp", "--data", path, "--out", tmp_path / "o"),
        ("explain", "--model", here / "mlp", "--text", "x", "--target", HOSTILE),
        ("explain", "--model", HOSTILE, "--text", "x"),
        ("data", HOSTILE),
        ("explain", f"--{HOSTILE}"),
    ):
        code, out, err = run(*argv)
        assert code == 2, argv
        assert not re.search("[\x1b\x9b\u202e]", out + err), argv
    path = tmp_path / "[red]x.jsonl"
    path.write_text(json.dumps({"text": f"a {HOSTILE}", "label": "[bold]y", "id": HOSTILE}) + "\n")
    code, out, err = run("data", "show", path)
    assert (code, err) == (0, "")
    assert "[bold]y" in out
    assert not re.search("[\x1b\x9b\u202e]", out)
    code, out, err = run("data", "check", tmp_path / "[red]y.jsonl")
    assert "[red]y.jsonl" in err
    code, out, err = run("explain", "--model", here / "mlp", "--data", path, "--out", tmp_path / "[blue]z.jsonl")
    assert code == 0
    assert "[blue]z.jsonl" in err


def test_a_lone_surrogate_in_json(run: Run, here: Path) -> None:
    code, out, _ = run("explain", "--model", here / "mlp", "--text", "half \ud800 pair", "--method", "random", "--json")
    assert code == 0
    out.encode("utf-8")
    [made] = json.loads(out)
    assert made["texts"]["text"] == "half \ud800 pair"


def test_version_short_help_and_completion(run: Run) -> None:
    assert run("--version")[:2] == (0, f"whence {whence.__version__}\n")
    code, out, _ = run("-h")
    assert code == 0
    assert "--install-completion" in out
    code, out, _ = run("explain", "-h")
    assert code == 0
    assert "--text" in out
    code, out, err = run()
    assert code == 0
    assert "Usage" in out + err


def test_tables_as_they_come(run: Run, here: Path, tmp_path: Path) -> None:
    (tmp_path / "Mine.CSV").write_text(
        "Text;Label\r\nfine, really;Positive\r\nbad; negative\r\nso so;NEUTRAL\r\nfine;positive\r\n"
    )
    out = tmp_path / "audit"
    code, shown, err = run(
        "audit", "--model", here / "mlp", "--data", tmp_path / "Mine.CSV", "--out", out, "--method", "random"
    )
    assert code == 0, err
    assert "read as one: 'Positive', 'positive'" in shown + err
    results = json.loads((out / "results.json").read_text())
    assert any("read as one" in note for note in results["notes"])
    assert "read as one" in (out / "report.html").read_text()


def test_a_picture_as_pdf(run: Run, here: Path, tmp_path: Path) -> None:
    code, _, err = run("align", "--model", here / "decomposable", "--text", "a cat", "--pair", "a dog", "--method", "co_attention",
                       "--out", tmp_path / "x.pdf")  # fmt: skip
    assert code == 0, err
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")


def test_explain_in_a_pipe_shows_numbers(run: Run, here: Path) -> None:
    code, out, _ = run("explain", "--model", here / "mlp", "--text", "a cat sat", "--method", "integrated_gradients")
    assert code == 0
    assert len(re.findall(r"^ +[+-][0-9.e-]+  (a|cat|sat)$", out, re.MULTILINE)) == 3
    assert re.search(r"completeness error: [0-9.e-]+", out)


@pytest.mark.parametrize(
    ("argv", "keys"),
    [
        ("audit --model {}/mlp --data {}/texts.csv", {"passes_per_example", "seconds", "forward", "tokens"}),
        ("explain --model {}/mlp --data {}/texts.csv --method lime", {"passes_per_example", "seconds", "forward"}),
        ("train --model mlp --data {}/splits --epochs 2", {"steps", "seconds_per_step", "seconds", "epochs"}),
        ("calibrate --data reviews", {"steps", "seconds"}),
        ("study attention --scale smoke", {"pieces", "scale"}),
        ("align --model {}/decomposable --data {}/pairs.csv --method leave_one_out", {"passes_per_example", "seconds"}),
    ],
)
def test_plan_of_every_verb_writes_nothing(
    run: Run, here: Path, argv: str, keys: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (here / "pairs.csv").write_text("premise,hypothesis,label\nA cat sat.,A dog ran,neutral\n")
    before = sorted(here.rglob("*"))
    code, out, err = run("plan", *argv.replace("{}", str(here)).split(), "--json")
    assert code == 0, err
    planned = json.loads(out)
    assert keys <= planned.keys()
    if "align" in argv:
        assert (
            planned["passes_per_example"]["leave_one_out"]["forward"] == 4 * 3 + 2
        )  # "A cat sat ." × "A dog ran"; as it is, and with nothing aligned
    if "train" in argv:
        assert planned["steps"] == 2  # 6 examples in batches of 32, twice
    assert sorted(here.rglob("*")) == before
    assert not list(tmp_path.iterdir())
    code, out, err = run("plan", *argv.replace("{}", str(here)).split())
    assert code == 0, err
    assert re.search(r"minutes here|pieces are known", out)
