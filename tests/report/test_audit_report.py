"""The report of an audit: one page that is safe, complete and needs no network; a verdict that says what the numbers say."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.report.audit_report import verdict, write_report
from whence.report.numbers import shown_gap
from whence.report.reading import Reading

HOSTILE = '<script>alert("x")</script> & "quoted" it\'s 👩‍🚀 שלום עולם \ud800 \u202eevil\x1b[31m ' + "Donaudampfschiff" * 12
METHODS = {  # title, forward, backward, quality (0 random … 1 best)
    "leave_one_out": ("Leave-one-out", 24.3, 0, 1.0),
    "kernel_shap": ("Kernel SHAP", 201, 0, 0.97),
    "lime": ("LIME", 201, 0, 0.8),
    "integrated_gradients": ("Integrated gradients", 50, 50, 0.75),
    "input_x_gradient": ("Input × gradient", 1, 1, 0.35),
    "gradient_l2": ("Gradient (L2)", 1, 1, 0.5),
    "gradient_sum": ("Gradient (sum)", 1, 1, -0.15),
    "attention": ("Attention", 1, 0, 0.05),
    "random": ("Random", 0, 0, 0.0),
}
MEASURES = {  # title, direction, random, best
    "decision_flip": ("Decision flip", "lower", 0.66, 0.31),
    "comprehensiveness": ("Comprehensiveness", "higher", 0.11, 0.46),
    "sufficiency": ("Sufficiency", "lower", 0.38, 0.09),
    "loo_tau": ("Leave-one-out τ", "higher", 0.0, 1.0),
    "token_f1": ("Token F1", "higher", 0.21, 0.44),
    "auprc": ("AUPRC", "higher", 0.30, 0.61),
    "stability": ("Stability", "higher", 0.0, 1.0),
}
FAMILY = {"token_f1": "plausibility", "auprc": "plausibility", "stability": "repeatability"}


def audit_results(
    quality: dict[str, float] | None = None, measures: tuple[str, ...] = tuple(MEASURES), examples: int = 500
) -> dict[str, Any]:
    """Results as an audit writes them. A method's quality says where it lies between random and the best on every measure."""
    quality = {name: given[3] for name, given in METHODS.items()} | (quality or {})
    table = []
    for measure in measures:
        _, direction, random, top = MEASURES[measure]
        values = {m: random + q * (top - random) for m, q in quality.items()}
        if measure == "loo_tau":
            values = {m: v if m == "leave_one_out" else v * 0.6 for m, v in values.items()}
        best = (max if direction == "higher" else min)(values, key=lambda m: values[m])
        half = abs(top - random) * 0.07

        def against(
            m: str, other: str, values: dict[str, float] = values, half: float = half, reach: float = abs(top - random)
        ) -> dict[str, float] | None:
            if m == other:
                return None
            gap = values[m] - values[other]
            return {"difference": gap, "low": gap - half, "high": gap + half, "p": 0.0005 if abs(gap) > 0.1 * reach else 0.4}

        table += [
            {
                "method": m,
                "measure": measure,
                "value": v,
                "low": v - half,
                "high": v + half,
                "n": examples,
                "excluded": 7 * (measure == "loo_tau"),
                "vs_random": against(m, "random"),
                "vs_best": against(m, best),
                "best": m == best,
            }
            for m, v in values.items()
        ]
    for row in table:  # an audit compares nobody on stability
        if row["measure"] == "stability":
            row |= {"vs_random": None, "vs_best": None, "best": False}
    share = [round(0.05 * i, 2) for i in range(21)]
    draw = np.random.default_rng(0)
    names = list(METHODS)
    square = [
        [None if i == j else round(float(quality[a] * quality[b]), 2) for j, b in enumerate(names)] for i, a in enumerate(names)
    ]
    return {
        "audit": {
            "model": "reviews-bert",
            "fingerprint": "a41f09c2b7d3",
            "data": "reviews.csv",
            "split": "test",
            "examples": examples,
            "task": "text",
            "labels": ["negative", "positive"],
            "hide": "mask",
            "seed": 13,
            "accuracy": 0.914,
            "texts_cut": 12,
            "words_unread": 340,
            "max_tokens": 256,
        },
        "methods": {
            name: {
                "title": title,
                "about": "What the probability loses when the word is hidden.",
                "paper": "Li et al. 2016",
                "cost": "1 + words forward",
                "parameters": {"samples": 200} if forward > 100 else {},
                "stochastic": forward > 100 or name == "random",
                "passes": {"forward": forward, "backward": backward},
                "notes": {"completeness_error": 0.0123} if name == "integrated_gradients" else {},
            }
            for name, (title, forward, backward, _) in METHODS.items()
        },
        "measures": {
            name: {
                "title": MEASURES[name][0],
                "about": "What the measure asks.",
                "paper": "DeYoung et al. 2020",
                "direction": MEASURES[name][1],
                "low": -1.0,
                "high": 1.0,
                "chance": "the random row",
                "family": FAMILY.get(name, "faithfulness"),
                "unit": "share" if name == "decision_flip" else "number",
                "favours": "leave_one_out" if name == "loo_tau" else "",
            }
            for name in measures
        },
        "table": table,
        "curves": {
            m: {"share": share, "probability": [0.5 + 0.43 * (1 - s) ** (1.2 + 5 * max(q, -0.1)) for s in share]}
            for m, q in quality.items()
        },
        "agreement": {"methods": names, "kendall": square, "top_k_overlap": square},
        "examples": [_example(f"row-{i}", "typical" if i < 2 else "worst", i == 3, draw) for i in range(4)],
        "notes": ["Attention rollout left out: BertForSequenceClassification does not offer its attention"],
        "versions": {"python": "3.11.9", "whence": "0.1.0", "torch": "2.13.0", "transformers": "5.0.0"},
    }


