"""`whence audit` of a model that writes labels and rationales: numbers equal to the parts', resumed, shown, refused."""

import json
from pathlib import Path

import pytest
from test_association_controls import TEMPLATE, corpus, trained

import whence
from whence.cli import main
from whence.data import Example
from whence.errors import BadInput
from whence.explain.text import load_rationales, write_rationales
from whence.explain.text.importance import shaken_importances, text_shares
from whence.measure.robustness import robustness, written_under_noise
from whence.measure.shared_importance import depending, shared_importance
from whence.report.association_report import association_verdict
from whence.run import Runner

FEW = {"rationale": {"levels": 4, "draws": 2, "max_tokens": 8}}
EXAMPLES = corpus(20, 1)


def quiet(_: str) -> None: ...


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audits")


@pytest.fixture(scope="module")
def report(out: Path) -> whence.AuditReport:
    return whence.audit(model(), EXAMPLES, out / "whole", parameters=FEW, say=quiet)


def model(why: str = "animal") -> whence.Model:
    return whence.Model(trained(why, 0), why)


def test_results_are_what_the_parts_give(report: whence.AuditReport) -> None:
    found, runner = report.results["association"], Runner(trained("animal", 0))
    grid = tuple(level["noise"] for level in found["levels"])
    assert grid == (0, 1, 4, 8, 32)
    failing = robustness(written_under_noise(runner, EXAMPLES, grid, 2, 0, 8))
    assert found["robustness"]["coupling"] == pytest.approx(failing.coupling)
    assert found["robustness"]["steps"]["value"] == pytest.approx(failing.steps.value)
    assert [level["stable"]["value"] for level in found["levels"]] == pytest.approx(failing.stable.mean((1, 2)))
    assert [level["similar"]["value"] for level in found["levels"]] == pytest.approx(failing.similar.mean((1, 2)))
    clean = write_rationales(runner, EXAMPLES, max_tokens=8)
    shares = text_shares(runner, EXAMPLES, clean)
    shared = shared_importance(shaken_importances(runner, EXAMPLES, clean, shares), depending(clean, shares))
    assert shared.value is not None
    assert found["agreement"]["shared"]["value"] == pytest.approx(shared.value.value, abs=1e-3)
    assert found["agreement"]["depends"] == shared.depends
    assert found["rationales"]["names_label"] == 0
    assert found["rationales"]["like_people"] == 1  # it learnt what people wrote
    assert found["rationales"]["bleu"] == pytest.approx(100)
    assert report.results["audit"]["accuracy"] == 1
    assert [r.text for r in load_rationales(report.path.parent / "rationales.jsonl")] == [r.text for r in clean]


def test_a_killed_audit_continues_and_ends_the_same(
    report: whence.AuditReport, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import whence.measure.association_run as run

    whole, shards = run.rationale_shard, []

    def dying(shared: tuple, part: range, tick: object) -> object:  # type: ignore[type-arg]
        if part.start >= 16:
            raise KeyboardInterrupt
        shards.append(part.start)
        return whole(shared, part, tick)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "rationale_shard", dying)
    with pytest.raises(KeyboardInterrupt):
        whence.audit(model(), EXAMPLES, out / "killed", parameters=FEW, say=quiet)
    assert shards == [0, 8]
    monkeypatch.setattr(
        run, "rationale_shard", lambda shared, part, tick: (shards.append(part.start), whole(shared, part, tick))[1]
    )
    again = whence.audit(model(), EXAMPLES, out / "killed", parameters=FEW, say=quiet)
    assert shards == [0, 8, 16]
    assert (out / "killed" / "results.json").read_bytes() == (out / "whole" / "results.json").read_bytes()
    assert again.path.read_bytes() == report.path.read_bytes()
    with pytest.raises(BadInput, match="draws"):
        whence.audit(model(), EXAMPLES, out / "killed", parameters={"rationale": {**FEW["rationale"], "draws": 3}}, say=quiet)


def test_the_verdict_and_the_page(report: whence.AuditReport, out: Path) -> None:
    said = " ".join(report.verdict)
    assert "Labels and rationales of this model" in said
    assert "20 examples are few" in said
    page = report.path.read_text()
    assert "Do the labels and rationales of" in page
    assert report.results["association"]["examples"][0]["levels"][-1]["text"] in page
    assert "<script" not in page
    constant = whence.audit(model("constant"), EXAMPLES, out / "constant", parameters=FEW, say=quiet)
    found = constant.results["association"]
    assert (found["robustness"]["verdict"], found["agreement"]["verdict"]) == ("apart", "not associated")
    assert constant.verdict[0].startswith("Do not trust these rationales")
    assert "0\u202f% of the rationales depend on the text" in constant.verdict[2]


