"""From rows to tables: 3, 4, 5, 7, 9 and 10 with 95 % bootstrap intervals over examples; what both tests say; outputs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from whence.measure.rationale_quality import accuracy_gain, leakage_adjusted, names_label
from whence.measure.roar import top_words
from whence.run.engine import Rows
from whence.studies.association import paper
from whence.studies.association.found import RANKINGS, Corner
from whence.studies.association.pieces import SOURCES
from whence.studies.kit.estimates import NOTHING, estimate, row
from whence.studies.study import Table

WHOSE = {"gold": "people (R*)", "i-r": "I→R", "i-or": "I→OR"}
COLUMNS = ["corpus", "what", "examples", "ours", "low", "high", "paper"]
POINTS = 100.0
Printed = Mapping[str, Mapping[str, float]]
"""A table of the paper: corpus → what → number."""


def right(rows: Rows, column: str, gold: str = "label") -> np.ndarray:
    """1 where a model's label is the right one; an output without a label is wrong."""
    return np.array([float(r[column] is not None and r[column] == r[gold]) for r in rows])


def quality_gain(rows: Rows, column: str, against: str = "label") -> np.ndarray:
    """Of each example: right with the rationale − right without."""
    return accuracy_gain([r[against] for r in rows], [r[column] for r in rows], [r["i-o"] for r in rows])


def _row(corner: Corner, what: str, values: np.ndarray, printed: Printed, key: str) -> dict[str, Any]:
    return {"corpus": corner.title, "what": what, "examples": len(values), **estimate(values, scale=POINTS),
            "paper": printed.get(corner.name, {}).get(key)}  # fmt: skip


def table_3(corners: list[Corner]) -> Table:
    rows = [
        _row(corner, f"rationales of {WHOSE[source]}", right(corner.answers, f"r-o {source}"), paper.TABLE_3, source)
        for corner in corners for source in SOURCES
    ]  # fmt: skip
    caption = "Accuracy of R→O in per cent: how well the label can be told from the rationale alone, by who wrote it."
    return Table("table_3", "Table 3: the label from the rationale", caption, COLUMNS, rows)


