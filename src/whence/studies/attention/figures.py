"""The study's figures as data: violins (Figure 3), TVD against JSD (Figures 5 and 6), attention on one text (Figure 2)."""

from typing import Any

import numpy as np

from whence.studies.attention.found import Corner
from whence.studies.study import Figure

BINS = ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")


def violins(corners: list[Corner]) -> Figure:
    """JSD from the base model's attention, by its largest weight: other seeds (median over them), per-instance search."""
    panels = []
    for corner in corners:
        seeds = corner.rows["seeds"][:-1]
        labels = list(dict.fromkeys(corner.subject.open().labels))
        if seeds:
            median = np.median([row["jsd"] for row in seeds], axis=0)
            panels.append({"title": f"{corner.title}: {len(seeds)} other seeds", "violins": _violins(seeds[0], median, labels)})
        [searched] = corner.rows["search"]
        panels.append(
            {"title": f"{corner.title}: per-instance adversary", "violins": _violins(searched, searched["jsd"], labels)}
        )
    caption = (
        "Each violin: test texts whose largest base attention lies in the bin, by predicted class; bars mark medians. JSD is "
        "at most ln 2. Seeds: median over seeds for each text, as in the released script."
    )
    data = {"panels": panels, "y_label": "JSD from base", "x_label": "largest base attention"}
    return Figure("figure3", "Figure 3: how far attention moves", caption, "violins", data)


def _violins(row: dict[str, Any], values: Any, labels: list[str]) -> list[dict[str, Any]]:
    bins = np.minimum((np.array(row["max_attention"]) * len(BINS)).astype(int), len(BINS) - 1)
    predicted, values = np.array(row["predicted"]), np.array(values)
    return [
        {"bin": name, "class": label, "values": values[(bins == b) & (predicted == c)].round(4).tolist()}
        for b, name in enumerate(BINS) for c, label in enumerate(labels)
    ]  # fmt: skip


def tradeoffs(corners: list[Corner]) -> list[Figure]:
    """Figure 5 over all test texts, Figure 6 for each class."""
    about = (
        "Means over test texts. Line: adversaries over λ (printed), mean over seeds; ▲ other seeds, ■ uniform attention, "
        "+ per-instance adversary, ◆ adversaries that practised on cut texts, too (one for each seed)."
    )
    whole = [_tradeoff(c, None) for c in corners if c.plan.lambdas]
    by_class = [_tradeoff(c, label) for c in corners if c.plan.lambdas for label in c.subject.open().labels]
    named = (("figure5", "Figure 5: how much prediction does a change of attention cost?", whole),
             ("figure6", "Figure 6: the same by gold label", by_class))  # fmt: skip
    return [Figure(name, title, about, "tradeoff", {"panels": panels}) for name, title, panels in named if panels]


def _tradeoff(corner: Corner, label: str | None) -> dict[str, Any]:
    def means(row: dict[str, Any]) -> tuple[float, float]:
        chosen = [label is None or gold == label for gold in row["label"]]
        tvd, jsd = (float(np.mean(np.array(row[name])[chosen])) for name in ("tvd", "jsd"))
        return tvd, jsd

    curve = []
    for strength in corner.plan.lambdas:
        tvd, jsd = np.mean([means(row) for row in corner.against_base("adversary", strength)], axis=0)
        curve.append({"lambda": strength, "tvd": float(tvd), "jsd": float(jsd)})
    *seeds, uniform = corner.rows["seeds"]
    marked = [("seed", "other seeds", row) for row in seeds]
    marked += [("uniform", "uniform", uniform), ("adversary", "per-instance adversary", corner.rows["search"][0])]
    if corner.plan.cuts:
        practised = corner.against_base("adversary-cuts", corner.subject.settings.cuts_lambda)
        marked += [("practised", "adversary on cut texts, too", row) for row in practised]
    marks = []
    for kind, name, row in marked:
        tvd, jsd = means(row)
        marks.append({"kind": kind, "label": name, "tvd": tvd, "jsd": jsd})
    return {"title": corner.title if label is None else f"{corner.title}: {label}", "curve": curve, "marks": marks}


def heatmaps(corners: list[Corner]) -> list[Figure]:
    titles = {"base": "base model", "search": "per-instance adversary (Jain & Wallace)", "adversary": "trained adversary"}
    found = []
    for i, corner in enumerate(c for c in corners if "picture" in c.rows):
        rows = corner.rows["picture"]
        data = {"rows": [{"title": titles[row["role"]], "words": row["words"], "weights": row["weights"]} for row in rows],
                "gold": rows[0]["gold"]}  # fmt: skip
        caption = f"A test text ({rows[0]['label']}) that all three predict rightly and within 0.05 of each other."
        found.append(
            Figure(f"figure2-{i}", f"Figure 2: one text of {corner.title}, three attentions", caption, "heatmaps", data)
        )
    return found
