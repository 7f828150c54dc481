"""The study of SIM: it runs from end to end at toy size, resumes, and reduces rows rightly."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.data import Corpus
from whence.measure.text.bleu import bleu
from whence.report.study_report import write_study_report
from whence.studies.kit.models import Trained
from whence.studies.mpii import SHEETS, _judged
from whence.studies.mpii.claims import bleu_difference, claims
from whence.studies.mpii.found import Found
from whence.studies.mpii.models import Subject
from whence.studies.mpii.settings import MpiiSettings, Task, settings
from whence.studies.mpii.tables import exchange_values, over_seeds, table_6
from whence.studies.registry import find_study
from whence.studies.study import run_study
from whence.teach import Job

TASK: dict[str, Any] = {"train": 40, "dev": 6, "test": 8, "shown": 1, "training": {"epochs": 1, "generated": 4}}
TOY: dict[str, Any] = {
    "base_options": {"hidden_size": 16, "layers": 1, "longest": 12},
    "afire": {"warmup": 0, "size": 8, "layers": 1},
    "infersent": {"embedding_dim": 8, "hidden_size": 8, "decoder_size": 8, "classifier_size": 8, "longest": 12},
    "infersent_training": {"epochs": 1},
    "cage_training": {"epochs": 1},
    "order": 3,
    "texts": 100,
    "corpora": {
        "scenes": {
            **TASK, "template": "nli.i-or", "rows": {"baseline": 1, "sim": 2, "critic": 1, "e_infersent": 1}, "early_steps": 1,
            "critic": {"model": "decomposable", "options": {"hidden_size": 8, "embedding_dim": 8}, "train": 60, "dev": 60,
                       "test": 60, "training": {"epochs": 1}},
            "outside": {"scenes": "dev"}, "outside_count": 4, "associated": 3, "levels": [0.0, 1.0], "draws": 2,
            "intervened": 4, "judged": 2,
        },
        "choices": {**TASK, "template": "cose.i-or", "tokens": "spaced", "rows": {"sim": 1, "cage": 1},
                    "intervened": 4, "associated": 3,
                    "levels": [0.0, 1.0], "draws": 2},
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


def test_runs_and_returns_what_it_found(tmp_path: Path) -> None:
    study, out = find_study("mpii"), tmp_path / "run"
    found = run_study(study, "smoke", out, overrides=TOY, say=lambda _: None)
    assert {"table1", "table2", "table3", "table4", "association", "exchange", "training"} <= set(found["tables"])
    assert {"figure5-scenes", "movement-scenes", "figure4-scenes-1", "figure4-choices-1"} <= set(found["figures"])
    people = [row for row in found["tables"]["table1"]["rows"] if row["model"] == "people" and row["measure"] == "BLEU"]
    assert [row["ours"] for row in people] == pytest.approx([100, 100])  # planted: one explanation, scored against itself
    rows = {(row["model"], row["what"]): row["ours"] for row in found["tables"]["exchange"]["rows"]}
    assert rows["no fusion", "label stays after an explanation of another label"] in (1.0, None)
    assert rows["no fusion", "explanation stays (word F1) under a turned label state"] == 1
    bonds = {(row["corpus"], row["model"]): row["words test"] for row in found["tables"]["association"]["rows"]}
    assert bonds["planted choices", "SIM"] == "not run"
    assert bonds["planted scenes", "SIM"] != "not run"
    rows = [row for row in found["tables"]["table1"]["rows"] if row["corpus"] == "planted choices"]
    measured = {(row["model"], row["measure"]) for row in rows}
    assert {("CAGE (explain, then predict)", "accuracy, %"), ("CAGE (explain, then predict)", "BLEU")} <= measured
    assert "CAGE (explain, then predict)" not in {row["model"] for row in found["tables"]["exchange"]["rows"]}
    assert "SIM predicts better than CAGE (planted choices)." in {claim["text"] for claim in found["claims"]}
    assert {"sheets/fidelity.csv", "sheets/label_told.csv", "sheets/fluency.html"} <= set(found["artefacts"])
    assert "predicted" not in (out / "sheets" / "fidelity.csv").read_text().splitlines()[0]
    write_study_report(found, out / "report.html")
    page = (out / "report.html").read_text()
    assert "Figure 4" in page
    assert "(before)" in page
    assert run_study(study, "smoke", out, overrides=TOY, say=lambda _: None) == found


def test_every_model_may_start_from_one_that_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer learns all explanations, the models after it a part of the corpus; only their own options go with it."""
    asked: list[tuple[Job, int]] = []

    def stand_in(job: Job, corpus: Corpus) -> Trained:
        asked.append((job, len(corpus.load("train"))))
        return Trained(tmp_path / job.task)

    monkeypatch.setattr("whence.studies.mpii.models.trained", stand_in)
    task = Task(template="nli.i-or", rows={"sim": 1}, train=40, dev=6, test=8, writer_training={"epochs": 1},
                options={"label_heads": 2})  # fmt: skip
    given = MpiiSettings(corpora={"scenes": task}, base="small_t5", base_options={"hidden_size": 16}, precision="bfloat16")
    for row in ("sim", "baseline"):
        Subject(corpus="scenes", row=row, settings=given, root=None, seed=3).trained()
    writer, sim, again, baseline = (job for job, _ in asked)
    assert writer == again
    assert (writer.task, writer.template, writer.options) == ("text2text", "nli.i-r", {"hidden_size": 16})
    assert (writer.settings.seed, writer.settings.epochs, writer.settings.precision) == (0, 1, "bfloat16")
    start = str(tmp_path / "text2text" / "model")
    assert sim.options == {"base": start, "label_heads": 2}
    assert baseline.options == {"base": start, "label_heads": 2, "label_to_text": False, "text_to_label": False}
    assert [count for _, count in asked] == [24_000, 40, 24_000, 40]