def _example(name: str, why: str, hostile: bool, draw: np.random.Generator) -> dict[str, Any]:
    text = HOSTILE if hostile else "A film that is warm, quietly funny and, for all its faults, impossible to dislike."
    spans = [[match.start(), match.end()] for match in re.finditer(r"\S+", text)]
    return {
        "id": name,
        "why": why,
        "label": "positive",
        "predicted": "negative" if hostile else "positive",
        "probability": 0.9312,
        "texts": {"text": text},
        "spans": {"text": spans},
        "scores": {m: draw.normal(size=len(spans)).round(4).tolist() for m in METHODS},
        "highlights": {"text": spans[3:6]},
        "unseen_words": 3 if hostile else 0,
    }


class Seen(HTMLParser):
    """What a browser would find: tags, attributes and the text outside of the style sheet."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] != ["style"]:
            self.text += data


def page_of(results: dict[str, Any], folder: Path) -> tuple[str, Seen]:
    path = folder / "out" / "report.html"
    write_report(results, path)
    page = path.read_bytes().decode("utf-8")  # raises where it is not valid UTF-8
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    seen = Seen()
    seen.feed(page)
    return page, seen


def test_page_is_safe_from_hostile_text_everywhere(tmp_path: Path) -> None:
    results = audit_results()
    results["audit"] |= {
        "model": HOSTILE,
        "data": HOSTILE,
        "labels": [HOSTILE],
        "split": '"><img src=x onerror=alert(1)>',
        "extra": {"a": HOSTILE},
    }
    results["notes"] = [HOSTILE]
    results["versions"] = {HOSTILE: HOSTILE}
    results["examples"][0] |= {"id": HOSTILE, "label": HOSTILE, "predicted": HOSTILE}
    for table in (results["methods"]["lime"], results["measures"]["decision_flip"]):
        table |= {"title": "<script>T</script>" + HOSTILE, "about": HOSTILE, "paper": HOSTILE}
    results["methods"]["lime"] |= {"cost": HOSTILE, "parameters": {HOSTILE: HOSTILE}}
    page, seen = page_of(results, tmp_path)
    assert not {"script", "img", "link", "iframe", "object", "base", "form"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "href", "xlink:href", "action")]
    assert not re.search("[\ud800-\udfff\u202e\x1b]", page)
    assert "alert(" in seen.text  # it is still readable, as text


def test_page_needs_no_network_and_says_so_to_the_browser(tmp_path: Path) -> None:
    page, _ = page_of(audit_results(), tmp_path)
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_page_names_every_method_measure_and_setting(tmp_path: Path) -> None:
    results = audit_results()
    _, seen = page_of(results, tmp_path)
    for thing in (*results["methods"].values(), *results["measures"].values()):
        assert thing["title"] in seen.text
    for fact in (
        "reviews-bert",
        "a41f09c2b7d3",
        "reviews.csv",
        "mask token",
        "256 tokens",
        "340",
        "91.4",
        "2.13.0",
        "Attention rollout left out",
        "completeness error 0.0123",
    ):
        assert fact in seen.text, fact
    assert all(sentence in seen.text for sentence in verdict(results))
    assert seen.tags.count("svg") == 4 + len(METHODS)
    assert seen.tags.count("article") == 4


@pytest.mark.parametrize("strip", ["curves", "agreement", "examples", "notes", "versions"])
def test_page_of_an_audit_that_has_not_everything(tmp_path: Path, strip: str) -> None:
    results = audit_results(measures=("comprehensiveness",))
    del results[strip]
    results["audit"] |= {"accuracy": None, "max_tokens": None, "texts_cut": 0, "words_unread": 0}
    results["table"] = [row for row in results["table"] if row["method"] != "lime"]
    results["table"][2] |= {"value": None, "low": None, "high": None, "vs_random": None, "vs_best": None}
    _, seen = page_of(json.loads(json.dumps(results)), tmp_path)
    assert "Use Leave-one-out" in seen.text


def test_verdict_is_one_recommendation_of_three_sentences_with_its_price() -> None:
    first, *rest = verdict(audit_results())
    assert first == (
        "Use Leave-one-out. It beats random on all three faithfulness measures, and no method is measurably better on any. "
        "It costs 24 forward passes per text."
    )
    assert rest == [
        "12 texts of 500 are longer than the model reads (256 tokens): 340 words never reached it, and no number here is about "
        "them."
    ]


def test_no_verdict_contradicts_itself() -> None:
    """One recommendation, however the qualities lie; no other method is to be preferred, and no count reads oddly."""
    draw = np.random.default_rng(0)
    names = [name for name in METHODS if name != "random"]
    for _ in range(60):
        chosen = draw.choice(names, size=int(draw.integers(1, len(names) + 1)), replace=False).tolist()
        results = audit_results({n: float(draw.uniform(-0.5, 1.2)) for n in names}, examples=int(draw.integers(1, 500)))
        results["methods"] = {n: facts for n, facts in results["methods"].items() if n in (*chosen, "random")}
        results["table"] = [row for row in results["table"] if row["method"] in results["methods"]]
        first = verdict(results)[0]
        assert first.count(". ") <= 2
        titles = [METHODS[n][0] for n in names if METHODS[n][0] in first]
        assert len(titles) <= 1 or all(title in titles[-1] or titles[-1] in title for title in titles)
        assert not re.search(r"prefer|none of 1 |of the one|all one|1 methods|\b0 of|\+0\.00", first), first


def test_price_of_gradients_names_both_kinds_of_pass() -> None:
    first = verdict(audit_results({"integrated_gradients": 3.0, "leave_one_out": 0.1, "kernel_shap": 0.1}))[0]
    assert first.endswith("It costs 50 forward and 50 backward passes per text.")


def test_small_differences_are_not_shown_as_none() -> None:
    gap = {"difference": 0.0004, "low": 0.0001, "high": 0.0012, "p": 0.01}
    assert shown_gap({"unit": "number"}, gap).startswith("difference +0.0004, 95\u202f% interval 0.0001 to 0.001")
    assert shown_gap({"unit": "share"}, gap).startswith("difference +0.04 points")
    assert shown_gap({"unit": "number"}, {**gap, "difference": 0.25}).startswith("difference +0.25")


def test_one_method_that_fails_is_named() -> None:
    results = audit_results(dict.fromkeys(METHODS, 0.0), ("decision_flip", "sufficiency"), examples=40)
    results["methods"] = {n: results["methods"][n] for n in ("attention", "random")}
    results["table"] = [row for row in results["table"] if row["method"] in results["methods"]]
    assert verdict(results)[0].startswith("Do not show Attention. On 40 examples it does not beat random on any")


def test_accuracy_far_below_chance_asks_for_the_order_of_labels() -> None:
    results = audit_results()
    results["audit"]["accuracy"] = 0.06
    told = [text for text in verdict(results) if "another order than the labels" in text]
    assert told
    assert "right on only 6\u202f% of the examples, far below chance (50\u202f%)" in told[0]
    results["audit"]["accuracy"] = 0.45
    assert not [text for text in verdict(results) if "another order than the labels" in text]


@pytest.mark.parametrize("best", [True, False])
def test_the_key_says_bold_only_where_something_is_bold(tmp_path: Path, best: bool) -> None:
    results = audit_results()
    for row in results["table"]:
        row["best"] = row["best"] and best
    page, _ = page_of(results, tmp_path)
    assert ("best of its column" in page) == best


def test_the_verdict_and_the_report_name_no_measure() -> None:
    """A measure from outside the package is judged by what it says of itself."""
    results = audit_results(measures=("comprehensiveness",))
    results["measures"]["mine"] = {**results["measures"].pop("comprehensiveness"), "title": "My measure", "favours": "lime"}
    results["table"] = [{**row, "measure": "mine"} for row in results["table"]]
    reading = Reading(results)
    assert reading.faithfulness == ["mine"]
    assert "lime" not in reading.judged("mine")
    assert verdict(results)[0].startswith("Use Leave-one-out. It beats random on my measure, the only faithfulness measure.")


def test_explanations_made_elsewhere_are_not_taken_for_cheap() -> None:
    results = audit_results({"kernel_shap": 1.0})
    results["methods"]["kernel_shap"] |= {"passes": {"forward": 0, "backward": 0}, "cost": "unknown"}
    assert Reading(results).recommended == "leave_one_out"
    alone = audit_results(dict.fromkeys(METHODS, 0.0) | {"kernel_shap": 1.0})
    alone["methods"]["kernel_shap"] |= {"passes": {"forward": 0, "backward": 0}, "cost": "unknown"}
    assert verdict(alone)[0].endswith("Its cost is not known.")


def test_verdict_on_too_few_examples_neither_praises_nor_condemns() -> None:
    first = verdict(audit_results(dict.fromkeys(METHODS, 0.0), ("decision_flip",), examples=4))[0]
    assert first.startswith("Too few to tell: with 4 examples,")


def test_verdict_where_nothing_beats_random() -> None:
    results = audit_results(
        dict.fromkeys(METHODS, 0.0) | {"gradient_sum": -0.5}, ("decision_flip", "sufficiency", "token_f1"), examples=40
    )
    first, *rest = verdict(results)
    assert first.startswith(
        "Show none of these explanations. On 40 examples no method beats random on any faithfulness measure"
    )
    assert "Only 40 examples: intervals are wide, and a real difference can be missed." in rest


def test_faithfulness_alone_decides() -> None:
    results = audit_results()
    for row in results["table"]:  # attention pleases people and is stable, and is no better than random for the model
        if row["method"] == "attention" and row["measure"] in ("token_f1", "auprc", "stability"):
            row |= {
                "value": 0.99,
                "best": True,
                "vs_best": None,
                "vs_random": {"difference": 0.7, "low": 0.6, "high": 0.8, "p": 0.0005},
            }
    assert Reading(results).recommended == "leave_one_out"
    assert (
        verdict(audit_results(measures=("token_f1", "stability")))[0]
        == "No faithfulness measure was run, so no explanation can be recommended."
    )


def test_level_methods_go_by_passes() -> None:
    results = audit_results({"gradient_l2": 0.98})
    assert Reading(results).recommended == "gradient_l2"  # 2 passes; level with leave-one-out on all measures
    results["methods"]["leave_one_out"]["passes"] = {"forward": 1, "backward": 0}
    assert Reading(results).recommended == "leave_one_out"


def test_leave_one_out_gains_nothing_from_its_own_measure() -> None:
    results = audit_results({"leave_one_out": 0.0})
    for row in results["table"]:
        if row["measure"] == "loo_tau" and row["method"] == "leave_one_out":
            row |= {
                "value": 1.0,
                "low": 1.0,
                "high": 1.0,
                "best": True,
                "vs_best": None,
                "vs_random": {"difference": 1.0, "low": 1.0, "high": 1.0, "p": 0.0005},
            }
    assert verdict(results)[0].startswith("Use Kernel SHAP. ")


def test_a_recommended_method_that_fails_somewhere_is_not_praised_only() -> None:
    results = audit_results()
    for row in results["table"]:
        if row["measure"] == "sufficiency" and row["method"] != "random":
            row["vs_random"] = {"difference": 0.2, "low": 0.1, "high": 0.3, "p": 0.0005}
    first, *rest = verdict(results)
    assert ", but it is worse than random on sufficiency. It costs" in first
    assert "Every method is worse than random on sufficiency: do not rely on that measure here." in rest


def test_pairs_and_labels_unknown(tmp_path: Path) -> None:
    results = audit_results()
    results["audit"] |= {"task": "pair", "accuracy": None}
    pair = {"texts": {"premise": "a b", "hypothesis": "c"}, "spans": {"premise": [[0, 1], [2, 3]], "hypothesis": [[0, 1]]}}
    results["examples"] = [
        results["examples"][0] | pair | {"label": None, "highlights": {}, "scores": {"lime": [1.0, 0.0, -0.5]}}
    ]
    page, seen = page_of(results, tmp_path)
    assert '<span title="+1.0000" class="for" style="--s:1.00">a</span>' in page
    assert '<span title="-0.5000" class="against" style="--s:0.50">c</span>' in page
    assert "premise: " in seen.text
    assert "labelled" not in seen.text