@pytest.mark.parametrize(
    ("fail", "bond", "expected"),
    [
        ("together", "associated", "belong together: they fail together"),
        ("apart", "not associated", "Do not trust these rationales"),
        ("apart", "undecided", "are not shown to belong together: they fail apart"),
        ("apart", "associated", "though the importance of words moves alike"),
        ("together", "not associated", "though they fail together"),
        ("undecided", "associated", "Undecided"),
        ("nothing failed", "undecided", "Undecided"),
    ],
)
def test_headlines(report: whence.AuditReport, fail: str, bond: str, expected: str) -> None:
    results = json.loads(json.dumps(report.results))
    results["association"]["robustness"]["verdict"] = fail
    results["association"]["agreement"]["verdict"] = bond
    assert expected in association_verdict(results)[0]


def test_a_model_that_is_no_better_than_always_one_label_is_named(report: whence.AuditReport) -> None:
    results = json.loads(json.dumps(report.results))
    results["audit"] |= {"accuracy": 0.3, "majority": 0.4}
    results["association"]["rationales"]["written"] = 0.5
    said = " ".join(association_verdict(results))
    assert "right on 30\u202f% of the examples" in said
    assert "a rationale for 50\u202f%" in said


def test_named_methods_explain_by_words_instead(out: Path) -> None:
    made = whence.audit(model(), EXAMPLES[:3], out / "words", methods=["gradient_l2"], say=quiet)
    assert "association" not in made.results
    assert set(made.results["methods"]) == {"gradient_l2", "random"}


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    port = trained("animal", 0)
    port.model.save_pretrained(tmp_path / "model")
    port.tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "toy.toml").write_text(f'source = "{TEMPLATE.source}"\ntarget = "{TEMPLATE.target}"\n')
    lines = [json.dumps({"text": e.texts["text"], "label": e.label}) for e in EXAMPLES[:4]]
    (tmp_path / "toy.jsonl").write_text("\n".join(lines))
    common = ["--model", str(tmp_path / "model"), "--template", str(tmp_path / "toy.toml")]
    common += ["--data", str(tmp_path / "toy.jsonl"), "--set", "rationale.levels=1"]
    common += ["--set", "rationale.draws=2", "--set", "rationale.max_tokens=8"]

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["whence", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return int(stopped.value.code or 0), said.out, said.err

    code, said, _ = run("plan", "audit", *common)
    assert code == 0
    assert "3 rationales written" in said
    code, said, _ = run("audit", *common, "--out", str(tmp_path / "out"))
    assert code == 0
    assert "labels unchanged" in said
    assert "because:" in said
    assert "does not name its outputs" not in said
    assert json.loads((tmp_path / "out" / "results.json").read_text())["association"]["levels"][1]["noise"] == 32
    code, said, wrong = run("audit", *common, "--set", "rationale.draws=1", "--out", str(tmp_path / "other"))
    assert code == 2
    code, said, wrong = run("audit", *common, "--hide", "pad", "--out", str(tmp_path / "other"))
    assert (code, "--method" in wrong) == (2, True)
    assert not (tmp_path / "other").exists()


def test_one_example_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="1 examples; expected at least 2"):
        whence.audit(model(), EXAMPLES[:1], tmp_path / "out", say=quiet)
    with pytest.raises(BadInput, match="occurs more than once"):
        whence.audit(model(), [EXAMPLES[0], EXAMPLES[0]], tmp_path / "out", say=quiet)


def test_rationales_from_python() -> None:
    asked = model()
    one = asked.rationales(EXAMPLES[0], max_tokens=8)
    assert (one.label, one.text) == (EXAMPLES[0].label, EXAMPLES[0].explanations[0])
    several = asked.rationales([e.texts["text"] for e in EXAMPLES[:2]], max_tokens=8)
    assert [r.text for r in several] == [e.explanations[0] for e in EXAMPLES[:2]]
    assert "because" in one._repr_html_()
    noisy = asked.rationales(EXAMPLES[0], max_tokens=8, noise=100.0, seed=1)
    assert noisy.noise == 100.0
    with pytest.raises(BadInput, match="max_tokens"):
        asked.rationales(EXAMPLES[0], max_tokens=0)
    silent = whence.load((trained("animal", 0).model, trained("animal", 0).tokenizer), candidates=["a", "b"], template="text")
    with pytest.raises(BadInput, match="asks for no label and rationale"):
        silent.rationales(Example("x", {"text": "a cat"}))