def table_4(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        for source in SOURCES:
            gain = quality_gain(corner.answers, f"ir-o {source}")
            rows.append(_row(corner, WHOSE[source], gain, paper.TABLE_4, source))
        if corner.constant:
            rows.append(_row(corner, "I→OR that learned one sentence", constant_gain(corner), paper.TABLE_4, "constant"))
    caption = "Acc(IR→O) − Acc(I→O) in points, against the corpus' labels: what the rationale adds to the input."
    return Table("table_4", "Table 4: rationale quality", caption, COLUMNS, rows)


def constant_gain(corner: Corner) -> np.ndarray:
    """Quality of the one-sentence control, of each example."""
    plain = {r["id"]: r["i-o"] for r in corner.answers}
    rows = [r for r in corner.constant if r["id"] in plain]
    return accuracy_gain([r["gold"] for r in rows], [r["ir-o"] for r in rows], [plain[r["id"]] for r in rows])


def table_5(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        alone, both = (right(corner.answers, f"{reader} gold") for reader in ("r-o", "ir-o"))
        for key, what, values in (("r-o", "R→O", alone), ("ir-o", "IR→O", both), ("difference", "IR→O − R→O", both - alone)):
            rows.append(_row(corner, what, values, paper.TABLE_5, key))
    caption = (
        "Accuracy in per cent with the rationales of people. If the rationale alone were enough, the difference would be 0."
    )
    return Table("table_5", "Table 5: sufficiency", caption, COLUMNS, rows)


def table_7(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        shown = {"input": "words of the input", "highlighted": "words highlighted", "rationale": "words of the rationale"}
        for key, what in shown.items():
            for share in (False, True) if key != "input" else (False,):
                values = [
                    r[key] / (r["input"] / 100 if share else 1) for r in corner.lengths if r[key] is not None and r["input"]
                ]
                if not values:
                    continue
                name = f"{key} share" if share else key
                rows.append({
                    "corpus": corner.title, "what": f"{what}, % of the input" if share else what, "examples": len(values),
                    **estimate(values), "sd": float(np.std(values)), "paper": paper.TABLE_7.get(corner.name, {}).get(name),
                })  # fmt: skip
    caption = "Means over training examples. Our words are runs of letters or of punctuation; the paper counts spaCy's tokens."
    return Table("table_7", "Table 7: lengths", caption, [*COLUMNS[:6], "sd", "paper"], rows)


def table_9(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        plain, joint = right(corner.answers, "i-o"), right(corner.answers, "i-or")
        by_chance = {**NOTHING, "ours": POINTS / len(corner.subject.data().labels)}
        rows.append({**_row(corner, "random", plain, paper.TABLE_9, "random"), **by_chance})
        rows.append(_row(corner, "majority", majority(corner), paper.TABLE_9, "majority"))
        for key, what, values in (("i-o", "I→O", plain), ("i-or", "I→OR", joint), ("difference", "I→OR − I→O", joint - plain)):
            rows.append(_row(corner, what, values, paper.TABLE_9, key))
    caption = (
        "Label accuracy in per cent; majority: the most frequent label of training, of a question the most frequent letter."
    )
    return Table("table_9", "Table 9: what writing a rationale costs", caption, COLUMNS, rows)


def majority(corner: Corner) -> np.ndarray:
    """1 where the most frequent training label is right; of questions it is the letter of a choice."""
    corpus = corner.subject.data()
    labels = [e.label for e in corpus.load("train")]
    most = max(sorted({label for label in labels if label is not None}), key=labels.count)
    tested = {r["id"] for r in corner.answers}
    return np.array([float(e.label == most) for e in corpus.load("test") if e.id in tested])


def table_10(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        joint, pipeline = right(corner.answers, "i-or"), right(corner.answers, "r-o i-r")
        for key, what, values in (("i-or", "I→OR", joint), ("pipeline", "I→R;R→O", pipeline),
                                  ("difference", "I→R;R→O − I→OR", pipeline - joint)):  # fmt: skip
            rows.append(_row(corner, what, values, paper.TABLE_10, key))
    caption = "Label accuracy in per cent. The pipeline: I→R writes a rationale, R→O answers from it alone."
    return Table("table_10", "Table 10: the joint model and the pipeline", caption, COLUMNS, rows)


def simulatability(corners: list[Corner]) -> Table:
    """Against I→OR's own predictions; rationales that name the label are counted apart."""
    rows = []
    for corner in corners:
        kept = [r for r in corner.answers if r["i-or"] is not None]
        if not kept:
            continue
        own = [r["i-or"] for r in kept]
        leaks = names_label([r["rationale i-or"] for r in kept], own)
        found = leakage_adjusted(own, [r["ir-o i-or"] for r in kept], [r["i-o"] for r in kept], leaks)
        plain = estimate(quality_gain(kept, "ir-o i-or", "i-or"), scale=POINTS)
        rows.append({
            "corpus": corner.title, "examples": len(kept), **plain, "names the label %": POINTS * found.leaking_share,
            "naming": _points(found.leaking), "not naming": _points(found.other), "adjusted": POINTS * found.adjusted,
        })  # fmt: skip
    caption = (
        "How much I→OR's rationale helps IR→O to guess what I→OR itself said, in points over I→O. A rationale that names the "
        "label gives it away; adjusted: the mean of both kinds (Hase et al. 2020). The paper has no such numbers."
    )
    columns = ["corpus", "examples", "ours", "low", "high", "names the label %", "naming", "not naming", "adjusted"]
    return Table("simulatability", "Simulatability of I→OR", caption, columns, rows)


def _points(value: float | None) -> float | None:
    return None if value is None else POINTS * value


def both_tests(corners: list[Corner]) -> Table:
    """Robustness equivalence and feature-importance agreement, of joint models and of controls that must fail them."""
    rows = []
    for corner in corners:
        for title, (labels, rationales) in corner.pairs().items():
            failing, (shared, plain) = corner.failing(labels, rationales), corner.agreeing(labels, rationales)
            rows.append({
                "corpus": corner.title, "label and rationale": title, "fail": failing.verdict,
                "labels collapse at σ²": failing.label_collapse, "rationales collapse at σ²": failing.rationale_collapse,
                **row(failing.steps), "coupling": failing.coupling, "p of coupling": failing.p,
                "words": shared.verdict, "shared moves": shared.value and shared.value.value, "p of moves": shared.p,
                "rank agreement": plain and plain.value.value,
            })  # fmt: skip
    caption = (
        "Ours: grid steps of σ² between the collapse of rationales and that of labels. Coupling: whether the same draws of "
        "noise break both. Shared moves: whether the importance of words for label and for rationale moves alike when the "
        "input is shaken a little, as it does not in two models. Rank agreement: the plain one, which "
        "two models have too. Glued: label and rationale of two models trained apart, which nothing connects."
    )
    columns = ["corpus", "label and rationale", "fail", "labels collapse at σ²", "rationales collapse at σ²", "ours", "low",
               "high", "coupling", "p of coupling", "words", "shared moves", "p of moves", "rank agreement"]  # fmt: skip
    return Table("both_tests", "Do label and rationale belong together?", caption, columns, rows)


def roar_table(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        for (by, percent), found in corner.roar.items():
            for measure, values in (("label accuracy", right(found, "label", "gold")),
                                    ("rationale quality", quality_gain(found, "ir-o", "gold"))):  # fmt: skip
                rows.append({"corpus": corner.title, "hidden words": hidden_by(by), "hidden %": percent,
                             "measure": measure, "examples": len(found), **estimate(values, scale=POINTS)})  # fmt: skip
    caption = "I→OR retrained on texts without the words that rank highest, on test texts without theirs; per cent and points."
    columns = ["corpus", "hidden words", "hidden %", "measure", "examples", "ours", "low", "high"]
    return Table("roar", "Figures 7, 11 and 12 in numbers: ROAR", caption, columns, rows)


def hidden_by(by: str) -> str:
    known = {"label": "by a(X)_L", "rationale": "by a(X)_R", "random": "at random", "nothing": "none"}
    return known.get(by, f"by {by.replace('_', ' ')}")


def shared_words(corners: list[Corner]) -> Table:
    """How much rankings have in common: words that both put into their top k %."""
    rows = []
    for corner in corners:
        own = corner.task.roar
        for other in (*RANKINGS[1:2], *own.methods) if own and corner.ranked else ():
            for percent in own.percents if own else ():
                both = [(set(top_words(r["label"], percent)), set(top_words(r[other], percent)))
                        for r in corner.ranked if r["label"] is not None and r[other] is not None]  # fmt: skip
                values = [len(a & b) / len(a) for a, b in both]
                printed = paper.SHARED.get(int(percent)) if (corner.name, other) == ("cose_v1.0", "input_x_gradient") else None
                rows.append({"corpus": corner.title, "what": f"a(X)_L and {hidden_by(other)[3:]}, top {percent:g} %",
                             "examples": len(values), **estimate(values, scale=POINTS), "paper": printed})  # fmt: skip
    caption = "Per cent of the words of one ranking's top that are in the other's."
    return Table("shared_words", "What rankings of words share", caption, COLUMNS, rows)


def trained(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        for variant, found in corner.trained.items():
            for r in found:
                rows.append({"corpus": corner.title, "model": arrows(variant), "part": r["split"], "examples": r["written"],
                             "accuracy %": _points(r["accuracy"]), "BLEU": r["bleu"], "trained on": r["train_examples"],
                             "epoch kept": r["epoch"]})  # fmt: skip
    caption = "Greedy outputs. BLEU: of rationales against the first two that people wrote (sacrebleu, lower-cased)."
    columns = ["corpus", "model", "part", "examples", "accuracy %", "BLEU", "trained on", "epoch kept"]
    return Table("trained", "The models", caption, columns, rows)


def arrows(variant: str) -> str:
    """ "ir-o" → "IR→O"; the names of further I→OR models as they are."""
    return variant.upper().replace("-", "→") if variant in ("i-or", "ir-o", "i-o", "r-o", "i-r") else f"I→OR, {variant}"


def generations(corners: list[Corner]) -> Table:
    """The first of the test part."""
    rows = [
        {"corpus": corner.title, "id": r["id"], "input": r["input"], "right label": r["label"], "I→OR says": r["i-or"] or "–",
         "because": r["rationale i-or"] or "–", "people say": r["rationale gold"]}
        for corner in corners for r in corner.answers[: corner.subject.settings.shown]
    ]  # fmt: skip
    caption = "The first examples of the test part in the order of the file. Nobody chose them."
    columns = ["corpus", "id", "input", "right label", "I→OR says", "because", "people say"]
    return Table("generations", "What I→OR writes", caption, columns, rows)


def noised_outputs(corners: list[Corner]) -> Table:
    """The same examples at every level of noise, first draw."""
    rows = []
    for corner in corners:
        levels = corner.noised["joint 0"]
        for number in range(min(corner.subject.settings.shown_noised, len(levels[0]))):
            for found in levels:
                r = [one for one in found if one["draw"] == 0][number]
                rows.append({"corpus": corner.title, "id": r["id"], "right label": r["gold"], "level": f"{r['level']:g}",
                             "σ²": r["noise"], "output": r["output"] or "(nothing)"})  # fmt: skip
    caption = "The first test examples, first draw of noise; level: σ² in units of the word table's variance, or σ² itself."
    columns = ["corpus", "id", "right label", "level", "σ²", "output"]
    return Table("noised_outputs", "Tables 6 and 11 to 13: outputs under noise", caption, columns, rows)


ALL = (table_3, table_4, table_5, table_9, table_10, both_tests, roar_table, simulatability, shared_words, table_7, trained,
       generations, noised_outputs)  # fmt: skip
"""In the order of the report."""
