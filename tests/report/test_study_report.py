"""The report of a study: safe, complete, self-contained; the paper's numbers beside ours; the same data, the same bytes."""

import copy
import math
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from whence.report.plots import PLOTS, draw
from whence.report.study_report import compared, places, write_study_report

HOSTILE = '<script>alert("x")</script> & $\\frac{1$ "quoted" שלום \ud800 \u202eevil\x1b[31m'
WAVE = [0.3 + 0.2 * math.sin(i) for i in range(40)]


def figures(text: str = "seed") -> dict[str, dict[str, Any]]:
    """One of each kind, with `text` wherever a text goes, and null where a number is missing."""
    curve = [
        {"lambda": 1e-3, "tvd": 0.1, "jsd": 0.4, "tvd_low": 0.05, "tvd_high": 0.15},
        {"lambda": 0.1, "tvd": None, "jsd": 0.2},
    ]
    marks = [{"kind": kind, "label": text, "tvd": 0.05, "jsd": 0.1} for kind in ("seed", "uniform", "adversary", "practised")]
    violins = [{"bin": b, "class": c, "values": WAVE} for b in ("0–0.25", text) for c in ("negative", "positive")]
    few = [
        {"bin": "0.75–1", "class": "negative", "values": [0.1, None, 0.2]},
        {"bin": text, "class": "positive", "values": [0.1] * 9},
    ]
    series = {"title": text, "values": [0.5, None], "low": [0.4, None], "high": [0.6, None]}
    line = {"title": text, "x": [0, 1, 2], "y": [1.0, 0.5, None], "low": [0.9, 0.4, None], "high": [1, 0.6, None]}
    return {
        "violins": {"panels": [{"title": text, "violins": several} for several in (violins, few, [])], "y_label": text},
        "tradeoff": {"panels": [{"title": text, "curve": curve, "marks": marks}, {"title": "none", "curve": [], "marks": []}]},
        "bars": {"groups": [text, "b"], "series": [series, {"title": "other", "values": [1, 2]}], "y_label": text},
        "curves": {"x_label": text, "y_label": text, "series": [line, {"title": "b", "x": [], "y": [], "dashed": True}]},
        "heatmaps": {"rows": [{"title": text, "words": ["fine", text], "weights": [0.9, 0.1]}], "gold": [True, False]},
        "svg": {"svg": '<svg viewBox="0 0 1 1"><rect width="1" height="1"/></svg>'},
    }  # fmt: skip


def study_results(text: str = "A text.") -> dict[str, Any]:
    rows = [
        {"corpus": text, "ours": 0.82, "low": 0.80, "high": 0.84, "paper": 0.831, "n": 1725},
        {"corpus": "imdb", "ours": 0.85, "low": 0.84, "high": 0.86, "paper": 0.90, "n": 4000},
        {"corpus": "diabetes", "ours": None, "low": None, "high": None, "paper": 0.79, "n": 0},
    ]
    return {
        "study": "toy", "title": text, "paper": text, "about": text, "scale": "small", "seed": 3,
        "settings": {"seeds": 2, "names": [text], "rate": 1e-3}, "reduced": {"seeds": {"here": 2, "full": 8}},
        "tables": {"f1": {"title": text, "caption": text, "columns": [*rows[0]], "rows": rows}},
        "figures": {k: {"title": text, "caption": text, "kind": k, "data": data} for k, data in figures(text).items()},
        "claims": [
            {"text": text, "verdict": "holds", "evidence": text, "earlier": [{"rule": text, "verdict": "undecided"}]},
            {"text": "Another.", "verdict": "does not hold", "evidence": "0.1 < 0.2.", "earlier": []},
            {"text": "A third.", "verdict": "undecided", "evidence": "−0.1 to 0.2.", "earlier": []},
        ],
        "notes": [text], "artefacts": [text], "pieces": {"a": 70.0, "b": 7200.0}, "seconds": 7270.0, "versions": {"torch": "1"},
    }  # fmt: skip


