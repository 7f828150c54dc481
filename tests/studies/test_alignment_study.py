"""The study of alignments: sheets for people, shards, claims worked by hand, and the whole recipe on an untrained model."""

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import own_model

from whence.data import word_spans
from whence.data.registry import open_corpus
from whence.errors import BadInput
from whence.explain.alignment import Alignment, mask_rows, score_rows
from whence.models.build import build_model
from whence.studies.alignment import STUDY, pieces
from whence.studies.alignment.claims import claims
from whence.studies.alignment.figures import SHEETS
from whence.studies.alignment.figures import item as sheet_item
from whence.studies.alignment.found import PAPER, Found, shards
from whence.studies.alignment.models import Subject
from whence.studies.alignment.settings import METHODS, settings
from whence.studies.alignment.tables import TABLE_4_COLUMNS, table_4
from whence.studies.kit.models import Trained
from whence.studies.kit.sheets import Item, read_sheets, write_sheet
from whence.studies.study import run_study

READABILITY, AGREEMENT = SHEETS["readability"], SHEETS["agreement"]


def item(number: int, method: str = "arec", label: str = "neutral") -> Item:
    texts = {"premise": "=cmd <b>man</b> walks", "hypothesis": "A man runs"}
    spans = {name: tuple(word_spans(text)) for name, text in texts.items()}
    shape = tuple(len(s) for s in spans.values())
    kept = np.zeros(shape, dtype=bool)
    kept[-1, -1] = True
    alignment = Alignment(str(number), texts, spans, score_rows(kept * 1.0), method, "neutral", 0.5, mask_rows(kept))
    key = {"model": "da", "method": method, "id": str(number), "label": "contradiction"}
    return sheet_item(key, label, alignment)


def filled(folder: Path, kind: str, answer: Any) -> list[dict[str, str]]:
    with (folder / f"{kind}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["answer"] = answer(row)
    return rows


def save(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_sheets_are_blind_and_come_back(tmp_path: Path) -> None:
    write_sheet(tmp_path, READABILITY, [item(i, m) for i in range(3) for m in ("arec", "lime")])
    page = (tmp_path / "readability.html").read_text(encoding="utf-8")
    assert "arec" not in page
    assert "lime" not in page
    assert "<b>man</b>" not in page
    key = json.loads((tmp_path / "readability-key.json").read_text(encoding="utf-8"))
    rows = filled(tmp_path, "readability", lambda row: "5" if key[row["number"]]["method"] == "arec" else "2")
    assert rows[0]["premise"].startswith("'="), "no formula for a spreadsheet"
    assert {row["label"] for row in rows} == {"neutral"}, "readability is about the model's label"
    judges = [save(tmp_path / f"judge{i}.csv", rows) for i in range(2)]
    answers = read_sheets(tmp_path, READABILITY, judges)
    assert len(answers) == 6
    assert all(given == (["5", "5"] if dict(key)["method"] == "arec" else ["2", "2"]) for key, given in answers.items())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: rows[1].update(answer="6"), r"row 2: answer '6' to number \d; expected one of 1, 2, 3, 4, 5"),
        (lambda rows: rows[1].update(answer=""), "row 2: answer ''"),
        (lambda rows: rows[1].update(number="9"), "number '9' is not of this sheet"),
        (lambda rows: rows[1].update(number=rows[0]["number"]), "is there twice"),
        (lambda rows: rows.pop(), "2 of 3 rows"),
    ],
)
def test_a_sheet_that_is_not_filled_in_right(tmp_path: Path, change: Any, problem: str) -> None:
    write_sheet(tmp_path, READABILITY, [item(i) for i in range(3)])
    rows = filled(tmp_path, "readability", lambda row: "3")
    change(rows)
    with pytest.raises(BadInput, match=problem):
        read_sheets(tmp_path, READABILITY, [save(tmp_path / "judge.csv", rows)])


def test_agreement_asks_for_the_right_label(tmp_path: Path) -> None:
    write_sheet(tmp_path, AGREEMENT, [item(0, label="contradiction")])
    rows = filled(tmp_path, "agreement", lambda row: "Yes ")
    assert rows[0]["label"] == "contradiction"
    assert list(read_sheets(tmp_path, AGREEMENT, [save(tmp_path / "judge.csv", rows)]).values()) == [["yes"]]
    with pytest.raises(BadInput, match="expected the key"):
        read_sheets(tmp_path / "nowhere", AGREEMENT, [])


def test_shards_cover_every_pair_once_and_spread_the_few() -> None:
    assert [n for shard in shards(300, None, 100) for n in shard] == list(range(300))
    assert [len(shard) for shard in shards(300, None, 100)] == [100, 100, 100]
    few = [n for shard in shards(60, 2, 20) for n in shard]
    assert few == [15, 45]


