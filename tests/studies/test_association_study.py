"""The study of labels and rationales: claims worked by hand, its corpora, and the whole recipe on very small models."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.data import Corpus, Example
from whence.errors import BadInput
from whence.explain.text.importance import DRAWS
from whence.studies.association import STUDY
from whence.studies.association.claims import claims
from whence.studies.association.found import Corner, Found, hidden_words
from whence.studies.association.models import SENTENCE, Subject, roar_part
from whence.studies.association.settings import VARIANTS, Roar, settings
from whence.studies.association.tables import PAPER, simulatability, table_3, table_4, table_9
from whence.studies.kit.corpora import held_out_dev
from whence.studies.kit.models import Trained
from whence.studies.study import list_pieces, run_study
from whence.teach.tasks import written

DATA = Path(os.environ.get("WHENCE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def subject(corpus: str = "choices", scale: Any = "smoke", **changed: Any) -> Subject:
    own = settings(scale).model_copy(update={"encoder": "ENCODER"})
    return Subject(**{"corpus": corpus, "variant": "i-or", "settings": own, "root": None, "seed": 0, **changed})


def answer_rows(n: int = 40, **wrong: int) -> list[dict[str, Any]]:
    """All models right, but for the first so many rows of some ("ir-o i-or" as ir_o_i_or)."""
    columns = ["i-or", "i-o", *(f"{r} {s}" for r in ("r-o", "ir-o") for s in ("gold", "i-r", "i-or"))]
    few = {name.replace("_", "-", 1).replace("_", " ", 1).replace("i_", "i-"): count for name, count in wrong.items()}
    assert set(few) <= set(columns)
    return [
        {"id": str(i), "input": "x", "label": "yes", "rationale gold": "why", "rationale i-r": "a", "rationale i-or": "b",
         **{c: "no" if i < few.get(c, 0) else "yes" for c in columns}}
        for i in range(n)
    ]  # fmt: skip


def of(corner: Corner, text: str) -> Any:
    return next(claim for claim in claims([corner]) if text in claim.text)


def test_claims_about_answers_by_hand() -> None:
    corner = Corner(subject(), answers=answer_rows(i_o=20, r_o_i_or=10, r_o_i_r=20, ir_o_gold=0, ir_o_i_r=12, ir_o_i_or=8))
    assert of(corner, "Table 3").verdict == "holds"
    assert "gold − I→OR +25.0" in of(corner, "Table 3").evidence
    assert "I→OR − I→R +25.0" in of(corner, "Table 3").evidence
    assert of(corner, "Table 4").verdict == "holds"
    assert "gold +50.0" in of(corner, "Table 4").evidence
    assert of(corner, "Table 9").verdict == "does not hold"  # I→OR is right in all, I→O in half
    assert of(corner, "Table 10").verdict == "holds"
    assert of(corner, "Table 5").verdict == "undecided"  # both right in all: the interval of the difference is 0 alone
    worse = Corner(subject(), answers=answer_rows(r_o_i_or=30, r_o_i_r=10))
    assert of(worse, "Table 3").verdict == "does not hold"
    rows = {row["what"]: row for row in table_3(Found([corner])).rows}
    assert [rows[f"rationales of {who}"]["ours"] for who in ("people (R*)", "I→R", "I→OR")] == [100, 50, 75]
    assert [row["ours"] for row in table_4(Found([corner])).rows] == [50, 20, 30]


def test_simulatability_is_about_what_the_model_said_and_counts_leaks_apart() -> None:
    """I→OR says no in 10 of 40, where IR→O and I→O say yes; I→O is wrong in the first 20; 10 rationales name the label."""
    rows = answer_rows(i_or=10, i_o=20)
    for row in rows[30:]:
        row["rationale i-or"] = "that is a Yes"
    [found] = simulatability(Found([Corner(subject(), answers=rows)])).rows
    # guessed with the rationale: 30 of 40; without: the 10 that I→OR has wrong too, and the last 20
    assert found["ours"] == pytest.approx(0)
    assert found["names the label %"] == 25
    assert found["naming"] == 0
    assert found["not naming"] == pytest.approx(0)


def noise_rows(levels: int, broken: Any) -> list[list[dict[str, Any]]]:
    """20 examples, 3 draws; `broken(level, draw, i)` says whether (label, rationale) are others than without noise."""
    found = []
    for level in range(levels):
        rows = []
        for draw in range(3 if level else 1):
            for i in range(20):
                other = broken(level, draw, i) if level else (0, 0)
                label, told = i % 2 ^ other[0], i + 100 * other[1]
                said = {
                    "gold": str(i % 2),
                    "label": str(label),
                    "rationale": f"w{told}",
                    "output": "",
                    "ended": 1.0,
                    "ir-o": None,
                }
                rows.append({"id": str(i), "draw": draw, "level": float(level), "noise": float(level), **said})
        found.append(rows)
    return found


def score_rows(label: Any, rationale: Any, depends: float = 1.0) -> list[dict[str, Any]]:
    """20 texts of 8 words; `label(draw)` and `rationale(draw)` give the scores of each draw of noise."""
    return [
        {"id": str(i), "words": list("abcdefgh"), "said": "x", "told": "y", "label": label(0, i), "rationale": rationale(0, i),
         "shaken label": [x for d in range(DRAWS) for x in label(d, i)], "depends": depends,
         "shaken rationale": [x for d in range(DRAWS) for x in rationale(d, i)]}
        for i in range(20)
    ]  # fmt: skip


def moves(seed: int) -> Any:
    """Scores that move from draw to draw around what a text gives its words."""
    base = np.random.default_rng(99).uniform(1, 9, (20, 8))
    shaken = np.random.default_rng(seed).uniform(0.5, 2, (DRAWS, 20, 8))
    return lambda draw, i: (base[i] * shaken[draw, i]).tolist()


def test_glued_models_are_called_apart_and_one_model_together() -> None:
    """The same draws break label and rationale of one model; another model's break by draws of their own."""
    draw = np.random.default_rng(1)
    own, other = (draw.random((4, 3, 20)) < np.array([0, 0.5, 0.95, 1])[:, None, None] for _ in range(2))
    corner = Corner(
        subject(),
        noised={
            "joint 0": noise_rows(4, lambda s, d, i: (own[s, d, i], own[s, d, i])),
            "joint 1": noise_rows(4, lambda s, d, i: (other[s, d, i], other[s, d, i])),
        },
        scored={"joint 0": score_rows(moves(0), moves(0)), "joint 1": score_rows(moves(1), moves(1))},
    )
    one, two = "joint 0", "joint 1"
    assert set(corner.pairs().values()) == {(one, one), (two, two), (one, two), (two, one)}
    assert corner.failing(one, one).verdict == "together"
    assert corner.failing(one, two).verdict == "apart"
    assert of(corner, "The same draws of noise break").verdict == "holds"
    assert of(corner, "within one step").verdict == "holds"
    assert of(corner, "robustness calls rationales of an independent network").verdict == "holds"
    shared, plain = corner.agreeing(one, one)
    assert shared.value is not None
    assert plain is not None
    assert shared.value.value == pytest.approx(1)
    assert plain.value.value == pytest.approx(1)
    shared, plain = corner.agreeing(one, two)
    assert plain is not None
    assert plain.above_chance  # the same words matter to both
    assert shared.verdict == "not associated"
    assert of(corner, "rest on the same words").verdict == "holds"
    assert of(corner, "agreement calls rationales of an independent network").verdict == "holds"


