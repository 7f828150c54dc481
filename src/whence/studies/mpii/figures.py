"""The paper's figures as data: the prediction while the explanation is written (4), similarity to people's explanations (5)."""

from typing import Any

import numpy as np

from whence.run.engine import Rows
from whence.studies.kit.corpora import TITLES
from whence.studies.mpii.found import Found
from whence.studies.mpii.models import title
from whence.studies.mpii.tables import moved
from whence.studies.study import Figure

BINS = 20
SHOWN = ("sim", "critic", "backward", "bart_sim", "bart_critic")


def figures(found: Found) -> list[Figure]:
    drawn = []
    for corpus, task in found.settings.corpora.items():
        row = next((row for row in SHOWN if (corpus, row) in found.written), None)
        if row is not None:
            most = sorted(found.written[corpus, row][0], key=lambda one: -sum(one["moves"]))[: task.shown]
            drawn += [_evolution(corpus, row, one, i) for i, one in enumerate(most, 1)]
        drawn += [_shares(found, corpus), _similarity(found, corpus)]
    return drawn


def _evolution(corpus: str, row: str, one: dict[str, Any], number: int) -> Figure:
    states = np.array(one["states"]).reshape(-1, len(one["names"]))
    places = list(range(len(states)))
    series = [{"title": name, "x": places, "y": states[:, k].tolist()} for k, name in enumerate(one["names"])]
    data = {
        "x_label": "", "y_label": "probability of the label", "series": series,
        "ticks": ["(before)", *(token.strip() for token in one["tokens"])], "marked": [False, *map(bool, one["deciding"])],
    }  # fmt: skip
    caption = (
        f"{title(row)}, {TITLES[corpus]}: {one['input']} Right: {one['label']}. The label's distribution before the "
        "explanation and after each token of it was read; words that decide are bold. Shown are the test examples in which it "
        "moves most."
    )
    return Figure(f"figure4-{corpus}-{number}", f"Figure 4: the prediction while the explanation is written, {TITLES[corpus]}",
                  caption, "curves", data)  # fmt: skip


def _shares(found: Found, corpus: str) -> Figure:
    shares = {row: moved(found.written[corpus, row]) for row in found.rows(corpus)}
    there = {row: share for row, share in shares.items() if share is not None}
    series = [
        {"title": "on deciding words", "values": [s.share.value for s in there.values()],
         "low": [s.share.low for s in there.values()], "high": [s.share.high for s in there.values()]},
        {"title": "at random places", "values": [s.chance for s in there.values()]},
    ]  # fmt: skip
    data = {"groups": [title(row) for row in there], "series": series, "y_label": "share of the label's movement"}
    caption = "Intervals resample texts. Models whose label does not read the explanation do not move, and are not shown."
    return Figure(f"movement-{corpus}", f"When the label moves, {TITLES[corpus]}", caption, "bars", data)


def _similarity(found: Found, corpus: str) -> Figure:
    edges = np.linspace(0, 1, BINS + 1)
    centres, series = ((edges[:-1] + edges[1:]) / 2).tolist(), []
    for row in found.rows(corpus):
        series.append({"title": title(row), "x": centres, "y": _histogram(found.written[corpus, row], edges)})
    caption = (
        "Cosine of the mean word vectors of a written explanation and people's first one: share of test examples, all seeds. "
        f"Vectors: {found.settings.vectors or 'latent semantic analysis of the training explanations'}."
    )
    data = {"x_label": "cosine similarity", "y_label": "share of explanations", "series": series}
    return Figure(
        f"figure5-{corpus}", f"Figure 5: similarity to people's explanations, {TITLES[corpus]}", caption, "curves", data
    )


def _histogram(runs: list[Rows], edges: np.ndarray) -> list[float]:
    found = np.array([one["cosine"] for rows in runs for one in rows if one["cosine"] is not None])
    counts = np.histogram(np.clip(found, 0, 1), edges)[0]
    return (counts / max(1, len(found))).tolist()