def test_the_papers_numbers_are_complete() -> None:
    methods = [m for m in METHODS if m != "random"]
    assert set(PAPER["table_1"]) == {"da", "esim", "minilm"}
    assert all(set(by_method) == set(methods) for by_method in PAPER["table_1"].values())
    assert PAPER["table_1"]["minilm"]["arec"]["hans"] == {
        "aorc": 0.53,
        "fidelity": 0.44,
        "compactness": 8.56,
        "contiguity": 0.79,
    }
    assert set(PAPER["table_2"]) == set(methods)
    for model, how, expected in (("da", "role mask", 67.34), ("esim", "as it is", 50.43)):
        six = [number for by_heuristic in PAPER["table_4"][model][how].values() for number in by_heuristic.values()]
        assert np.mean(six) == pytest.approx(expected, abs=0.01)


def role_rows(masked: float) -> list[dict[str, Any]]:
    cells = [(label, heuristic) for label, heuristic in product(*TABLE_4_COLUMNS) for _ in range(4)]
    return [
        {"id": str(i), "label": label, "heuristic": heuristic, "as it is": float(label == "entailment"), "match": 1.0,
         "role mask": masked if label == "entailment" else float(heuristic == "lexical_overlap")}
        for i, (label, heuristic) in enumerate(cells)
    ]  # fmt: skip


@pytest.mark.parametrize(("masked", "verdict"), [(1.0, "holds"), (0.0, "does not hold")])
def test_claims_about_roles(masked: float, verdict: str) -> None:
    """Non-entailed lexical overlap rises by 100 points; entailment loses nothing, or everything."""
    found = Found(settings("small"), {}, roles={"da": role_rows(masked)})
    (claim,) = claims(found)
    assert claim.verdict == verdict
    table = table_4(found)
    assert len(table.rows) == 14
    last = table.rows[-1]
    assert last["heuristic"] == "mean of the six"
    assert last["ours"] == pytest.approx((3 * 100 * masked + 100) / 6)
    assert last["paper"] == pytest.approx(67.34, abs=0.01)


def explained_rows(size: float, aorc: float) -> list[dict[str, Any]]:
    shared = {"right": 1.0, "label": "contradiction", "planted_found": 1.0, "label_kept": 1.0, "contiguity": size}
    return [{"id": str(i), "compactness": size, "fidelity": 0.1, "aorc": aorc, **shared} for i in range(4)]


def test_claims_about_methods() -> None:
    own = settings("smoke")
    scores = {"arec": (2.0, 0.4), "co_attention": (5.0, 0.5), "gradient": (50.0, 2.0), "integrated_gradients": (60.0, 3.0)}
    found = {("needs", "scenes", m): explained_rows(*values) for m, values in scores.items()}
    verdicts = {claim.text: claim.verdict for claim in claims(Found(own, {}, explained=found))}
    few = [text for text in verdicts if "keeps the label" in text or "planted pair" in text]  # 4 of 4 prove no 90 %
    assert {verdicts.pop(text) for text in few} == {"undecided"}
    assert set(verdicts.values()) == {"holds"}
    found["needs", "scenes", "gradient"] = explained_rows(3.0, 0.2)  # nearly as small as AREC's, and better by AORC
    held = {claim.text: claim.verdict == "holds" for claim in claims(Found(own, {}, explained=found))}
    compact = next(c for c in claims(Found(own, {}, explained=found)) if "far more compact" in c.text)
    assert compact.evidence.startswith("So in 0 of 1 cases")
    assert "✗ ESIM that needs the pair" in compact.evidence
    # a model that may decide by other words promises nothing about the planted pair
    others = {("esim", *key[1:]): rows for key, rows in found.items()}
    assert not any("planted" in c.text for c in claims(Found(own, {}, explained=others)))
    assert not any(holds for text, holds in held.items() if "far more compact" in text or "Gradients" in text)
    assert held["ESIM that needs the pair: AREC's masks are smaller than every induced rationale, random included"]


def test_the_papers_own_numbers_are_held_to_the_same_rules() -> None:
    """Counted by hand in Table 1: co-attention needs less than twice AREC's cells on ESIM (8.72 and 4.86, …) alone."""
    rows = {
        (model, corpus, "arec"): explained_rows(2.0, 0.4)
        for model in ("da", "esim")
        for corpus in PAPER["table_1"]["da"]["arec"]
    }
    rows |= {(*key[:2], "co_attention"): explained_rows(9.0, 0.5) for key in rows}
    compact, ragged, *_ = claims(Found(settings("small"), {}, explained=rows))
    assert compact.evidence.startswith("So in 6 of 6 cases")
    assert "by the paper's own numbers in 3 of 6" in compact.evidence
    assert "by the paper's own numbers in 6 of 6" in ragged.evidence


