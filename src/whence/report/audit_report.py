"""The report of an audit: one HTML file that needs no network and no script, with a verdict in plain words at the top.

All texts are hostile: the template escapes what it is given, figures and heatmaps escape their own.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from whence.explain.draw import words_html
from whence.report.figures import Dot, curve, forest
from whence.report.numbers import counted, finite, plain, shown_gap, shown_passes, shown_share, shown_tick, shown_value
from whence.report.page import by_class, write_page
from whence.report.reading import Reading
from whence.report.verdict import FAMILIES, RULE, verdict

HIDDEN = {
    "mask": "replaced by the tokenizer's mask token",
    "pad": "replaced by the padding token",
    "delete": "deleted; the words after them move up",
}
SHOWN = 2


def write_report(results: Mapping[str, Any], path: Path) -> None:
    """Writes the page; `results` is what an audit keeps as results.json."""
    write_page("audit.html", _view(results), path)


def _view(results: Mapping[str, Any]) -> dict[str, Any]:
    reading = Reading(results)
    order = [*reading.ranked, *(["random"] if "random" in reading.methods else [])]
    groups = _groups(reading)
    first, *rest = verdict(results)
    named, given = reading.recommended, results.get("examples") or []
    return {
        "audit": reading.audit,
        "accuracy": shown_share(reading.audit["accuracy"]) if finite(reading.audit.get("accuracy")) else None,
        "methods": counted(len(order) - ("random" in order), "method"),
        "measured": counted(len(reading.measures), "measure"),
        "recommendation": first,
        "recommended": reading.title(named) if named else None,
        "cautions": rest,
        "rule": RULE,
        "groups": [{"title": group, "measures": [_heading(reading, m) for m in measures]} for group, measures in groups],
        "table": [_table_row(reading, method, [m for _, measures in groups for m in measures]) for method in order],
        "left_out": _left_out(reading),
        "forests": [figure for m in reading.faithfulness if (figure := _forest(reading, m))],
        "curves": _curves(reading, results.get("curves") or {}, order),
        "top": shown_share(top) if finite(top := (results.get("agreement") or {}).get("top")) else None,
        "agreement": _agreement(reading, results.get("agreement") or {}),
        "compared": _compared(results),
        "examples": [
            {"title": title, "about": about, "items": [_example(reading, e) for e in given if e["why"] == why]}
            for why, title, about in (
                ("typical", "Typical examples", "Nearest to the median decision flip, all methods together."),
                ("worst", "Worst examples", "Where changing the label took the most words, all methods together."),
            )
        ],
        "costs": [_cost(reading, method) for method in order],
        "measures": [
            {**m, "low": plain(m["low"]), "high": plain(m["high"]), "arrow": _arrow(m)} for m in reading.measures.values()
        ],
        "run": _what_was_run(reading),
        "notes": results.get("notes") or [],
        "versions": results.get("versions") or {},
    }


def _groups(reading: Reading) -> list[tuple[str, list[str]]]:
    known = [(title, reading.family(family)) for family, title in FAMILIES.items()]
    other = [m for m, facts in reading.measures.items() if facts.get("family") not in FAMILIES]
    return [(title, measures) for title, measures in [*known, ("Other", other)] if measures]


def _arrow(measure: Mapping[str, Any]) -> str:
    return "↑" if measure["direction"] == "higher" else "↓"


def _heading(reading: Reading, name: str) -> dict[str, str]:
    m = reading.measures[name]
    return {"title": m["title"], "about": m["about"], "arrow": _arrow(m), "better": f"{m['direction']} is better"}


def _table_row(reading: Reading, method: str, measures: Sequence[str]) -> dict[str, Any]:
    return {
        "title": reading.title(method),
        "random": method == "random",
        "recommended": method == reading.recommended,
        "cells": [_cell(reading, method, m) | {"heading": _heading(reading, m)} for m in measures],
    }


def _cell(reading: Reading, method: str, measure: str) -> dict[str, Any]:
    row = reading.rows.get((method, measure))
    if row is None:
        return {"value": None}
    standing, gap = reading.standing(method, measure), row["vs_random"]
    mark, said = {1: ("✓", "beats random"), -1: ("✗", "worse than random"), 0: ("○", "no measurable difference from random")}[
        standing
    ]
    facts = reading.measures[measure]
    by_construction = facts.get("favours") == method
    if by_construction:
        mark, said = "†", "by construction"
    elif gap:
        said += f": {shown_gap(facts, gap)}"
    return {
        "value": shown_value(facts, row["value"], 1),
        "interval": f"{shown_value(facts, row['low'], 1, bare=True)} – {shown_value(facts, row['high'], 1, bare=True)}",
        "mark": mark if gap or by_construction else "",
        "said": said if gap or by_construction else "the baseline" if method == "random" else "not compared with random",
        "kind": {1: "better", -1: "worse", 0: "same"}[standing],
        "bar": round(100 * _progress(reading, method, measure)),
        "best": bool(row["best"]),
        "level": not row["best"] and not by_construction and reading.level(method, measure),
    }


def _progress(reading: Reading, method: str, measure: str) -> float:
    """Where the value lies between random (0) and the best (1)."""
    if ("random", measure) not in reading.rows:
        return 0.0
    values = {m: reading.goodness(m, measure) for m in reading.methods if (m, measure) in reading.rows}
    reach = max(values.values()) - values["random"]
    return min(1.0, max(0.0, (values[method] - values["random"]) / reach)) if reach > 0 else 0.0


def _left_out(reading: Reading) -> list[str]:
    texts = []
    for name, measure in reading.measures.items():
        most = max((row["excluded"] for (_, m), row in reading.rows.items() if m == name), default=0)
        if most:
            texts.append(f"{measure['title']}: not defined for up to {counted(most, 'example')}, left out of its numbers.")
    return texts


def _forest(reading: Reading, measure: str) -> dict[str, Any] | None:
    random = reading.rows.get(("random", measure))
    judged = sorted(reading.judged(measure), key=lambda m: -reading.goodness(m, measure))
    if not judged or random is None:
        return None
    rows = {m: reading.rows[m, measure] for m in (*judged, "random")}
    facts = reading.measures[measure]
    dots = [
        Dot(reading.title(m), r["value"], r["low"], r["high"], shown_value(facts, r["value"], 1), reading.beats(m, measure))
        for m, r in rows.items()
    ]
    figure = forest(facts["title"], dots, random["value"], lambda tick: shown_tick(facts, tick))
    return {
        "heading": _heading(reading, measure),
        "svg": figure,
        "own": reading.title(facts["favours"]) if reading.has_own(measure) else None,
    }


def _curves(reading: Reading, curves: Mapping[str, Any], order: Sequence[str]) -> list[dict[str, Any]]:
    if "random" not in curves:
        return []
    random, drawn = curves["random"]["probability"], [m for m in order if m in curves]
    others = [curves[m]["probability"] for m in drawn if m != "random"]
    return [
        {"title": title, "svg": curve(title, curves[m]["share"], curves[m]["probability"], random, others)}
        for m, title in zip(drawn, map(reading.title, drawn), strict=True)
    ]


def _compared(results: Mapping[str, Any]) -> str:
    """On how many examples methods were compared, where that is not all of them."""
    some, every = (results.get("agreement") or {}).get("examples"), (results.get("audit") or {}).get("examples")
    return f"{some:,}" if isinstance(some, int) and isinstance(every, int) and some < every else ""


def _agreement(reading: Reading, agreement: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One square: rank correlation below the diagonal, overlap of the strongest words above it."""
    names = agreement.get("methods") or []
    rows = []
    for i, name in enumerate(names):
        cells = []
        for j in range(len(names)):
            value: Any = None if i == j else agreement["kendall" if j < i else "top_k_overlap"][i][j]
            known = finite(value)
            cells.append({
                "text": "" if i == j else f"{value + 0.0:z.2f}".replace("-", "−").replace("0.", ".", 1) if known else "–",
                "alpha": round(min(1.0, abs(value)) * 0.5, 2) if known else 0,
                "negative": known and value < 0,
                "upper": j > i,
                "self": i == j,
            })  # fmt: skip
        rows.append({"title": reading.title(name) if name in reading.methods else name, "cells": cells})
    return rows