@pytest.mark.parametrize(("wrong", "depends", "expected"), [(30, 0.0, "holds"), (0, 1.0, "does not hold")])
def test_a_constant_rationale_is_called_out_by_what_it_does(wrong: int, depends: float, expected: str) -> None:
    """I→O is right in 20 of 40; I→OR's rationales lift IR→O to all. A control that does the same is not called out."""
    told = [
        {"id": str(i), "gold": "yes", "label": "yes", "rationale": "so", "ir-o": "no" if i < wrong else "yes"}
        for i in range(40)
    ]
    corner = Corner(
        subject(), answers=answer_rows(i_o=20), constant=told, noised={},
        scored={"constant": score_rows(moves(0), moves(0), depends)},
    )  # fmt: skip
    assert of(corner, "quality calls out").verdict == expected
    assert of(corner, "agreement calls out").verdict == expected


def roar_rows(right: int, n: int = 40) -> list[dict[str, Any]]:
    return [{"id": str(i), "source": "s", "gold": "yes", "label": "yes" if i < right else None, "rationale": "",
             "ir-o": "yes", "i-o": "yes"} for i in range(n)]  # fmt: skip


@pytest.mark.parametrize(("by_label", "verdict"), [(10, "holds"), (30, "undecided"), (40, "does not hold")])
def test_roar_is_held_against_random_words(by_label: int, verdict: str) -> None:
    accuracy = {"nothing": 40, "random": 30, "label": by_label, "rationale": 30}
    rows = {(by, 0.0 if by == "nothing" else 20.0): roar_rows(right) for by, right in accuracy.items()}
    corner = Corner(subject(), roar=rows)
    assert of(corner, "costs more label accuracy").verdict == verdict
    assert of(corner, "in one direction at least").verdict == "undecided"


