"""The report of an audit of written rationales: a verdict in plain words, curves under noise, numbers, and what was written.

All texts are hostile: the template escapes what it is given, figures and rationales escape their own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from whence.explain.text import Rationale
from whence.report.numbers import decimal, finite, plain, shown_p, shown_share
from whence.report.page import write_page
from whence.report.plots import draw

RULE = (
    "Robustness: noise is added to what the model reads. Labels and rationales fail together if both collapse within one "
    "noise level of each other and the same draws of noise break both (p < 0.05). They fail apart if surely more than one "
    "level lies between, or if the coupling of draws is surely below 0.3. Agreement: a little noise is added several times,"
    " and the importance of words for the label and for the rationale is compared from draw to draw. They are associated if"
    " both move alike (p < 0.01 and an interval above 0.15), and not associated if the interval is below 0.15 or fewer than"
    " half of the rationales depend on the text. Anything else is undecided."
)
FEW = 100


def association_verdict(results: Mapping[str, Any]) -> list[str]:
    """Whether they belong together, then what each test found, then what to beware of, a line each."""
    found = results["association"]
    return [_headline(found), found["robustness"]["told"], _agreement_told(found["agreement"]), *_cautions(results)]


def _headline(found: Mapping[str, Any]) -> str:
    fail, bond = found["robustness"]["verdict"], found["agreement"]["verdict"]
    if fail == "together" and bond == "associated":
        return (
            "Labels and rationales of this model belong together: they fail together, and they come from the same computation."
        )
    if fail == "apart" and bond == "not associated":
        return "Do not trust these rationales: labels and rationales of this model fail apart, and are not associated."
    if {fail, bond} & {"apart", "not associated"}:
        which = "they fail apart under noise" if fail == "apart" else "the importance of words does not move alike"
        other = {"together": "they fail together", "associated": "the importance of words moves alike"}
        but = other.get(bond if fail == "apart" else fail, "the other test is undecided")
        return f"Labels and rationales of this model are not shown to belong together: {which}, though {but}."
    return "Undecided: these examples do not show whether labels and rationales of this model belong together."


def _agreement_told(agreement: Mapping[str, Any]) -> str:
    depends, shared = agreement["depends"], agreement["shared"]
    if depends < 0.5:
        return (
            f"{shown_share(depends)} of the rationales depend on the text; the others would be written for another text, too."
        )
    if shared is None:
        return "Agreement is undecided: no text has a label and a rationale that both depend on it."
    size = f"{decimal(shared['value'], 2)}, 95\u202f% interval {decimal(shared['low'], 2)} to {decimal(shared['high'], 2)}"
    verdict = {
        "associated": "The importance of words for label and rationale moves alike under a little noise",
        "not associated": "The importance of words for label and rationale does not move alike under a little noise",
        "undecided": "Whether the importance of words for label and rationale moves alike is undecided",
    }[agreement["verdict"]]
    return f"{verdict} (correlation {size}, {shown_p(agreement['p'])})."


def _cautions(results: Mapping[str, Any]) -> list[str]:
    audit, facts = results["audit"], results["association"]["rationales"]
    found = []
    if finite(audit["accuracy"]) and audit["accuracy"] <= audit["majority"]:
        found.append(
            f"The model's labels are right on {shown_share(audit['accuracy'])} of the examples. Always saying the most "
            f"frequent label would be right on {shown_share(audit['majority'])}, so there is little to explain."
        )
    if facts["written"] < 0.9 or facts["labels_written"] < 0.9:
        found.append(
            f"A label was written for {shown_share(facts['labels_written'])} of the examples, a rationale for "
            f"{shown_share(facts['written'])}. Where one is missing, the tests have nothing to go by."
        )
    if audit["examples"] < FEW:
        found.append(f"{audit['examples']} examples are few: intervals are wide.")
    return found


def write_association_report(results: Mapping[str, Any], path: Path) -> None:
    write_page("association.html", _view(results), path)


def _view(results: Mapping[str, Any]) -> dict[str, Any]:
    found = results["association"]
    first, *rest = association_verdict(results)
    audit = results["audit"]
    return {
        "audit": audit, "accuracy": shown_share(audit["accuracy"]) if finite(audit["accuracy"]) else None,
        "verdict": first, "sure": first.startswith("Labels and rationales of this model belong"), "lines": rest, "rule": RULE,
        "figure": draw("curves", _curves(found), "Labels and rationales under noise")[0][1],
        "levels": [_level(row) for row in found["levels"]], "numbers": _numbers(found),
        "examples": [_example(e) for e in found["examples"]],
        "run": [(name.replace("_", " ").capitalize(), plain(value)) for name, value in audit.items()],
        "notes": results.get("notes") or [], "versions": results.get("versions") or {},
    }  # fmt: skip


def _curves(found: Mapping[str, Any]) -> dict[str, Any]:
    titles = {"stable": "labels unchanged", "similar": "rationales alike", "accuracy": "labels right"}
    x = [row["noise"] ** 0.5 for row in found["levels"]]
    series = []
    for name, title in titles.items():
        rows = [row[name] for row in found["levels"]]
        if None not in rows:
            ends = {end: [row[end] for row in rows] for end in ("low", "high")}
            series.append({"title": title, "x": x, "y": [row["value"] for row in rows], **ends, "dashed": name == "accuracy"})
    return {"x_label": "noise, in standard deviations of the word table", "y_label": "share", "series": series}


def _level(row: Mapping[str, Any]) -> dict[str, str]:
    shown = {name: _with_interval(row[name]) for name in ("accuracy", "stable", "similar")}
    return {"noise": plain(row["noise"]), "variance": f"{row['variance']:.3g}", **shown}


def _with_interval(estimate: Mapping[str, float] | None) -> str:
    if estimate is None:
        return "–"
    low, high = (shown_share(estimate[end], bare=True) for end in ("low", "high"))
    return f"{shown_share(estimate['value'])} ({low}–{high})"


def _ranged(estimate: Mapping[str, float]) -> str:
    value, low, high = (decimal(estimate[name], 2) for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def _numbers(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts, fail, agree = found["rationales"], found["robustness"], found["agreement"]
    places = [fail[f"{what}_collapse"] for what in ("label", "rationale")]
    collapse = [f"σ² = {at:.3g}" if finite(at) else "not on this grid" for at in places]
    coupling = {"value": fail["coupling"], "low": fail["coupling_low"], "high": fail["coupling_high"]}
    moves = rank = "–"
    if agree["shared"] is not None:
        counts = f"{agree['examples']} examples, {agree['left_out']} left out"
        moves = f"{_ranged(agree['shared'])}, {shown_p(agree['p'])}; {counts}"
    if agree["plain"] is not None:
        rank = f"{_ranged(agree['plain'])}, {shown_p(agree['plain']['p'])}; above chance for independent models, too"
    return [
        ("Labels collapse at", collapse[0]),
        ("Rationales collapse at", collapse[1]),
        ("Distance in noise levels", _ranged(fail["steps"])),
        ("Coupling of draws", f"{_ranged(coupling)}, {shown_p(fail['p'])}"),
        ("Shared moves of importance", moves),
        ("Rationales that depend on the text", shown_share(agree["depends"])),
        ("Plain rank agreement", rank),
        ("Labels written", shown_share(facts["labels_written"])),
        ("Rationales written", shown_share(facts["written"])),
        ("Rationales cut at the limit of tokens", shown_share(facts["cut"])),
        ("Words of a rationale", plain(facts["words"])),
        ("Different rationales", shown_share(facts["different"])),
        ("Rationales that name their label", shown_share(facts["names_label"])),
        ("Words in common with people's explanations (F1)", shown_share(facts["like_people"])),
        ("BLEU against people's explanations", "–" if facts["bleu"] is None else decimal(facts["bleu"], 1)),
    ]


def _example(example: Mapping[str, Any]) -> dict[str, Any]:
    """The rationale without noise draws itself; under noise, label and text."""
    levels = [
        {"noise": plain(row["noise"]), "label": row["label"] or "no label", "text": row["text"] or "(no rationale)"}
        for row in example["levels"][1:]
    ]
    drawn = Markup(Rationale.from_dict(example["rationale"])._repr_html_())
    return {"id": example["id"], "label": example["label"], "people": example["people"], "html": drawn, "levels": levels}