class Page(HTMLParser):
    """Tags and visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def written(results: dict[str, Any], path: Path) -> str:
    write_study_report(results, path)
    return path.read_text(encoding="utf-8")


def test_hostile_text_stays_text_and_nothing_is_fetched(tmp_path: Path) -> None:
    html = written(study_results(HOSTILE), tmp_path / "report.html")
    page = Page(html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert '<script>alert("x")</script>' in page.text  # shown as it is, not run
    assert not re.search("[\x1b\u202e]", html)
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    assert written(study_results(), tmp_path / "a.html") == written(copy.deepcopy(study_results()), tmp_path / "b.html")


def test_claims_reduction_and_cost_are_said_in_words(tmp_path: Path) -> None:
    text = " ".join(Page(written(study_results(), tmp_path / "report.html")).text.split())
    text = re.sub(r"(hold|Holds|Undecided)(?=[A-Z])", r"\1 ", text)
    assert "1 of 3 claims hold here; 1 is undecided: the interval of the difference includes the bound." in text
    assert "✗ Does not hold Another. 0.1 < 0.2." in text
    assert "? Undecided A third. −0.1 to 0.2." in text
    assert "By an earlier rule (A text.): undecided." in text
    assert "Beside this page: A text.." in text
    assert "Different from the full study: 1 setting" in text
    assert "2.0 h of work in 2 pieces" in text


def test_a_table_shows_our_number_its_interval_the_papers_and_the_difference() -> None:
    table = compared(study_results()["tables"]["f1"])
    assert [column["title"] for column in table["columns"]] == ["Corpus", "Ours", "Paper", "Difference", "N"]
    cells = [[(cell["text"], cell["below"]) for cell in row] for row in table["rows"]]
    assert cells[0][1:] == [("0.820", "0.800 – 0.840"), ("0.831", ""), ("−0.011", "paper in interval"), ("1,725", "")]
    assert cells[1][3] == ("−0.050", "")
    assert cells[2][1:] == [("–", ""), ("0.790", ""), ("–", ""), ("0", "")]


def test_empty_columns_go_and_tiny_p_values_stay_short() -> None:
    rows = [{"corpus": "a", "sd": None, "ours": 0.5, "p": 1e-9, "n": 3}, {"corpus": "b", "ours": 0.25, "p": 0.0421, "n": 4}]
    table = compared({"title": "t", "caption": "c", "columns": ["corpus", "sd", "ours", "p", "n"], "rows": rows})
    assert [column["title"] for column in table["columns"]] == ["Corpus", "Ours", "P", "N"]
    assert [[cell["text"] for cell in row] for row in table["rows"]] == [
        ["a", "0.500", "< 0.001", "3"],
        ["b", "0.250", "0.042", "4"],
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2000], 0), ([0.5, 1.25], 3), ([84.2, 1], 2), ([1234.5], 1), ([0.5, 0.0001], None), ([None, "a"], 0), ([0.0, 0.3], 3)],
)  # fmt: skip
def test_decimals_suit_a_column(values: list[Any], expected: int | None) -> None:
    assert places(values) == expected


@pytest.mark.parametrize("kind", PLOTS)
def test_every_kind_is_drawn_in_the_pages_ink_with_a_text(kind: str) -> None:
    for _, picture in draw(kind, figures(HOSTILE if kind != "svg" else "")[kind], "A title"):
        if kind in ("heatmaps", "svg"):
            assert "<script" not in picture
            continue
        root = ElementTree.fromstring(str(picture).replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1))
        assert root.attrib["aria-label"].startswith("A title")
        assert "#0102" not in picture, "a colour that stands for a variable of the page was left"
        assert "currentColor" in picture


def test_what_a_picture_shows_is_said() -> None:
    given = figures()
    assert "0–0.25, negative: median" in draw("violins", given["violins"], "JSD")[0][1]
    assert "0.75–1, negative: median 0.150 of 2" in draw("violins", given["violins"], "JSD")[1][1]
    assert "λ 0.001: TVD 0.100, JSD 0.400; seed: TVD 0.050" in draw("tradeoff", given["tradeoff"], "T")[0][1]
    assert "b, other: 2" in draw("bars", given["bars"], "B")[0][1]
    assert "<u>fine</u>" in draw("heatmaps", given["heatmaps"], "H")[0][1]
    with pytest.raises(ValueError, match="unknown kind 'pie', expected one of violins"):
        draw("pie", {}, "P")


def test_long_tables_are_folded_and_stay_whole(tmp_path: Path) -> None:
    results = study_results()
    row = results["tables"]["f1"]["rows"][0]
    for count, folded in ((50, False), (51, True)):
        results["tables"]["f1"]["rows"] = [row] * count
        write_study_report(results, tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert (f"<summary>{count} rows</summary>" in page) is folded
        assert page.count("0.820") == count
        assert page.count("<details") == page.count("</details>")


def test_sentences_in_a_table_wrap_and_numbers_do_not(tmp_path: Path) -> None:
    """Else what a model wrote stands beyond the edge of the page."""
    results = study_results()
    rows = [{"corpus": "toy", "explanation": "A dog is an animal that is not a cat.", "ours": 0.5}]
    results["tables"] = {"shown": {"title": "t", "caption": "c", "columns": [*rows[0]], "rows": rows}}
    page = Page(written(results, tmp_path / "report.html"))
    classes = [attributes.get("class") for tag, attributes in page.tags if tag == "td"]
    kinds = [kind for kind in classes if kind in ("text", "number")]
    assert kinds == ["text", "number"]
    assert ".matrix .text .value { white-space: normal; }" in (tmp_path / "report.html").read_text()