def test_a_method_on_very_few_pairs_decides_no_claim() -> None:
    own = settings("smoke")
    shared = {m: [row | {"id": str(i)} for i, row in enumerate(explained_rows(*values) * 10)]
              for m, values in {"arec": (2.0, 0.4), "gradient": (50.0, 2.0)}.items()}  # fmt: skip
    for few, verdict in ((3, "holds"), (4, "does not hold")):
        rows = {**shared, "back_select": [row | {"id": str(i)} for i, row in enumerate(explained_rows(1.0, 0.1)[:few])]}
        found = {("esim", "scenes", m): several for m, several in rows.items()}
        assert next(c for c in claims(Found(own, {}, explained=found)) if "far more compact" in c.text).verdict == verdict


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has read the words of the corpus and learned nothing."""
    folder = tmp_path_factory.mktemp("run")
    corpus = open_corpus("scenes")
    texts = [text for example in corpus.load("test", 200) for text in example.texts.values()]
    torch.manual_seed(0)
    model, tokenizer = build_model("decomposable", corpus.labels, texts, None, {"embedding_dim": 8, "hidden_size": 8})
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    scores = {"accuracy": 0.3, "macro_f1": 0.3, "examples": 1}
    (folder / "results.json").write_text(json.dumps({"dev": scores, "test": scores, "train_examples": 1, "best_epoch": 1}))
    return folder


def test_the_whole_recipe(tmp_path: Path, untrained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Subject, "trained", lambda self: Trained(untrained))
    monkeypatch.setattr(pieces, "accuracy", _few_accuracies)
    target = {
        "title": "DA",
        "architecture": "decomposable",
        "pairs": 6,
        "shard": 3,
        "fewer": {"back_select": 2},
        "gate_pairs": 40,
    }
    quick = {"arec": {"steps": 10, "samples": 2}, "lime": {"n_samples": 20}, "integrated_gradients": {"n_steps": 4}}
    overrides = {"targets": {"da": target}, "parameters": quick, "judged": 2}
    results = run_study(STUDY, "smoke", tmp_path / "run", overrides=overrides, say=lambda _: None)
    compact = results["tables"]["table_1_compactness"]["rows"]
    assert [row["method"] for row in compact][:2] == ["AREC", "Co-attention"]
    assert len(compact) == len(METHODS)
    (first, *_), (detail, *_) = results["tables"]["table_1"]["rows"], compact
    assert first["planted scenes COMP %"] == pytest.approx(detail["ours"])
    assert {row["pairs"] for row in compact if row["method"] == "BackSelect"} == {2}
    assert all(row["low"] <= row["ours"] <= row["high"] for row in compact)
    assert (tmp_path / "run" / "sheets" / "readability.csv").is_file()
    assert results["tables"]["planted"]["rows"]
    assert any("stay without the planted pair" in note for note in results["notes"])
    assert "table_2" not in results["tables"]
    [everything, *by_label] = results["tables"]["cut"]["rows"]
    assert everything["label"] == "all"
    assert everything["pairs"] == 6 == sum(row["pairs"] for row in by_label)
    searches = {row["search"]: row for row in results["tables"]["ablation"]["rows"]}
    assert searches["AREC as it is"]["− AREC"] == 0
    assert searches["descent from random"]["pairs"] == 6
    own = next(row for row in compact if row["method"] == "AREC")
    assert searches["AREC as it is"]["compactness %"] == pytest.approx(own["ours"])
    answers = tmp_path / "run" / "sheets" / "answers"
    answers.mkdir()
    save(answers / "readability-ann.csv", filled(answers.parent, "readability", lambda row: "4"))
    (tmp_path / "run" / "results.json").unlink()
    judged = run_study(STUDY, "smoke", tmp_path / "run", overrides=overrides, say=lambda _: None)
    assert {row["ours"] for row in judged["tables"]["table_2"]["rows"]} == {4.0}
    again = run_study(STUDY, "smoke", tmp_path / "other", overrides=overrides, say=lambda _: None)
    assert json.dumps(again["tables"]) == json.dumps(results["tables"])


def _few_accuracies(subject: Subject, corpus: str) -> list[dict[str, Any]]:
    return [{"id": "1", "label": "neutral", "right": 1.0}]


def test_hans_counts_two_labels() -> None:
    classifier = own_model("decomposable")
    classifier.model.config.id2label = {0: "entailment", 1: "neutral", 2: "contradiction"}
    examples = [pieces.Example("1", {"premise": "a", "hypothesis": "b"}, label) for label in ("entailment", "non-entailment")]

    class Predicted:
        label = 2

    assert [pieces.right(classifier, Predicted(), e) for e in examples] == [False, True]  # type: ignore[arg-type]
