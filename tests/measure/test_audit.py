"""The audit: resumes to the same bytes, finds what was planted, always has random in the table, counts what it left out."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import MODELS, own_model, pairs, texts, tiny_bert, tiny_gpt2

import whence
import whence.measure.audit as audit_module
from whence.data import Example
from whence.data.planted import shortcuts
from whence.errors import BadInput
from whence.explain import METHODS
from whence.measure.audit import cut, run_audit
from whence.measure.audit_plan import plan_audit
from whence.measure.audited import Audit
from whence.models import Classifier
from whence.report.audit_report import write_report
from whence.studies.calibrate import calibrate, reliance
from whence.studies.planted_model import planted_model

FAST = {"lime": {"n_samples": 24}, "kernel_shap": {"n_samples": 24}, "integrated_gradients": {"n_steps": 4, "max_steps": 4}}


def quiet(_: str) -> None:
    return None


def job(examples: list[Example], **more: object) -> Audit:
    return Audit("m", "d", "test", examples, parameters=FAST, **more)  # type: ignore[arg-type]


def many(examples: list[Example], n: int = 20) -> list[Example]:
    """More examples than one shard holds, all with ids of their own."""
    return [Example(f"{i}", examples[i % len(examples)].texts, examples[i % len(examples)].label) for i in range(n)]


@pytest.fixture
def bert() -> object:
    torch.manual_seed(0)
    return tiny_bert()


def test_killed_twice_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bert: object) -> None:
    examples = many(texts())
    run_audit(job(examples), bert, tmp_path / "whole", quiet)  # type: ignore[arg-type]
    real, calls = audit_module.shard_rows, 0

    class KilledError(Exception):
        pass

    def dies_in_the_second_shard(*args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KilledError
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(audit_module, "shard_rows", dies_in_the_second_shard)
    for _ in range(2):
        calls = 0
        with pytest.raises(KilledError):
            run_audit(job(examples), bert, tmp_path / "killed", quiet)  # type: ignore[arg-type]
    monkeypatch.setattr(audit_module, "shard_rows", real)
    run_audit(job(examples), bert, tmp_path / "killed", quiet)  # type: ignore[arg-type]
    assert (tmp_path / "killed" / "results.json").read_bytes() == (tmp_path / "whole" / "results.json").read_bytes()
    assert (tmp_path / "killed" / "explanations.jsonl").read_bytes() == (tmp_path / "whole" / "explanations.jsonl").read_bytes()


@pytest.mark.parametrize("kind", ["bert", "bilstm", "esim", "gpt2"])
def test_every_kind_of_model_gets_a_whole_table(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(0)
    classifier = {"bert": tiny_bert, "gpt2": tiny_gpt2}.get(kind, lambda: own_model(kind))()
    results = run_audit(job(pairs() if kind == "esim" else texts()), classifier, tmp_path / "run", quiet)
    expected = {name for name, m in METHODS.items() if m.needs <= classifier.honours}
    assert set(results["methods"]) == expected
    assert "random" in results["methods"]
    assert len(results["notes"]) == len(METHODS) - len(expected)
    for line in results["table"]:
        assert line["low"] <= line["value"] + 1e-9
        assert line["value"] <= line["high"] + 1e-9
        if line["measure"] != "stability":  # measured on a part of the examples
            assert line["n"] + line["excluded"] == len(texts())
        facts = results["measures"][line["measure"]]
        assert facts["low"] - 1e-9 <= line["value"] <= facts["high"] + 1e-9
    loo = [x for x in results["table"] if (x["method"], x["measure"]) == ("leave_one_out", "loo_tau")]
    assert loo[0]["value"] == pytest.approx(1.0)
    assert sum(line["best"] for line in results["table"] if line["measure"] == "decision_flip") == 1


def test_long_texts_are_reported(tmp_path: Path, bert: object) -> None:
    bert.tokenizer.model_max_length = 30  # type: ignore[attr-defined]
    results = run_audit(job([Example("long", {"text": "good film " * 40}), *texts()]), bert, tmp_path / "run", quiet)  # type: ignore[arg-type]
    assert results["audit"]["texts_cut"] >= 1
    assert results["audit"]["words_unread"] > 40
    assert results["audit"]["max_tokens"] == 30


def test_plan_has_the_true_passes_between_its_bounds(tmp_path: Path, bert: object) -> None:
    rounds = {**FAST, "integrated_gradients": {"n_steps": 3, "max_steps": 9}}
    asked = Audit("m", "d", "test", texts(), parameters=rounds)
    planned = plan_audit(asked, bert, enough=0.0)  # type: ignore[arg-type]
    results = run_audit(asked, bert, tmp_path / "run", quiet)  # type: ignore[arg-type]
    for name, passes in planned["passes_per_example"].items():
        for kind, (least, most) in passes["range"].items():
            paid = results["methods"][name]["passes"][kind]
            assert least - 1e-9 <= paid <= most + 1e-9
            assert least <= passes[kind] <= most
            if name != "integrated_gradients":
                assert least == most == pytest.approx(paid)
    ours = planned["passes_per_example"]["integrated_gradients"]["range"]["backward"]
    assert ours == [3, 9], "it may stop after the first round, or go on to the end"


def test_foreign_explanations_must_fit(tmp_path: Path, bert: object) -> None:
    model = whence.load(bert)
    made = model.explain(texts(), method="gradient_l2")
    with pytest.raises(BadInput, match="no explanation of example '5'"):
        run_audit(job(texts(), explanations={"f": made[:5]}), bert, tmp_path / "a", quiet)  # type: ignore[arg-type]
    moved = [Example(e.id, {"text": e.texts["text"] + "!"}, e.label) for e in texts()]
    with pytest.raises(BadInput, match="another text"):
        run_audit(job(moved, explanations={"f": made}), bert, tmp_path / "b", quiet)  # type: ignore[arg-type]


def test_explanations_never_take_the_place_of_our_own(tmp_path: Path, bert: object) -> None:
    made = whence.load(bert).explain(texts(), method="gradient_l2")
    with pytest.raises(BadInput, match="called 'random', as a method of ours is"):
        run_audit(job(texts(), explanations={"random": made}), bert, tmp_path / "a", quiet)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="'0' occurs more than once"):
        run_audit(job(texts(), explanations={"f": [*made, made[0]]}), bert, tmp_path / "b", quiet)  # type: ignore[arg-type]
    spans = {"text": ((0, 2), *made[0].spans["text"][1:])}
    with pytest.raises(BadInput, match="other words"):
        run_audit(
            job(texts(), explanations={"f": [replace(made[0], spans=spans), *made[1:]]}),
            bert,
            tmp_path / "c",
            quiet,  # type: ignore[arg-type]
        )
    assert list(tmp_path.iterdir()) == [], "refused before anything is written"


def test_the_same_method_or_label_twice_is_refused(tmp_path: Path, bert: Classifier) -> None:
    for wrong in ({"methods": ["lime", "lime"]}, {"measures": ["loo_tau", "loo_tau"]}):
        with pytest.raises(BadInput, match="occurs more than once"):
            run_audit(job(texts(), **wrong), bert, tmp_path / "a", quiet)
    bert.labels = ("a", "b", "a")
    with pytest.raises(BadInput, match="labels of the model: 'a' occurs more than once"):
        run_audit(job(texts()), bert, tmp_path / "a", quiet)


def test_other_names_of_the_labels_are_another_run(tmp_path: Path, bert: Classifier) -> None:
    some = job(texts(), methods=["attention"], measures=["decision_flip"])
    run_audit(some, bert, tmp_path / "a", quiet)
    bert.labels = ("x", "y", "z")
    with pytest.raises(BadInput, match=r"'labels' is \["):
        run_audit(some, bert, tmp_path / "a", quiet)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "bilstm"])
def test_texts_without_words_are_counted_and_said(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "SHARD_EXAMPLES", 99)  # one shard: no rounding by other company
    torch.manual_seed(0)
    classifier = MODELS[kind]()
    odd = ["", " \n ", "\t"]
    empty = [Example(f"e{i}", {"text": text}, "neutral") for i, text in enumerate(odd)]
    some = [Example("zero", {"text": "\u200b"}), Example("one", {"text": "good"}), Example("dot", {"text": "."}), *texts()]
    said: list[str] = []
    results = run_audit(job([*empty, *some]), classifier, tmp_path / "run", said.append)
    lost = results["audit"]["texts_without_words"]
    assert lost == 3 + (kind == "bert"), "BERT's tokenizer drops a zero-width space"
    assert results["audit"]["examples"] == len(some) + 3 - lost
    [note] = [note for note in results["notes"] if "no word" in note]
    assert note in said
    assert note.startswith(f"{lost} of {len(some) + 3} examples")
    assert {line["n"] for line in results["table"] if line["measure"] == "decision_flip"} == {results["audit"]["examples"]}
    alone = run_audit(job(some), classifier, tmp_path / "alone", quiet)
    flips = [[x["value"] for x in r["table"] if x["measure"] == "decision_flip"] for r in (results, alone)]
    assert flips[0] == flips[1], "what is left out changes nothing"
    with pytest.raises(BadInput, match="in none of its 3 texts"):
        run_audit(job(empty), classifier, tmp_path / "none", quiet)
    assert not (tmp_path / "none").exists()


def test_curves_are_drawn_only_from_passes_that_were_asked_for(tmp_path: Path, bert: Classifier) -> None:
    asked = {"methods": ["gradient_l2"], "measures": ["sufficiency"]}
    paid = plan_audit(job(texts(), **asked), bert, enough=0.0)["forward"]
    with_flip = plan_audit(job(texts(), methods=["gradient_l2"], measures=["sufficiency", "decision_flip"]), bert, enough=0.0)[
        "forward"
    ]
    assert paid <= len(texts()) * (1 + 2 * 5 + 1), "base, five bins for each of two explainers, gradient"
    assert paid < with_flip
    results = run_audit(job(texts(), **asked), bert, tmp_path / "run", quiet)
    assert results["curves"] == {}
    assert "chosen on the same examples" in results["tests"]["vs_best"]
    write_report(results, tmp_path / "report.html")


def test_the_five_line_interface(tmp_path: Path, bert: object) -> None:
    model = whence.load(bert)
    explanation = model.explain("A <b>good</b> film", method="lime", parameters={"n_samples": 20})
    assert explanation.words == ["A", "<", "b", ">", "good", "</", "b", ">", "film"]
    assert "<b>good" not in explanation._repr_html_()
    assert model.explain(["good", "bad"], target="neutral")[0].target == "neutral"
    assert sum(model.predict("good").values()) == pytest.approx(1.0, abs=1e-5)
    report = whence.audit(model, texts(), tmp_path / "run", methods=["attention"], say=quiet)
    assert report.path.exists()
    assert "report.html" in repr(report)
    assert "<li>" in report._repr_html_()
    with pytest.raises(BadInput, match="no parameter"):
        model.explain("good", method="lime", parameters={"samples": 20})


def test_calibration_finds_the_planted_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that provably relies on one token: leave-one-out and integrated gradients must point at it."""
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path))
    corpus = shortcuts(0)
    classifier, folder = planted_model(corpus, "bilstm", epochs=2, say=quiet)
    examples = corpus.load("test", 60)
    assert reliance(classifier, examples) == 1.0
    result = calibrate(classifier, examples, ["leave_one_out", "integrated_gradients"])
    first = {row["method"]: row["first"]["value"] for row in result["rows"]}
    assert first["leave_one_out"] >= 0.95
    assert first["integrated_gradients"] >= 0.95
    assert first["random"] < 0.2
    before = (folder / "results.json").stat().st_mtime_ns
    planted_model(corpus, "bilstm", epochs=2, say=quiet)  # from the cache
    assert (folder / "results.json").stat().st_mtime_ns == before
    assert json.loads((folder / "results.json").read_text())["test"]["accuracy"] > 0.98


def test_a_long_document_is_a_shard_of_its_own() -> None:
    examples = [Example(str(n), {"text": "w" * n}) for n in [100] * 9 + [4000, 4000, 5, 9000, 3]]
    assert [len(shard) for shard in cut(examples)] == [8, 2, 2, 1, 1]
    assert [pair for shard in cut(examples) for pair in shard] == list(enumerate(examples))


def test_a_large_corpus_has_larger_shards() -> None:
    examples = [Example(str(i), {"text": "w"}) for i in range(40_000)]
    assert len(list(cut(examples))) == 2000
    assert max(map(len, cut(examples * 40))) == 512