def written(texts: list[str], right: list[float], human: list[str]) -> list[dict[str, Any]]:
    from whence.measure.text.bleu import bleu_statistics

    rows = bleu_statistics(texts, [[one] for one in human])
    return [
        {"id": str(i), "rationale": text, "right": r, "bleu": row.tolist(), "belongs": 0.9 * r, "exact": r, "cosine": 0.5,
         "surprise": [2.0, 2.0, 0.0], "predicted": "entailment", "label": "entailment", "input": "a / b", "moves": [],
         "human": h}
        for i, (text, r, row, h) in enumerate(zip(texts, right, rows, human, strict=True))
    ]  # fmt: skip


def made() -> Found:
    human = [f"a b c d e {i}" for i in range(30)]
    found = Found(settings("smoke").model_copy(update={"corpora": {"scenes": settings("smoke").corpora["scenes"]}}))
    bad = [text if i % 3 else "x y z w v u" for i, text in enumerate(human)]
    for row, texts in (("sim", human), ("baseline", bad), ("people", human)):
        found.written["scenes", row] = [written(texts, [float(t == h) for t, h in zip(texts, human, strict=True)], human)]
    return found


@pytest.mark.parametrize(
    ("size", "verdict", "earlier"),
    [
        (0.2, "holds", ["does not hold"]),
        (1e-8, "undecided", ["holds", "does not hold"]),
    ],
)
def test_a_label_that_stands_still_moves_nowhere(size: float, verdict: str, earlier: list[str]) -> None:
    """All of its movement falls on deciding words, but a movement of 1e-8 is none."""
    found = made()
    for row in found.written["scenes", "sim"][0]:
        row["moves"], row["deciding"] = [0.0, size, 0.0], [0.0, 1.0, 0.0]
    [claim] = [claim for claim in claims(found) if "moves at the words that decide" in claim.text]
    assert claim.verdict == verdict
    assert [one.verdict for one in claim.earlier] == earlier


