"""The study's figures as data: violins (Figure 3), TVD against JSD (Figures 5 and 6), attention on one text (Figure 2)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from whence.run.engine import Rows
from whence.studies.attention.found import Corner, Found
from whence.studies.kit.tables import caption
from whence.studies.study import Figure

BINS = ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")


def figures(found: Found) -> list[Figure]:
    return [_how_far(found), *_tradeoffs(found), *_heatmaps(found)]


def _how_far(found: Found) -> Figure:
    """Each violin: test texts whose largest base attention lies in the bin, by predicted class; bars mark medians. JSD is at
    most ln 2. Seeds: median over seeds for each text, as in the released script."""
    panels = []
    for corner in found.corners:
        *seeds, _ = corner.rows["seeds"]
        [searched] = corner.rows["search"]
        measured = [(f"{len(seeds)} other seeds", seeds[0], np.median([row["jsd"] for row in seeds], axis=0))] if seeds else []
        measured += [("per-instance adversary", searched, searched["jsd"])]
        labels = list(dict.fromkeys(corner.subject.open().labels))
        panels += [{"title": f"{corner.title}: {what}", "violins": _violins(row, jsd, labels)} for what, row, jsd in measured]
    data = {"panels": panels, "y_label": "JSD from base", "x_label": "largest base attention"}
    return Figure("figure3", "Figure 3: how far attention moves", caption(_how_far, found=found), "violins", data)


def _violins(row: dict[str, Any], values: Any, labels: list[str]) -> list[dict[str, Any]]:
    bins = np.minimum((np.array(row["max_attention"]) * len(BINS)).astype(int), len(BINS) - 1)
    predicted, values = np.array(row["predicted"]), np.array(values)
    return [
        {"bin": name, "class": label, "values": values[(bins == b) & (predicted == c)].round(4).tolist()}
        for b, name in enumerate(BINS) for c, label in enumerate(labels)
    ]  # fmt: skip


def _tradeoffs(found: Found) -> list[Figure]:
    """Means over test texts. Line: adversaries over λ (printed), mean over seeds; ▲ other seeds, ■ uniform attention, +
    per-instance adversary, ◆ adversaries that practised on cut texts, too (one for each seed)."""
    whole = [_tradeoff(c, None) for c in found.corners if c.own.lambdas]
    by_class = [_tradeoff(c, label) for c in found.corners if c.own.lambdas for label in c.subject.open().labels]
    named = (("figure5", "Figure 5: how much prediction does a change of attention cost?", whole),
             ("figure6", "Figure 6: the same by gold label", by_class))  # fmt: skip
    about = caption(_tradeoffs, found=found)
    return [Figure(name, title, about, "tradeoff", {"panels": panels}) for name, title, panels in named if panels]


def _tradeoff(corner: Corner, label: str | None) -> dict[str, Any]:
    def means(rows: Rows) -> dict[str, float]:
        chosen = [label is None or gold == label for gold in rows[0]["label"]]
        return {name: float(np.mean([np.mean(np.array(row[name])[chosen]) for row in rows])) for name in ("tvd", "jsd")}

    curve = [{"lambda": at, **means(corner.against_base("adversary", at))} for at in corner.own.lambdas]
    *seeds, uniform = corner.rows["seeds"]
    marks = [("seed", "other seeds", row) for row in seeds]
    marks += [("uniform", "uniform", uniform), ("adversary", "per-instance adversary", corner.rows["search"][0])]
    if corner.own.cuts:
        practised = corner.against_base("adversary-cuts", corner.subject.settings.cuts_lambda)
        marks += [("practised", "adversary on cut texts, too", row) for row in practised]
    return {
        "title": corner.title if label is None else f"{corner.title}: {label}", "curve": curve,
        "marks": [{"kind": kind, "label": name, **means([row])} for kind, name, row in marks],
    }  # fmt: skip


def _heatmaps(found: Found) -> Iterator[Figure]:
    titles = {"base": "base model", "search": "per-instance adversary (Jain & Wallace)", "adversary": "trained adversary"}
    for i, corner in enumerate(c for c in found.corners if "picture" in c.rows):
        rows = corner.rows["picture"]
        about = f"A test text ({rows[0]['label']}) that all three predict rightly and within 0.05 of each other."
        shown = [{"title": titles[row["role"]], "words": row["words"], "weights": row["weights"]} for row in rows]
        yield Figure(f"figure2-{i}", f"Figure 2: one text of {corner.title}, three attentions", about, "heatmaps",
                     {"rows": shown, "gold": rows[0]["gold"]})  # fmt: skip
