"""Figures 4, 5 and 7 to 12 as data: curves under noise, curves of ROAR, and the words of one example."""

from collections.abc import Callable
from typing import Any

import numpy as np

from whence.measure.robustness import word_f1
from whence.run.engine import Rows
from whence.studies.association.found import NOTHING_HIDDEN, RANKINGS, Corner
from whence.studies.association.settings import Roar
from whence.studies.association.tables import POINTS, hidden_by, quality_gain, right
from whence.studies.kit.estimates import Row, band, estimate
from whence.studies.study import Figure

LABELS_OF = {"cose_v1.0": "Figure 4", "esnli": "Figure 8, left", "cose_v1.11": "Figure 8, right"}
RATIONALES_OF = {"cose_v1.0": "Figure 5", "cose_v1.11": "Figure 5", "esnli": "Figure 9"}
ROAR_OF = {"cose_v1.0": "Figure 7", "esnli": "Figure 12, left", "cose_v1.11": "Figure 12, right"}


def figures(corners: list[Corner]) -> list[Figure]:
    found = []
    for corner in corners:
        found += [labels_under_noise(corner), rationales_under_noise(corner)]
        if corner.roar:
            found += roar_curves(corner)
        found += words_of_one(corner)
    return found


def labels_under_noise(corner: Corner) -> Figure:
    levels = corner.noised["joint 0"]
    clean = {r["id"]: r["label"] for r in levels[0]}

    def stable(rows: Rows) -> np.ndarray:
        return np.array([float(r["label"] is not None and r["label"] == clean[r["id"]]) for r in rows])

    series = [
        _series("label accuracy of I→OR", levels, lambda rows: right(rows, "label", "gold")),
        _series("labels that stay", levels, stable),
    ]
    title = f"{LABELS_OF.get(corner.name, 'Figures 4 and 8')}: labels under noise, {corner.title}"
    data = {"x_label": _noise_title(corner), "y_label": "%", "series": series}
    return Figure(f"noise-labels-{corner.name}", title, _about(corner), "curves", data)


def rationales_under_noise(corner: Corner) -> Figure:
    levels = corner.noised["joint 0"]
    clean = {r["id"]: r["rationale"] for r in levels[0]}
    plain = {r["id"]: r["i-o"] for r in corner.answers}

    known = [[{**r, "i-o": plain[r["id"]]} for r in rows if r["id"] in plain] for rows in levels]

    def alike(rows: Rows) -> np.ndarray:
        return np.array([word_f1(clean[r["id"]], r["rationale"]) for r in rows])

    series = [
        _series("rationale quality", known, lambda rows: quality_gain(rows, "ir-o", "gold")),
        _series("words kept (F1, %)", levels, alike),
    ]
    title = f"{RATIONALES_OF.get(corner.name, 'Figures 5 and 9')}: rationales under noise, {corner.title}"
    about = f"{_about(corner)} Quality: IR→O reads the noised rationale and the plain input, less I→O. It need not fall: IR→O \
ignores a rationale that has become unusable. Read it up to its lowest point."
    data = {"x_label": _noise_title(corner), "y_label": "points, %", "series": series}
    return Figure(f"noise-rationales-{corner.name}", title, about, "curves", data)


def _series(title: str, levels: list[Rows], values: Callable[[Rows], np.ndarray]) -> dict[str, Any]:
    """One point for each level; the band resamples examples, of each the mean over draws."""
    points = [estimate(_by_example(rows, values(rows)), scale=POINTS) for rows in levels]
    return _curve(title, [rows[0]["level"] for rows in levels], points)


def _curve(title: str, x: list[float], points: list[Row], dashed: bool = False) -> dict[str, Any]:
    return {"title": title, "x": x, **band(points, "y"), "dashed": dashed}


def _by_example(rows: Rows, values: np.ndarray) -> list[float]:
    found: dict[str, list[float]] = {}
    for r, value in zip(rows, values, strict=True):
        found.setdefault(r["id"], []).append(float(value))
    return [float(np.mean(several)) for several in found.values()]


def _noise_title(corner: Corner) -> str:
    return "σ²" if corner.task.noise.absolute else "σ² in units of the word table's variance"


def _about(corner: Corner) -> str:
    first, own = corner.noised["joint 0"], corner.task.noise
    absolute = ", ".join(f"{rows[0]['noise']:.3g}" for rows in first)
    return (
        f"{len(first[0])} test examples, {own.draws} draws of noise on the encoder's input embeddings. σ² itself: {absolute}."
    )


def roar_curves(corner: Corner) -> list[Figure]:
    title = ROAR_OF.get(corner.name, "Figures 7 and 12")
    own = corner.task.roar
    assert own is not None
    measures: dict[str, tuple[str, Callable[[Rows], np.ndarray]]] = {
        "accuracy": ("label accuracy of I→OR, %", lambda rows: right(rows, "label", "gold")),
        "quality": ("rationale quality, points", lambda rows: quality_gain(rows, "ir-o", "gold")),
    }
    kinds: list[tuple[str, tuple[str, ...], str]] = [
        (name, RANKINGS, f"{title}: {measure[0].split(',')[0]} after retraining, {corner.title}")
        for name, measure in measures.items()
    ]
    if own.methods:
        other = f"Figure 11: rankings of words by other gradients, {corner.title}"
        kinds.append(("accuracy", ("label", *own.methods, "random"), other))
    found = []
    for name, rankings, heading in kinds:
        y_label, values = measures[name]
        series = []
        for by in rankings:
            places = [NOTHING_HIDDEN, *((by, percent) for percent in own.percents)]
            points = [estimate(values(corner.roar[place]), scale=POINTS) for place in places]
            series.append(_curve(f"hidden {hidden_by(by)}", [place[1] for place in places], points, by == "random"))
        data = {"x_label": "hidden words, %", "y_label": y_label, "series": series}
        figure = f"roar-{'methods' if rankings != RANKINGS else name}-{corner.name}"
        found.append(Figure(figure, heading, _occlusion(corner, own), "curves", data))
    return found


def _occlusion(corner: Corner, own: Roar) -> str:
    learned = "all" if own.train is None else str(own.train)
    [shown, *_] = corner.roar[RANKINGS[0], own.percents[-1]]
    return (
        f"I→OR retrained on {learned} occluded texts and tested on occluded texts. IR→O and I→O are as they were and see whole "
        f"inputs. A test text, {own.percents[-1]:g} % hidden {hidden_by(RANKINGS[0])}: “{shown['source']}”"
    )


def words_of_one(corner: Corner) -> list[Figure]:
    """Figure 10: the first example of which both parts are known."""
    first = next((r for r in corner.scored["joint 0"] if r["label"] and r["rationale"]), None)
    if first is None:
        return []
    rows = [
        {"title": f"{part}: {said}", "words": first["words"], "weights": (np.array(first[key]) / np.sum(first[key])).tolist()}
        for key, part, said in (("label", "a(X)_L", first["said"]), ("rationale", "a(X)_R", first["told"]))
    ]
    about = "Shares of the gradient norms of all words; the first scored test example. Words of the prompt have no score."
    title = f"Figure 10: which words label and rationale come from, {corner.title}"
    return [Figure(f"words-{corner.name}", title, about, "heatmaps", {"rows": rows, "gold": None})]
