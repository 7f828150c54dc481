"""The figures of a study, by kind.

A kind takes JSON-able data, described in the docstring of its function ("?": may be left out), and gives panels: titles and
pictures. Panels are separate pictures, so that they stand side by side on a desk and beneath each other on a phone. Nothing
depends on colour alone: series differ in marker, dash or hatch too, and every picture says in words what it shows. Null is not
drawn.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.axes import Axes

from whence.explain.draw import words_html
from whence.report.canvas import INK, NARROW, SERIES, STYLE, WIDE, add_legend, as_svg, new_axes, short
from whence.report.figures import printable, safe
from whence.report.numbers import finite
from whence.report.page import by_class

Panels = list[tuple[str, Markup]]
Data = Mapping[str, Any]
MARKERS, HATCHES = "os^Dv*", ("", "///", "...", "xxx", "+++", "ooo")
TOO_FEW = 5
LN2 = math.log(2)


def draw(kind: str, data: Data, title: str) -> Panels:
    """The panels of a figure; `title` opens their texts."""
    if kind not in PLOTS:
        raise ValueError(f"figure '{title}': unknown kind '{kind}', expected one of {', '.join(PLOTS)}")
    with rc_context(STYLE):
        return PLOTS[kind](data, title)


def violins(data: Data, title: str) -> Panels:
    """Distributions of Jensen–Shannon divergences by bin and class, on [0, ln 2]; two classes are left and right halves.

    {"panels": [{"title", "violins": [{"bin": "0–0.25", "class": "positive", "values": […]}]}], "y_label", "x_label"?}
    Medians are marked. Below 5 values, and where all are equal, the values themselves are drawn.
    """
    panels = []
    for panel in data["panels"]:
        given = {(v["bin"], v["class"]): _numbers(v["values"]) for v in panel["violins"]}
        bins, classes = ([*dict.fromkeys(key[i] for key in given)] for i in (0, 1))
        axes, figure = new_axes(NARROW, 260)
        for (bin_, class_), values in given.items():
            which, share = classes.index(class_), 1 if len(classes) < 3 else len(classes)
            x = bins.index(bin_) + (((which + 0.5) / share - 0.5) * 0.9 if share > 1 else 0.0)
            side = ("low", "high")[which] if len(classes) == 2 else "both"
            _violin(axes, values, x, side, 0.85 / share, {"color": SERIES[which % 6], "hatch": HATCHES[which % 6]})
        for which, name in enumerate(classes):
            axes.fill_between([], [], color=SERIES[which % 6], alpha=0.45, hatch=HATCHES[which % 6], label=short(name))
        counts = ["|".join(str(len(given.get((b, c), ()))) for c in classes) for b in bins]
        axes.set_xticks(range(len(bins)), [f"{short(b)}\nn {n}" for b, n in zip(bins, counts, strict=True)])
        axes.set(xlim=(-0.6, max(len(bins), 1) - 0.4), ylim=(0, LN2))
        axes.set(ylabel=printable(data["y_label"]), xlabel=printable(data.get("x_label", "")))
        axes.grid(axis="x", visible=False)
        add_legend(axes, figure)
        said = [f"{b}, {c}: " + (f"median {np.median(v):.3f} of {len(v)}" if len(v) else "none") for (b, c), v in given.items()]
        panels.append((panel["title"], as_svg(figure, f"{title}, {panel['title']}. {'; '.join(said)}")))
    return panels


def _violin(axes: Axes, values: np.ndarray, x: float, side: Any, width: float, look: dict[str, Any]) -> None:
    if len(values) < TOO_FEW or np.ptp(values) == 0:
        place = {"low": x - 0.12, "high": x + 0.12, "both": x}[side]
        axes.plot([place] * len(values), values, "o", color=look["color"], markersize=3.5, alpha=0.8, clip_on=False)
    else:
        drawn: Any = axes.violinplot(values, [x], widths=width, side=side, showextrema=False)["bodies"]
        drawn[0].set(facecolor=look["color"], edgecolor=look["color"], alpha=0.45, hatch=look["hatch"], linewidth=0.8)
    if len(values):
        reach = 0.4 * width
        ends = x - reach * (side != "high"), x + reach * (side != "low")
        axes.hlines(np.median(values), *ends, colors=INK, linewidth=1.6)


def tradeoff(data: Data, title: str) -> Panels:
    """How far attention is moved (JSD) against how far the prediction is (TVD): a curve over λ and named marks beside it.

    {"panels": [{"title", "curve": [{"lambda", "tvd", "jsd", "tvd_low"?, "tvd_high"?, "jsd_low"?, "jsd_high"?}],
                 "marks": [{"kind": "seed" | "uniform" | "adversary" | "practised", "label", "tvd", "jsd"}]}]}
    """
    kinds = {
        "seed": ("^", SERIES[1]),
        "uniform": ("s", SERIES[2]),
        "adversary": ("P", SERIES[3]),
        "practised": ("D", SERIES[0]),
    }
    points = [p for panel in data["panels"] for p in (*panel["curve"], *panel["marks"]) if finite(p["tvd"])]
    furthest = max((p["tvd"] for p in points), default=0.0) or 1.0
    panels = []
    for panel in data["panels"]:
        curve, marks = ([p for p in panel[key] if finite(p["tvd"]) and finite(p["jsd"])] for key in ("curve", "marks"))
        x, y = ([p[key] for p in curve] for key in ("tvd", "jsd"))
        axes, figure = new_axes(NARROW, 270)
        for p in curve:
            axes.annotate(
                f"{p['lambda']:g}", (p["tvd"], p["jsd"]), (5, -10), textcoords="offset points", fontsize=8.5, zorder=6
            )
            if finite(p.get("tvd_low")):
                axes.hlines(p["jsd"], p["tvd_low"], p["tvd_high"], colors=SERIES[0], linewidth=0.8)
            if finite(p.get("jsd_low")):
                axes.vlines(p["tvd"], p["jsd_low"], p["jsd_high"], colors=SERIES[0], linewidth=0.8)
        if curve:
            axes.plot(x, y, "o-", color=SERIES[0], markersize=4, label="adversary over λ")
        for label in dict.fromkeys(mark["label"] for mark in marks):
            alike = [mark for mark in marks if mark["label"] == label]
            shape, colour = kinds[alike[0]["kind"]]
            places = [m["tvd"] for m in alike], [m["jsd"] for m in alike]
            axes.plot(*places, shape, color=colour, markersize=7, label=short(label), clip_on=False, zorder=5)
        axes.set(xlim=(0, furthest * 1.12), ylim=(0, LN2), xlabel="mean TVD of predictions", ylabel="mean JSD of attention")
        add_legend(axes, figure)
        named = [(f"λ {p['lambda']:g}", p) for p in curve] + [(m["label"], m) for m in marks]
        said = "; ".join(f"{name}: TVD {p['tvd']:.3f}, JSD {p['jsd']:.3f}" for name, p in named)
        panels.append((panel["title"], as_svg(figure, f"{title}, {panel['title']}. {said}")))
    return panels


def bars(data: Data, title: str) -> Panels:
    """Grouped bars with intervals, lying down so that long names fit.

    {"groups": […], "series": [{"title", "values": […], "low"?: […], "high"?: […]}], "y_label"?}
    """
    groups, series = data["groups"], data["series"]
    axes, figure = new_axes(WIDE, 70 + len(groups) * (14 + 15 * len(series)))
    said = []
    for i, one in enumerate(series):
        at = np.arange(len(groups)) + (i + 0.5) * 0.86 / len(series) - 0.43
        values = _array(one["values"])
        look: dict[str, Any] = {"color": SERIES[i % 6], "hatch": HATCHES[i % 6], "alpha": 0.75}
        axes.barh(at, np.nan_to_num(values), 0.79 / len(series), label=short(one["title"]), **look)
        if one.get("low") is not None:
            axes.hlines(at, _array(one["low"]), _array(one["high"]), colors=INK, linewidth=1.3)
        said += [f"{group}, {one['title']}: {v:.4g}" for group, v in zip(groups, values, strict=True) if finite(v)]
    axes.set_yticks(range(len(groups)), [short(group) for group in groups])
    axes.set(ylim=(len(groups) - 0.45, -0.55), xlabel=printable(data.get("y_label", "")))
    axes.grid(axis="y", visible=False)
    add_legend(axes, figure)
    return [("", as_svg(figure, f"{title}. {'; '.join(said)}"))]


def curves(data: Data, title: str) -> Panels:
    """Lines with optional bands.

    {"x_label", "y_label", "series": [{"title", "x": […], "y": […], "low"?: […] | null, "high"?: […] | null, "dashed"?: bool}],
     "ticks"?: ["word", …]: what stands at x = 0, 1, …, in bold where "marked"?: [bool, …] says so}
    """
    ticks = [short(str(tick)) for tick in data.get("ticks", ())]
    axes, figure = new_axes(WIDE, 260 + 5 * max(map(len, ticks), default=0))
    said = []
    for i, one in enumerate(data["series"]):
        x, y = _array(one["x"]), _array(one["y"])
        look: dict[str, Any] = {
            "color": SERIES[i % 6],
            "marker": MARKERS[i % 6],
            "linestyle": "--" if one.get("dashed") else "-",
        }
        axes.plot(x, y, **look, markersize=3.5, linewidth=1.6, markevery=max(1, len(x) // 12), label=short(one["title"]))
        if one.get("low") is not None:
            axes.fill_between(x, _array(one["low"]), _array(one["high"]), color=SERIES[i % 6], alpha=0.16, linewidth=0)
        ends = f"{y[0]:.4g} at {x[0]:g} to {y[-1]:.4g} at {x[-1]:g}" if len(x) else "none"
        said.append(f"{one['title']}: {ends}")
    axes.set(xlabel=printable(data["x_label"]), ylabel=printable(data["y_label"]))
    if ticks:
        axes.set_xticks(range(len(ticks)), ticks, rotation=60, ha="right", rotation_mode="anchor")
        for label, marked in zip(axes.get_xticklabels(), data.get("marked", ()), strict=False):
            label.set_fontweight("bold" if marked else "normal")
        said.append("in turn: " + " ".join(ticks))
    add_legend(axes, figure)
    return [("", as_svg(figure, f"{title}. {'; '.join(said)}"))]


def heatmaps(data: Data, title: str) -> Panels:
    """The words of one text under several models, as rows of coloured words; gold words are underlined.

    {"rows": [{"title", "words": […], "weights": […]}], "gold"?: [bool, …] | null}
    """
    parts = []
    for row in data["rows"]:
        ends = np.cumsum([len(word) + 1 for word in row["words"]]) - 1
        spans = [(int(end) - len(word), int(end)) for word, end in zip(row["words"], ends, strict=True)]
        gold = [span for span, is_gold in zip(spans, data["gold"], strict=True) if is_gold] if data.get("gold") else []
        words = words_html({"text": " ".join(row["words"])}, {"text": spans}, row["weights"], by_class, {"text": gold})
        parts.append(f'<div class="heat"><h4>{safe(row["title"])}</h4><div class="words">{words}</div></div>')
    return [("", Markup("".join(parts)))]


def svg(data: Data, title: str) -> Panels:
    """{"svg": "…"}: a picture that our own trusted code drew elsewhere, taken as it is."""
    return [("", Markup(data["svg"]))]


PLOTS: dict[str, Callable[[Data, str], Panels]] = {
    "violins": violins, "tradeoff": tradeoff, "bars": bars, "curves": curves, "heatmaps": heatmaps, "svg": svg,
}  # fmt: skip


def _array(values: Iterable[float | None]) -> np.ndarray:
    """float[values], null as NaN."""
    return np.array(list(values), dtype=float)


def _numbers(values: Iterable[float | None]) -> np.ndarray:
    found = _array(values)
    return found[np.isfinite(found)]