def _example(reading: Reading, example: Mapping[str, Any]) -> dict[str, Any]:
    order = [m for m in (*reading.ranked, "random") if m in example["scores"]]
    good = [m for m in order if m != "random"][:SHOWN]
    texts, spans, marked = example["texts"], example["spans"], example.get("highlights")
    maps = {
        m: {"title": reading.title(m), "html": Markup(words_html(texts, spans, example["scores"][m], by_class, marked))}
        for m in order
    }
    return {
        "id": example["id"],
        "predicted": example["predicted"],
        "probability": f"{example['probability']:.2f}",
        "label": example.get("label"),
        "right": str(example.get("label")).lower() == example["predicted"].lower(),  # as accuracy is counted
        "unseen": example.get("unseen_words") or 0,
        "shown": [maps[m] for m in order if m in good or m == "random"],
        "folded": [maps[m] for m in order if m not in good and m != "random"],
    }


def _cost(reading: Reading, method: str) -> dict[str, Any]:
    about, own = reading.methods[method], reading.passes(method)
    dearest = max((p for p in map(reading.passes, reading.methods) if finite(p)), default=0.0)
    settings = {**about.get("parameters", {}), **({"seed": reading.audit["seed"]} if about.get("stochastic") else {})}
    forward, backward = (shown_passes(about["passes"].get(kind, 0)) for kind in ("forward", "backward"))
    return {
        "title": about["title"], "about": about["about"], "paper": about["paper"], "cost": about["cost"],
        "forward": forward if finite(own) else "–", "backward": backward if finite(own) else "–",
        "bar": round(100 * own / dearest, 1) if dearest and finite(own) else 0,
        "settings": ", ".join(f"{key.replace('_', ' ')} {plain(value)}" for key, value in settings.items()),
        "notes": ", ".join(f"{key.replace('_', ' ')} {plain(value)}" for key, value in about.get("notes", {}).items()),
    }  # fmt: skip


def _what_was_run(reading: Reading) -> list[tuple[str, str]]:
    audit = dict(reading.audit)
    hide = audit.get("hide")
    kinds = {"text": "one text, one label", "pair": "two texts, one label"}
    known: dict[str, Any] = {
        "model": "Model", "fingerprint": "Model fingerprint", "data": "Data", "split": "Split", "examples": "Examples",
        "task": "Task", "labels": "Labels", "hide": "Hidden words are", "seed": "Seed", "accuracy": "Accuracy of the model",
        "max_tokens": "The model reads at most", "texts_cut": "Texts cut", "words_unread": "Words never read",
    }  # fmt: skip
    audit["hide"] = f"{HIDDEN[hide]} ({hide})" if hide in HIDDEN else hide
    audit["task"] = kinds.get(audit["task"], audit["task"])
    audit["max_tokens"] = f"{audit['max_tokens']:,} tokens" if audit.get("max_tokens") else "no limit"
    audit["accuracy"] = shown_share(audit["accuracy"], 1) if finite(audit.get("accuracy")) else "not known"
    ordered = [key for key in known if key in audit] + [key for key in audit if key not in known]
    return [(known.get(key, key.replace("_", " ").capitalize()), plain(audit[key])) for key in ordered]


__all__ = ["verdict", "write_report"]
