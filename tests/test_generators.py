"""Models that write, and functions, through the verbs: explain and audit as for a classifier."""

import json
from pathlib import Path

import numpy as np
import pytest
from zoo import CAUSAL, SEQ2SEQ

import whence
from whence.cli import main
from whence.errors import BadInput

CANDIDATES = "entailment,neutral,contradiction"
FEW = ["--set", "lime.n_samples=8", "--set", "kernel_shap.n_samples=8", "--set", "integrated_gradients.n_steps=2"]


@pytest.fixture(params=["t5", "llama"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    model, tokenizer = (SEQ2SEQ if request.param == "t5" else CAUSAL)[request.param]()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["whence", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


def test_explain(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(monkeypatch, "explain", "--model", str(folder), "--candidates", CANDIDATES, "--text", "A dog sleeps.", "--pair",
               "A cat runs.", "--method", "leave_one_out", "--json")  # fmt: skip
    assert code == 0
    [made] = json.loads(capsys.readouterr().out)
    assert made["target"] in CANDIDATES.split(",")
    assert set(made["texts"]) == {"premise", "hypothesis"}
    assert len(made["scores"]) == 8
    assert 0 < made["probability"] <= 1


def test_audit(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("A dog sleeps.", "A cat runs.", "neutral"), ("A man eats.", "A person eats.", "entailment"),
            ("Two boys sit.", "Nobody sits.", "contradiction")]  # fmt: skip
    lines = [json.dumps({"premise": p, "hypothesis": h, "label": label}) for p, h, label in rows]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    arguments = ["audit", "--model", str(folder), "--candidates", CANDIDATES, "--data", str(tmp_path / "pairs.jsonl"), "--out",
                 str(tmp_path / "out"), *FEW]  # fmt: skip
    assert run(monkeypatch, *arguments) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {"leave_one_out", "lime", "kernel_shap", "input_x_gradient", "integrated_gradients", "random"} <= set(
        results["methods"]
    )
    assert results["audit"]["labels"] == CANDIDATES.split(",")
    assert all(np.isfinite(row["value"]) for row in results["table"] if row["measure"] in ("comprehensiveness", "sufficiency"))
    assert (tmp_path / "out" / "report.html").exists()
    capsys.readouterr()
    # another template is another run: the same folder is refused
    assert run(monkeypatch, *arguments, "--template", "nli.i-o") == 2


def test_a_generator_without_candidates_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "explain", "--model", str(folder), "--text", "A dog.") == 2
    assert "--candidates" in capsys.readouterr().err


def test_a_hub_model_where_no_hub_is_reachable_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "nothing"))
    code = run(monkeypatch, "audit", "--model", "t5-base", "--template", "nli.i-or", "--data", "planted:scenes", "--out",
               str(tmp_path / "out"))  # fmt: skip
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert "cannot load model 't5-base'" in said.err
    assert "expected a folder or a hub id" in said.err
    assert not (tmp_path / "out").exists()


def test_a_function_is_audited(tmp_path: Path) -> None:
    def predict(texts: list[str]) -> list[list[float]]:
        shares = [min(1.0, 0.1 + 0.8 * ("good" in text)) for text in texts]
        return [[1 - share, share] for share in shares]

    model = whence.load(predict=predict, labels=["bad", "good"])
    assert model.predict("A good film.") == pytest.approx({"bad": 0.1, "good": 0.9})
    made = model.explain("A good film.", method="leave_one_out")
    assert made.words[int(np.argmax(made.scores))] == "good"
    report = whence.audit(model, ["A good film.", "good good", "A dull one."], tmp_path, say=lambda _: None,
                          parameters={"lime": {"n_samples": 8}, "kernel_shap": {"n_samples": 8}})  # fmt: skip
    assert set(report.results["methods"]) == {"leave_one_out", "lime", "kernel_shap", "random"}
    with pytest.raises(BadInput, match="needs the model's gradient"):
        model.explain("A good film.", method="gradient_l1")
