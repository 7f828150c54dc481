"""The kit: estimates against scipy and scikit-learn, verdicts by their definition, sheets are in test_alignment_study.py."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ranksums, ttest_ind
from sklearn.metrics import f1_score

from whence.data import word_spans
from whence.measure.statistics import Estimate
from whence.studies.kit.corpora import corpus_size, opened, spread
from whence.studies.kit.differences import ByText, by_text, f1_of, f1_row, f1_test, macro_f1, score_difference, seed_difference
from whence.studies.kit.estimates import band, difference, interval, share, shown, signed
from whence.studies.kit.paper import published, read_paper
from whence.studies.kit.sheets import answers_by
from whence.studies.kit.tables import TableRows, corner_table, table
from whence.studies.kit.verdicts import FAILS, HOLDS, UNDECIDED, above, at_least, below, claim, every, higher, most


@dataclass
class Found:
    said: dict[str, str]
    corpora: list[str]


def test_interval_is_students() -> None:
    values = [0.80, 0.82, 0.84]
    found = interval(values)
    assert found["ours"] == pytest.approx(0.82)
    half = 4.302653 * np.std(values, ddof=1) / 3**0.5
    assert found["high"] == pytest.approx(0.82 + half, abs=1e-6)
    assert interval([0.5]) == {"ours": 0.5, "low": None, "high": None}
    assert shown(values) == "0.820 (0.800 to 0.840)"
    assert shown([]) == "not run"


def test_values_are_means_over_runs_of_each_text() -> None:
    one = [
        {"id": "a", "method": "m", "flip": 0.2},
        {"id": "b", "method": "m", "flip": 1.0},
        {"id": "a", "method": "x", "flip": 9},
        {"id": "c", "method": "m"},
    ]
    two = [{"id": "a", "method": "m", "flip": 0.4}, {"id": "b", "method": "m", "flip": 0.0}]
    assert by_text([one, two], "flip", method="m") == pytest.approx({"a": 0.3, "b": 0.5})
    assert by_text([two], "flip") == {"a": 0.4, "b": 0.0}


def test_comparisons_are_on_common_texts() -> None:
    draw = np.random.default_rng(0)
    ours, base = draw.random(30), draw.random(40) + 0.3
    one, other = (ByText({str(i): float(v) for i, v in enumerate(values)}) for values in (ours, base))
    assert one.rank_sum(other) == pytest.approx(ranksums(ours, base[:30]).pvalue)
    assert np.array_equal(one.beside(other)[1], base[:30])
    assert one.mean == one.row()["ours"] == pytest.approx(ours.mean())
    found = one.minus(other, 2.0)
    gaps = ours - 2 * base[:30]
    assert found.value == pytest.approx(gaps.mean())
    half = 1.96 * gaps.std(ddof=1) / 30**0.5
    assert (found.low, found.high) == pytest.approx((gaps.mean() - half, gaps.mean() + half), abs=0.03)


def test_t_test_needs_runs_that_differ() -> None:
    def p(ours: list[float], theirs: list[float]) -> float | None:
        return f1_test(*([{"macro_f1": f1} for f1 in several] for several in (ours, theirs)))

    assert p([0.9], [0.8, 0.7]) is None
    assert p([0.9, 0.9], [0.9, 0.9]) is None
    ours, theirs = [0.9, 0.91, 0.92], [0.5, 0.52, 0.51]
    assert p(ours, theirs) == pytest.approx(ttest_ind(ours, theirs).pvalue)


def runs(seeds: int, right: float, seed: int = 0) -> list[dict[str, list[int]]]:
    """Predictions of 400 texts with three labels, right with this probability."""
    gold = np.random.default_rng(9).integers(0, 3, 400)
    draw = np.random.default_rng(seed)
    several = [np.where(draw.random(400) < right, gold, draw.integers(0, 3, 400)) for _ in range(seeds)]
    return [{"labels": gold.tolist(), "predicted": one.tolist(), "macro_f1": 0.0} for one in several]


def test_f1_is_scikit_learns() -> None:
    [run] = runs(1, 0.6)
    gold, predicted = np.array(run["labels"]), np.array(run["predicted"])
    assert float(macro_f1(gold, predicted)) == pytest.approx(f1_score(gold, predicted, average="macro"))
    assert float(f1_of(2)(gold, predicted)) == pytest.approx(f1_score(gold, predicted, labels=[2], average="macro"))
    both = macro_f1(np.stack([gold, gold]), np.stack([predicted, gold]))
    assert both == pytest.approx([f1_score(gold, predicted, average="macro"), 1.0])
    assert f1_row(runs(2, 0.6))["ours"] == pytest.approx(
        np.mean([f1_score(r["labels"], r["predicted"], average="macro") for r in runs(2, 0.6)])
    )


def test_a_difference_of_scores_is_paired_and_widens_with_seeds_that_disagree() -> None:
    good, bad = runs(3, 0.8), runs(3, 0.5, seed=1)
    found = score_difference(good, bad)
    expected = np.mean([f1_score(g["labels"], g["predicted"], average="macro") for g in good]) - np.mean(
        [f1_score(b["labels"], b["predicted"], average="macro") for b in bad]
    )
    assert found.value == pytest.approx(expected)
    assert found.low < expected < found.high
    assert above(found) == HOLDS
    same = score_difference(good, good)
    assert (same.value, same.low, same.high) == (0, 0, 0)  # not two independent intervals
    mixed = [good[0], bad[1], good[2]]
    one_seed, three = score_difference(good[:1], bad[:1]), score_difference(mixed, bad)
    assert three.high - three.low > one_seed.high - one_seed.low
    assert signed(Estimate(-0.0123, -0.02, 0.01)) == "−0.012 (−0.020 to +0.010)"


def test_a_difference_of_texts_and_seeds_is_paired_by_both() -> None:
    draw = np.random.default_rng(0)
    texts, seeds = draw.normal(0.5, 0.3, 200), draw.normal(0, 0.2, (4, 1))
    base = texts + seeds + draw.normal(0, 0.01, (4, 200))

    def runs_of(values: np.ndarray) -> list[list[dict[str, Any]]]:
        return [[{"id": str(i), "flip": v, "method": "m"} for i, v in enumerate(run)] for run in values]

    found = seed_difference(runs_of(base - 0.05), runs_of(base), "flip", method="m")
    assert (found.value, found.low, found.high) == pytest.approx((-0.05, -0.05, -0.05))  # neither texts nor seeds add noise
    shifts = np.array([-0.3, -0.1, 0.1, 0.1])[:, None]
    found = seed_difference(runs_of(base + shifts), runs_of(base), "flip", method="m")
    assert found.value == pytest.approx(-0.05)
    half = 1.96 * shifts.std() / 2  # the deviation of a mean of four that are drawn with replacement
    assert (found.low, found.high) == pytest.approx((-0.05 - half, -0.05 + half), abs=0.05)
    assert below(found) == UNDECIDED


def test_a_verdict_is_undecided_where_the_interval_holds_the_bound() -> None:
    assert [above(Estimate(0.1, low, high)) for low, high in ((0.01, 0.2), (-0.01, 0.2), (-0.2, -0.01))] == [
        HOLDS, UNDECIDED, FAILS,
    ]  # fmt: skip
    assert [below(Estimate(0.1, 0.0, 0.2), bound) for bound in (0.3, 0.1, -0.1)] == [HOLDS, UNDECIDED, FAILS]
    assert every([HOLDS, HOLDS]) == HOLDS
    assert every([HOLDS, UNDECIDED]) == every([]) == UNDECIDED
    assert every([UNDECIDED, FAILS]) == FAILS
    assert at_least([HOLDS, UNDECIDED, FAILS], 1) == HOLDS
    assert at_least([HOLDS, UNDECIDED, FAILS], 2) == UNDECIDED
    assert at_least([HOLDS, UNDECIDED, FAILS], 3) == FAILS


def test_a_part_of_a_corpus_is_read_once_and_spread_evenly() -> None:
    part = opened("reviews", None, 20, 5, 7)
    assert part is opened("reviews", None, 20, 5, 7)
    assert [len(part.load(split)) for split in ("train", "dev", "test")] == [20, 5, 7]
    size = corpus_size(part, "dev")
    assert sum(size["counts"]) == 5
    assert size["length"] == np.mean([len(word_spans(e.texts["text"])) for e in part.load("dev")])
    assert spread(list(range(10)), 4) == [0, 3, 6, 9]
    assert spread(list(range(3)), 4) == [0, 1, 2]


UNIT = "per cent"


@table("table9", "Table 9: {as it is}", "corpus, ours, paper")
def table_9(found: Found) -> TableRows:
    """F1 in {UNIT} of {found.said[models]}
    on {found.corpora[0]}."""
    for corpus in found.corpora:
        yield {"corpus": corpus, "ours": 1.0, "paper": published({"sst": {"f1": 2.0}}, corpus, "f1")}


def test_a_table_is_its_generator_and_its_docstring_the_caption() -> None:
    made = table_9(Found(said={"models": "{braces} of a user"}, corpora=["sst", "imdb"]))
    assert (made.name, made.title, made.columns) == ("table9", "Table 9: {as it is}", ["corpus", "ours", "paper"])
    assert made.caption == "F1 in per cent of {braces} of a user on sst."
    assert [row["paper"] for row in made.rows] == [2.0, None]
    assert published({}, "imdb", "f1") is None


@dataclass
class Corner:
    title: str
    value: float


@dataclass
class Cornered:
    corners: list[Corner]
    others: list[Corner]
    unit: str = "points"


def test_a_table_by_corners_has_their_corpus_in_front_and_a_caption_that_knows_all() -> None:
    def rows(corner: Corner) -> TableRows:
        """In {found.unit}."""
        yield {"ours": corner.value}

    found = Cornered([Corner("SST", 1.0), Corner("IMDb", 2.0)], [Corner("HANS", 3.0)])
    made = corner_table("t", "T", "corpus, ours")(rows)(found)
    assert [list(row.items()) for row in made.rows] == [[("corpus", "SST"), ("ours", 1.0)], [("corpus", "IMDb"), ("ours", 2.0)]]
    assert (made.caption, made.columns) == ("In points.", ["corpus", "ours"])
    assert corner_table("t", "T", "corpus, ours", of="others")(rows)(found).rows == [{"corpus": "HANS", "ours": 3.0}]


def test_a_table_may_take_the_columns_that_its_rows_have() -> None:
    def rows(found: None) -> TableRows:
        """Two."""
        yield {"model": "a", "SST": 1.0}
        yield {"model": "b", "SST": 1.0, "HANS": 2.0}

    assert table("t", "T", "")(rows)(None).columns == ["model", "SST", "HANS"]


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], dict[str, Any]]:
    """A package with this paper.toml, as it is read."""
    monkeypatch.syspath_prepend(tmp_path)

    def read(package: str, text: str) -> dict[str, Any]:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "paper.toml").write_text(text, encoding="utf-8")
        return read_paper(package)

    return read


def test_a_papers_numbers_are_read_as_printed(papers: Callable[[str, str], dict[str, Any]]) -> None:
    found = papers("printed_paper", """
        [plain]
        columns = ["train", "f1"]
        "20 Newsgroups" = [716, 0.942]
        SST = [3034, "–"]
        [below]
        columns = [["hans", "esnli"], ["aorc", "fidelity"]]
        [below.da]
        arec = [1.0, 2.0, 3.0, 4.0]
        [by_number]
        columns = ["f1"]
        SST = [[0.0, 0.5], [1e-3, 0.6]]
    """)  # fmt: skip
    assert found["plain"] == {"20 Newsgroups": {"train": 716, "f1": 0.942}, "SST": {"train": 3034}}
    assert isinstance(found["plain"]["SST"]["train"], int), "a count is shown as one"
    assert found["below"] == {"da": {"arec": {"hans": {"aorc": 1.0, "fidelity": 2.0}, "esnli": {"aorc": 3.0, "fidelity": 4.0}}}}
    assert found["by_number"] == {"SST": {0.0: {"f1": 0.5}, 0.001: {"f1": 0.6}}}
    assert published(found, "below", "da", "arec", "esnli", "aorc") == 3.0
    assert published(found, "plain", "SST", "f1") is None


@pytest.mark.parametrize("columns", ['["train", "f1"]', '[["hans", "esnli"], ["aorc"]]'])
def test_a_row_of_a_paper_that_lacks_a_number_is_an_error(
    papers: Callable[[str, str], dict[str, Any]], columns: str, request: pytest.FixtureRequest
) -> None:
    package = f"short_paper_{request.node.callspec.indices['columns']}"
    with pytest.raises(ValueError, match="shorter"):
        papers(package, f"[table]\ncolumns = {columns}\nSST = [1]")


def test_rows_as_bands_and_differences_beside_other_numbers() -> None:
    rows = [{"ours": 1.0, "low": 0.5, "high": 2.0}, {"ours": 3.0, "low": None, "high": None}]
    assert band(rows, "y") == {"y": [1.0, 3.0], "low": [0.5, None], "high": [2.0, None]}
    assert difference("− base", Estimate(0.1, -0.1, 0.3)) == {"− base": 0.1, "from": -0.1, "to": 0.3}


def test_answers_by_parts_of_what_was_judged() -> None:
    def of(number: str, model: str) -> tuple[tuple[str, str], ...]:
        return ("id", number), ("model", model)

    answers = {of("1", "da"): ["4"], of("2", "da"): ["5", "1"], of("1", "esim"): ["2"]}
    assert answers_by(answers, "model") == {("da",): ["4", "5", "1"], ("esim",): ["2"]}


def test_verdicts_of_several_and_of_two_rows() -> None:
    assert [most([HOLDS] * n + [FAILS] * (4 - n)) for n in (2, 3)] == [FAILS, HOLDS]
    assert most([]) == UNDECIDED
    rows = [{"low": low, "high": low + 1.0} for low in (0.0, 0.5, 2.0)]
    assert [higher(rows[2], rows[0]), higher(rows[0], rows[2]), higher(rows[1], rows[0])] == [HOLDS, FAILS, UNDECIDED]
    made = claim("text", HOLDS, "numbers", {"the means": False})
    assert [(one.rule, one.verdict) for one in made.earlier] == [("the means", FAILS)]


def test_a_share_has_wilsons_interval() -> None:
    """By the formula: centre (k + z²/2) / (n + z²), half-width z / (n + z²) · √(k (n − k) / n + z²/4)."""
    found, z = share([1.0] * 9 + [0.0]), 1.959964
    centre, half = (9 + z**2 / 2) / (10 + z**2), z / (10 + z**2) * (9 * 1 / 10 + z**2 / 4) ** 0.5
    assert (found.value, found.low, found.high) == pytest.approx((0.9, centre - half, centre + half), abs=1e-6)