def test_hidden_words_are_places_in_the_text_and_chance_ranks_what_the_model_did_not() -> None:
    ranked = [{"id": "a", "place": [0, 2, 3, 7], "label": [1.0, 9.0, 2.0, 3.0], "rationale": [4.0, 3.0, 2.0, 1.0]},
              {"id": "b", "place": [1, 5], "label": None, "rationale": None}]  # fmt: skip
    assert hidden_words(ranked, "label", 50) == {"a": [2, 7], "b": hidden_words(ranked, "random", 50)["b"]}
    assert hidden_words(ranked, "rationale", 50)["a"] == [0, 2]
    assert hidden_words(ranked, "nothing", 0) == {"a": [], "b": []}


def toy(count: int = 40) -> Corpus:
    def rows(split: str) -> list[Example]:
        return [
            Example(f"{split}{i}", {"question": f"q {i}"}, "AB"[i % 2], ("no", "yes"), explanations=("so",))
            for i in range(count)
        ]

    return Corpus("toy", "choice", ("A", "B"), {split: partial(iter, rows(split)) for split in ("train", "dev", "test")})


def test_nothing_is_chosen_on_what_is_tested() -> None:
    held = held_out_dev(toy(), 10)
    ids = {split: {e.id for e in held.load(split)} for split in held.splits}
    assert ids["test"] == {f"dev{i}" for i in range(40)}
    assert len(ids["dev"]) == 10
    assert ids["train"] | ids["dev"] == {f"train{i}" for i in range(40)}
    assert not ids["train"] & ids["dev"]


@pytest.mark.realdata
@pytest.mark.parametrize(("corpus", "sizes"), [("cose_v1.0", (7110, 500, 950)), ("cose_v1.11", (9241, 500, 1221))])
def test_cose_is_tested_on_its_published_dev_set(corpus: str, sizes: tuple[int, int, int]) -> None:
    if not DATA.is_dir():
        pytest.skip("the published corpora are not here: set WHENCE_DATA to their folder")
    data = subject(corpus, "small", root=str(DATA)).data()
    assert tuple(len(data.load(split)) for split in ("train", "dev", "test")) == sizes
    assert all(example.explanations and example.label for example in data.load("test"))


def test_roars_part_has_rationales_and_the_stated_sizes() -> None:
    part = roar_part(toy(), Roar(train=7, dev=3, test=None))
    assert {split: len(examples) for split, examples in part.items()} == {"train": 7, "dev": 3, "test": 40}


def test_the_constant_control_learns_one_sentence() -> None:
    own, constant = (subject(constant=c).data() for c in (False, True))
    assert {e.explanations for e in constant.load("train", 50)} == {(SENTENCE,)}
    assert [e.texts for e in constant.load("test")] == [e.texts for e in own.load("test")]