def test_claims_are_paired_and_three_valued() -> None:
    found = made()
    gap = bleu_difference(found, "scenes", "sim", "baseline")
    human = [row["human"] for row in found.written["scenes", "sim"][0]]
    bad = [row["rationale"] for row in found.written["scenes", "baseline"][0]]
    assert gap.value == pytest.approx(100 - bleu(bad, [[one] for one in human]))
    assert gap.low > 0
    verdicts = {claim.text: claim.verdict for claim in claims(found)}
    assert verdicts["SIM predicts better than a model without fusion (planted scenes)."] == "holds"
    assert verdicts["planted scenes: labels are right in 95% or more, of SIM (our test)."] == "holds"
    assert verdicts["planted scenes: SIM's label moves at the words that decide, more than at random places (our test)."] == (
        "undecided"
    )
    found.written["scenes", "sim"], found.written["scenes", "baseline"] = (
        found.written["scenes", "baseline"], found.written["scenes", "sim"],
    )  # fmt: skip
    swapped = {claim.text: claim.verdict for claim in claims(found)}
    assert swapped["SIM predicts better than a model without fusion (planted scenes)."] == "does not hold"


@pytest.mark.parametrize(("sim", "baseline", "verdict"), [
    (("together", "associated"), ("apart", "associated"), "holds"),
    (("together", "associated"), ("together", "associated"), "does not hold"),
    (("apart", "associated"), ("apart", "not associated"), "does not hold"),
    (("together", "undecided"), ("apart", "not associated"), "undecided"),
    (("together", "associated"), ("nothing failed", "undecided"), "undecided"),
])  # fmt: skip
def test_both_association_tests_decide(sim: tuple[str, str], baseline: tuple[str, str], verdict: str) -> None:
    found = made()
    for row, (noise, words) in (("sim", sim), ("baseline", baseline)):
        found.associated["scenes", row] = {"verdict": noise, "bond": words}
    [claim] = [claim for claim in claims(found) if "both association tests" in claim.text]
    assert claim.verdict == verdict


def test_numbers_are_means_over_seeds() -> None:
    found = made()
    runs = [found.written["scenes", "sim"][0], found.written["scenes", "baseline"][0]]
    assert over_seeds(runs, "accuracy")["ours"] == pytest.approx(100 * (1 + 2 / 3) / 2)
    assert over_seeds(runs[:1], "bleu") == {"ours": pytest.approx(100), "low": pytest.approx(100), "high": pytest.approx(100)}
    assert over_seeds(runs, "ppl")["ours"] == pytest.approx(np.exp(2 / 3))


def test_exchanges_are_counted_by_what_they_ask() -> None:
    rows = [
        {"label": 0, "cut": 0, "half": 1, "another": 2, "others_label": 2, "swapped": 1, "turned": 1, "frozen_same": 0.5},
        {"label": 1, "cut": 0, "half": 1, "another": None, "others_label": None, "swapped": 1, "turned": 2, "frozen_same": 1.0},
    ]
    expected = {"cut": [1, 0], "half": [0, 1], "another": [0], "to_other": [1], "followed": [1, 0], "frozen_same": [0.5, 1]}
    assert {which: exchange_values(rows, which) for which in expected} == expected


def test_judgements_are_read_back_blind(tmp_path: Path) -> None:
    found = made()
    found.settings.corpora["scenes"].rows = {"sim": 1, "baseline": 1}
    assert _judged(found, tmp_path, 0) == {sheet.name: {} for sheet in SHEETS}
    key = json.loads((tmp_path / "fidelity-key.json").read_text())
    with (tmp_path / "fidelity.csv").open() as file:
        given = list(csv.DictReader(file))
    assert "baseline" not in (tmp_path / "fidelity.csv").read_text()
    (tmp_path / "answers").mkdir()
    with (tmp_path / "answers" / "fidelity-judge1.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "answer"])
        writer.writerows([row["number"], 5 if key[row["number"]]["row"] == "sim" else 2] for row in given)
    table = table_6(found, _judged(found, tmp_path, 0))
    marks = {(row["model"], row["measure"]): row["ours"] for row in table.rows}
    assert marks == {
        ("SIM", "fidelity of right"): 5,
        ("no fusion", "fidelity of right"): 2,
        ("no fusion", "fidelity of wrong"): 2,
    }
    assert {row["paper"] for row in table.rows} == {None}, "the paper has no planted scenes"
