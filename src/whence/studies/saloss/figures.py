"""The paper's figures as data: importance by part of speech (Figure 1), rationales of single texts (its Table 4)."""

import math

from whence.studies.kit.corpora import TITLES
from whence.studies.kit.differences import by_text
from whence.studies.kit.estimates import band
from whence.studies.saloss.found import Found
from whence.studies.saloss.models import BASE, PRIORS, Kind
from whence.studies.study import Figure


def figures(found: Found) -> list[Figure]:
    drawn = [_curve_figure(found, corpus) for corpus in found.curved()]
    drawn += [_tag_figure(found, corpus) for corpus in found.tags]
    for corpus, rows in found.shown.items():
        texts = dict.fromkeys(row["id"] for row in rows)
        drawn += [_text_figure(found, corpus, text, i) for i, text in enumerate(texts)]
    return drawn


def _curve_figure(found: Found, corpus: str) -> Figure:
    """Decision flip of α over λ for each prior; the dashed line is the baseline."""
    weights, series = found.settings.curve_weights, []
    for prior in ("none", *found.settings.curves[corpus]):
        kinds = [BASE] * len(weights) if prior == "none" else [Kind(prior, weight) for weight in weights]
        rows = [by_text(found.curves[corpus, kind], "flip", method="attention").row() for kind in kinds]
        x = [math.log10(weight) for weight in weights]
        series.append({"title": PRIORS.get(prior, "baseline"), "x": x, "dashed": prior == "none", **band(rows, "y")})
    data = {"x_label": "log₁₀ λ", "y_label": "decision flip of α", "series": series}
    caption = f"Mean over seeds on {found.settings.curve_on} test texts, lower is better; bands: 95 % over texts."
    return Figure(f"curves-{corpus}", f"Decision flip of α over λ, {TITLES[corpus]}", caption, "curves", data)


def _tag_figure(found: Found, corpus: str) -> Figure:
    rows = found.tags[corpus]
    models = dict.fromkeys(row["model"] for row in rows)
    series = [{"title": model, **band([row for row in rows if row["model"] == model], "values")} for model in models]
    counts = {row["tag"]: row["words"] for row in rows}
    caption = (
        f"Mean importance of a word by α∇α, 1 = the mean of its text, on {found.settings.tagged[corpus]} test texts of "
        f"{TITLES[corpus]}; number of words behind each tag. Intervals resample texts; first seed of each model."
    )
    data = {"groups": [f"{tag} ({n})" for tag, n in counts.items()], "series": series, "y_label": "importance"}
    return Figure(f"figure1-{corpus}", f"Figure 1: importance by part of speech, {TITLES[corpus]}", caption, "bars", data)


def _text_figure(found: Found, corpus: str, text: str, number: int) -> Figure:
    rows = [row for row in found.shown[corpus] if row["id"] == text]
    shown = [{"title": row["model"], "words": row["words"], "weights": row["chosen"]} for row in rows]
    same = "" if any(row["chosen"] != rows[0]["chosen"] for row in rows) else " and choose the same words"
    caption = (
        f"{TITLES[corpus]}, {text}, {rows[0]['label']}: the contiguous rationale of {found.settings.ratio[corpus]:.0%} by α∇α; "
        f"all models are right{same}. Texts on which they choose other words come first."
    )
    name = f"table4-{corpus}-{number + 1}"
    return Figure(name, f"Table 4: rationales, {TITLES[corpus]}", caption, "heatmaps", {"rows": shown, "gold": None})