def test_models_of_esnli_start_from_a_taught_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trainings of e-SNLI take hours: a change of what they are must be on purpose."""
    monkeypatch.setattr(Subject, "nli_encoder", lambda self: Trained(Path("/taught")))
    for variant in VARIANTS:
        job = subject("esnli", "small", variant=variant).job()
        assert json.loads(job.model_dump_json(exclude_defaults=True)) == {
            "task": "text2text", "data": "esnli", "model": "warm", "template": f"nli.{variant}",
            "options": {"encoder": "/taught/model"},
            "settings": {"options": {"token_cross_entropy": {"label_weight": 3.0}}, "epochs": 2, "learning_rate": 1e-4,
                         "decoder_learning_rate": 5e-4, "weight_decay": 0.01, "warmup": 0.085, "clip": 1.0, "generated": 2000},
        }  # fmt: skip
    assert subject("cose_v1.0", "small").job().options == {"encoder": "ENCODER"}
    with pytest.raises(BadInput, match="expected --set encoder=FOLDER"):
        subject("cose_v1.0", "small", settings=settings("small")).job()


@pytest.mark.parametrize("scale", ["smoke", "small", "full"])
def test_pieces_can_be_listed_without_data_or_models(scale: Any) -> None:
    """`whence plan study association`."""
    names = [piece.name for piece in list_pieces(STUDY, scale, data_root=Path("/nowhere"))]
    for corpus, task in settings(scale).corpora.items():
        assert {f"train-{corpus}-{variant}-seed0" for variant in VARIANTS} <= set(names)
        assert (f"roar-{corpus}-label-20" in names) == (task.roar is not None)


def test_the_papers_numbers_add_up() -> None:
    for corpus in PAPER["table_3"]:
        plain = PAPER["table_9"][corpus]["i-o"]
        assert PAPER["table_4"][corpus]["gold"] == pytest.approx(PAPER["table_5"][corpus]["ir-o"] - plain, abs=0.011)
        assert PAPER["table_5"][corpus]["difference"] == pytest.approx(
            PAPER["table_5"][corpus]["ir-o"] - PAPER["table_5"][corpus]["r-o"]
        )
        assert PAPER["table_9"][corpus]["difference"] == pytest.approx(PAPER["table_9"][corpus]["i-or"] - plain)
        assert PAPER["table_10"][corpus]["pipeline"] == PAPER["table_3"][corpus]["i-r"]


NOISE = {"examples": 6, "draws": 2, "levels": [0.0, 2.0, 64.0], "longest": 12}
TINY = {
    "options": {"hidden_size": 16, "layers": 1}, "shown": 2, "shown_noised": 1, "training": {"generated": None, "epochs": 1},
    "corpora": {
        "choices": {"templates": "cose", "train": 40, "dev": 6, "test": 12, "importance": 6, "joint_seeds": 2, "constant": True,
                    "noise": NOISE, "roar": {"train": 20, "dev": 4, "test": 6, "percents": [20], "methods": ["gradient_sum"]}},
        "scenes": {"templates": "nli", "train": 40, "dev": 6, "test": 12, "importance": 6, "longest": 20, "noise": NOISE},
    },
}  # fmt: skip


def test_the_whole_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(written, "LONGEST", 16)  # models that learned nothing do not stop by themselves
    results = run_study(STUDY, "smoke", tmp_path / "run", overrides=TINY, say=lambda _: None)
    assert {"table_3", "table_4", "table_5", "table_7", "table_9", "table_10", "both_tests", "roar",
            "generations", "noised_outputs", "trained"} <= set(results["tables"])  # fmt: skip
    for name in ("table_3", "table_4", "table_5", "table_9", "table_10"):
        rows = results["tables"][name]["rows"]
        assert {row["corpus"] for row in rows} == {"planted choices", "planted scenes"}
        assert all(row["low"] <= row["ours"] <= row["high"] for row in rows if row["low"] is not None)
    tests = results["tables"]["both_tests"]["rows"]
    assert [row["label and rationale"].split(",")[0] for row in tests if row["corpus"] == "planted choices"] == [
        "joint model", "joint model", "glued", "glued", "constant rationale",
    ]  # fmt: skip
    assert [row["label and rationale"] for row in tests if row["corpus"] == "planted scenes"] == [
        "joint model, seed 0", "glued, label of I→OR, rationale of I→R",
    ]  # fmt: skip
    shown = results["tables"]["noised_outputs"]["rows"]
    assert [row["level"] for row in shown] == ["0", "2", "64"] * 2
    assert shown[1]["σ²"] == pytest.approx(shown[2]["σ²"] / 32)
    roar = results["tables"]["roar"]["rows"]
    assert {(row["hidden words"], row["hidden %"]) for row in roar} == {
        ("none", 0), ("by a(X)_L", 20), ("by a(X)_R", 20), ("at random", 20), ("by gradient sum", 20)
    }  # fmt: skip
    figures = results["figures"]
    assert {"noise-labels-scenes", "noise-rationales-choices", "roar-accuracy-choices", "roar-quality-choices",
            "roar-methods-choices"} <= set(figures)  # fmt: skip
    assert "<extra_id_0>" in figures["roar-accuracy-choices"]["caption"]
    stable = figures["noise-labels-choices"]["data"]["series"][1]
    assert stable["x"] == [0, 2, 64]
    assert len(results["claims"]) >= 10
    # from the shards alone, without a training, the same is found again
    (tmp_path / "run" / "results.json").unlink()
    again = run_study(STUDY, "smoke", tmp_path / "run", overrides=TINY, say=lambda _: None)
    assert json.dumps(again["tables"]) == json.dumps(results["tables"])


def test_majority_is_that_of_training() -> None:
    corner = Corner(subject("choices"))
    corner.answers = [{**row, "id": e.id} for row, e in zip(answer_rows(30), corner.subject.data().load("test"), strict=False)]
    rows = {row["what"]: row["ours"] for row in table_9(Found([corner])).rows}
    assert rows["random"] == pytest.approx(100 / 3)
    assert 0 <= rows["majority"] <= 100
