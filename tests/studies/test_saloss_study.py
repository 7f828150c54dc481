"""The study of salience: it runs from end to end at toy size, resumes, and reduces rows rightly."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score

from whence.data import Corpus, Example
from whence.report.study_report import write_study_report
from whence.run import RunFolder, Runner
from whence.run.engine import LocalEngine
from whence.studies.kit.differences import by_text
from whence.studies.registry import find_study
from whence.studies.saloss.claims import claims
from whence.studies.saloss.found import ATTRIBUTIONS, PAPER, Found, Work
from whence.studies.saloss.models import BASE, RELEASED_BASE, TEXTRANK, recipe
from whence.studies.saloss.pieces import by_prior, explained, prior_of
from whence.studies.saloss.settings import settings
from whence.studies.saloss.tables import table_2
from whence.studies.study import Context, run_study

ONLY = "reviews"
TOY: dict[str, Any] = {
    "architecture": {"hidden_size": 16}, "train": {ONLY: 60}, "dev": {ONLY: 10}, "test": {ONLY: 30}, "epochs": {ONLY: 1},
    "seeds": {ONLY: 2}, "weights": [0.1, 0.01], "weight": {}, "select_on": 4, "stronger": [1.0],
    "released": {ONLY: 8}, "curve_on": 4,
    "curves": {ONLY: ["textrank_filtered", "leave_one_out"], "sst": ["textrank"]}, "curve_weights": [0.1], "share_on": 2,
    "priors": {ONLY: ["planted", "chi2"]}, "erased": {ONLY: 4}, "erased_others": {ONLY: 3}, "ig_steps": 2,
    "fresh": {ONLY: ["topk", "contiguous"]}, "fresh_epochs": 1, "fresh_seeds": 1,
    "shown": {ONLY: 1, "sst": 1},  # sst is not in the run, here and in the curves
}  # fmt: skip


def read_rows(file: Path) -> list[dict[str, Any]]:
    return pq.read_table(file).to_pylist()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


def test_runs_and_resumes(tmp_path: Path) -> None:
    study = find_study("saloss")
    out = tmp_path / "run"
    first = run_study(study, "smoke", out, overrides=TOY, say=lambda _: None)
    assert {
        "table1",
        "table2",
        "table3",
        "table7",
        "table8",
        "variants",
        "selection",
        "prior",
        "recovery",
        "curves",
        "null",
        "shares",
        "table5",
        "table6",
    } <= set(first["tables"])
    cells = {(row["model"], row["attribution"]) for row in first["tables"]["table2"]["rows"]}
    assert cells == {
        (model, attribution)
        for model in ("baseline", "SaLoss, TextRank")
        for attribution in ("Attention α", "α∇α", "Input × gradient", "Integrated gradients", "Random")
    }
    for table in first["tables"].values():
        for row in table["rows"]:
            assert set(row) >= set(table["columns"]) - {"paper", "p", "sd"}
            assert row.get("low") is None or row["low"] <= row["ours"] <= row["high"]
    chosen = [row for row in first["tables"]["selection"]["rows"] if row["chosen"] == "yes"]
    eligible = [row for row in first["tables"]["selection"]["rows"] if row["chosen"] != "not eligible"]
    assert [row["weight λ"] for row in chosen] == [min(eligible, key=lambda row: (row["ours"], row["weight λ"]))["weight λ"]]
    assert [row["weight λ"] for row in first["tables"]["selection"]["rows"] if row["chosen"] == "not eligible"] == [1.0]
    curve = {row["prior"]: row for row in first["tables"]["curves"]["rows"]}
    assert {"none: the baseline", "TextRank without stop words", "baseline's leave-one-out"} == set(curve)
    assert all(0 < row["share before"] < 1 and row["seeds"] == 2 for row in curve.values() if row["weight λ"])
    assert len(first["tables"]["null"]["rows"]) == 5  # one pair of baselines, five attributions
    released = {row["model"] for row in first["tables"]["variants"]["rows"]}
    assert {"SaLoss as released", "baseline as released"} <= released
    assert {row["ours"] for row in first["tables"]["table5"]["rows"]} >= {60, 10, 30}
    beside = [row for row in first["tables"]["table2"]["rows"] if row["attribution"] == "Random"]
    assert {row["of random"] for row in beside} == {1.0}
    assert "curves-reviews" in first["figures"]
    orders = [row["words hidden in the order of"] for row in first["tables"]["prior"]["rows"]]
    assert orders == ["α of the baseline", "TextRank itself", "true reason itself", "χ² itself", "random"]
    texts = {kind: {row["id"] for file in (out / "shards").glob(f"flip-test-reviews-{kind}*") for row in read_rows(file)}
             for kind in ("none", "planted", "released")}  # fmt: skip
    assert len(texts["none"]) == 4
    assert len(texts["planted"]) == len(texts["released"]) == 3
    assert texts["planted"] | texts["released"] < texts["none"]  # what is tried on fewer is compared on texts that all have
    for file in [*(out / "shards").glob("train-*"), *(out / "shards").glob("fresh-*")]:  # labels belong to the scores
        [row] = read_rows(file)
        assert f1_score(row["labels"], row["predicted"], average="macro") == pytest.approx(row["macro_f1"])
    few = {row["texts"]: row["baseline"] for row in first["tables"]["table8"]["rows"] if row["attribution"] == "Attention α"}
    [all_texts] = [row["ours"] for row in first["tables"]["table2"]["rows"]
                   if row["attribution"] == "Attention α" and row["model"] == "baseline"]  # fmt: skip
    runs = [read_rows(out / "shards" / "flip-test-reviews-none-seed0.parquet")]  # other priors have one seed
    assert few == pytest.approx(
        {
            4: all_texts,
            3: np.mean([v for text, v in by_text(runs, "flip", method="attention").items() if text in texts["planted"]]),
        }
    )
    shown = read_rows(out / "shards" / "shown-reviews.parquet")  # one text, right by all models, whether they differ or not
    assert [row["model"] for row in shown] == ["baseline", "SaLoss", "SaLoss, λ = 1"]
    assert all(sum(row["chosen"]) == np.ceil(0.2 * len(row["words"])) for row in shown)
    assert "table4-reviews-1" in first["figures"]
    write_study_report(first, out / "report.html")
    assert "Table 2: decision flip" in (out / "report.html").read_text()
    # lost: the end, and some pieces on the way; models are in the cache
    (out / "results.json").unlink()
    for name in ("flip-test-reviews-none-seed0", "train-reviews-planted-0.1-seed0", "fresh-topk-reviews-random-seed0"):
        for file in (out / "shards").glob(f"{name}*.parquet"):
            file.unlink()
    again = run_study(study, "smoke", out, overrides=TOY, say=lambda _: None)
    assert {k: again[k] for k in ("tables", "figures", "claims")} == {k: first[k] for k in ("tables", "figures", "claims")}


@pytest.mark.parametrize("scale", ["smoke", "small", "full"])
def test_settings_fit_together(scale: Any) -> None:
    given = settings(scale)
    for corpus in given.corpora:
        made = recipe(given, corpus, None, 0)
        assert made.job().settings.select == "loss"
        assert corpus in given.erased
        assert corpus in given.weight or given.weights
    for corpus in {*given.priors, *given.released}:
        assert corpus in given.erased_others
    for by_corpus in (given.fresh, given.tagged, given.shown, given.priors):
        assert set(by_corpus) <= set(given.corpora)
    assert set(given.fresh) | set(given.shown) <= set(given.ratio)
    names = {
        recipe(given, c, None, s, prior=p, weight=0.1).name
        for c in given.corpora
        for s in (0, 1)
        for p in ("textrank", "uniform")
    }
    assert len(names) == 4 * len(given.corpora)


def test_released_recipe_is_the_released_loss() -> None:
    made = recipe(settings("small"), "sst", None, 0, prior="textrank", weight=1e-3, variant="released").job().settings
    assert made.objective == {"cross_entropy_on_probabilities": 1.0, "saloss": 1e-3}
    assert made.options == {"saloss": {"prior": "textrank", "variant": "released"}}


@pytest.mark.parametrize("scale", ["small", "full"])
def test_the_released_variant_has_its_own_batch_size_and_baseline(scale: Any, tmp_path: Path) -> None:
    """Its loss is a squared sum over the batch, published with batches of 8 and 4."""
    own = settings(scale)
    context = Context(own, scale, 0, None, lambda _: None, RunFolder(tmp_path / "run", {}), LocalEngine())
    work = Work(context)
    work.found.weight = {"sst": 1e-2}
    models = work.recipes("sst")
    kinds = {kind: recipes for (_, kind), recipes in models.items() if kind.variant == "released"}
    assert [kind.title for kind in kinds] == ["baseline as released", "SaLoss as released"]
    [[base], [with_it]] = kinds.values()
    assert base.batch_size == with_it.batch_size == 8
    assert base.job().settings.objective == {"cross_entropy_on_probabilities": 1.0}
    assert with_it.weight == 1e-3
    assert {kind.base for kind in kinds} == {RELEASED_BASE}, "what it is compared with"


def test_a_model_that_gives_every_text_one_label_decides_no_claim() -> None:
    found = Found(settings("small").model_copy(update={"corpora": ["sst", "multirc"], "fresh": {}, "priors": {}}))
    for corpus, flip, predicted in (("sst", 0.5, [0, 1]), ("multirc", 1.0, [1, 1])):
        for kind in (BASE, TEXTRANK):
            found.trained[corpus, kind] = [{"macro_f1": 0.9, "labels": [0, 1], "predicted": predicted, "train": 2}]
            gain = flip / 4 if (corpus, kind) == ("sst", TEXTRANK) else 0.0
            found.flips[corpus, kind] = [[
                {"id": str(i), "method": m, "flip": flip - gain + 0.01 * (m != "attention") + 0.001 * i * (corpus == "sst")}
                for m in ATTRIBUTIONS for i in range(20)
            ]]  # fmt: skip
    same, fewer, best = claims(found)
    assert [claim.verdict for claim in (same, fewer, best)] == ["holds"] * 3
    assert "Lower in 4 of 4 cells" in fewer.evidence
    assert all("Left out" in c.evidence and c.evidence.endswith("MultiRC.") for c in (same, fewer, best))
    assert table_2(found).caption.endswith("the same label: MultiRC.")
    found.trained["sst", BASE][0]["predicted"] = [1, 1]
    assert {claim.verdict for claim in claims(found)} == {"undecided"}  # nothing is left that could decide


def test_a_prior_ranks_words_without_the_model(bert: Any) -> None:
    """The planted words share the whole of their prior; the label is the model's own."""
    text = "a dull, dull film that I liked"
    marked = Example("x", {"text": text}, bert.labels[0], highlights=({"text": ((2, 6), (24, 29))},))
    encoded = bert.encode([marked])
    corpus = Corpus("one", "classification", bert.labels, {"train": lambda: iter([marked])}, "one text")
    [found] = by_prior(Runner(bert), encoded, "planted", prior_of(bert, encoded, "planted", corpus), "delete")
    [predicted] = explained(Runner(bert), encoded, "random", "delete")
    assert found.method == "planted"
    assert found.target == predicted.target
    scores = np.array(found.scores)
    assert np.array_equal(scores > 0, marked.highlighted_words("text"))
    assert scores.sum() == pytest.approx(1)


def test_a_query_is_neither_scored_nor_hidden(bert: Any) -> None:
    from tiny import pairs

    [encoded] = bert.encode(pairs()[:1])
    alone = encoded.only(0)
    assert not alone.seen[alone.word_fields == 1].any()
    assert alone.seen[alone.word_fields == 0].all()
    nothing = np.zeros(alone.word_count, dtype=bool)
    kept = alone.tokens_of(nothing)
    assert kept[alone.field == 1].all()
    assert not kept[alone.field == 0].any()


def test_the_papers_numbers_are_complete() -> None:
    flips, fresh = PAPER["flips"], PAPER["fresh"]
    assert flips["textrank"]["attention"]["sst"] == 0.42
    assert flips["none"]["attention"]["sst"] == 0.55
    assert all(set(flips[prior]) >= set(ATTRIBUTIONS) for prior in ("none", "textrank", "chi2", "tfidf"))
    assert set(fresh) == {"topk", "contiguous"}
    assert all(set(by_prior) == {"none", "textrank", "uniform"} for by_prior in fresh.values())
