"""From rows to tables: 3, 4, 5, 7, 9 and 10 with 95 % bootstrap intervals over examples; what both tests say; outputs."""

from typing import Any

import numpy as np

from whence.measure.rationale_quality import accuracy_gain, leakage_adjusted, names_label
from whence.measure.roar import top_words
from whence.run.engine import Rows
from whence.studies.association.found import Corner
from whence.studies.association.pieces import SOURCES
from whence.studies.kit.estimates import NOTHING, estimate, row
from whence.studies.kit.paper import published, read_paper
from whence.studies.kit.tables import TableRows, corner_table

WHOSE = {"gold": "people (R*)", "i-r": "I→R", "i-or": "I→OR"}
COLUMNS = "corpus, what, examples, ours, low, high, paper"
POINTS = 100.0
PAPER = read_paper(__package__)


def right(rows: Rows, column: str, gold: str = "label") -> np.ndarray:
    """1 where a model's label is the right one; an output without a label is wrong."""
    return np.array([float(r[column] is not None and r[column] == r[gold]) for r in rows])


def quality_gain(rows: Rows, column: str, against: str = "label") -> np.ndarray:
    """Of each example: right with the rationale − right without."""
    return accuracy_gain([r[against] for r in rows], [r[column] for r in rows], [r["i-o"] for r in rows])


def constant_gain(corner: Corner) -> np.ndarray:
    """The same of the one-sentence control."""
    plain = {r["id"]: r["i-o"] for r in corner.answers}
    rows = [r for r in corner.constant if r["id"] in plain]
    return accuracy_gain([r["gold"] for r in rows], [r["ir-o"] for r in rows], [plain[r["id"]] for r in rows])


def majority(corner: Corner) -> np.ndarray:
    """1 where the most frequent training label is right; of questions it is the letter of a choice."""
    corpus = corner.subject.data()
    labels = [e.label for e in corpus.load("train")]
    most = max(sorted({label for label in labels if label is not None}), key=labels.count)
    tested = {r["id"] for r in corner.answers}
    return np.array([float(e.label == most) for e in corpus.load("test") if e.id in tested])


def _row(corner: Corner, what: str, values: np.ndarray, printed: str, key: str) -> dict[str, Any]:
    return {"what": what, "examples": len(values), **estimate(values, scale=POINTS),
            "paper": published(PAPER, printed, corner.name, key)}  # fmt: skip


@corner_table("table_3", "Table 3: the label from the rationale", COLUMNS)
def table_3(corner: Corner) -> TableRows:
    """Accuracy of R→O in per cent: how well the label can be told from the rationale alone, by who wrote it."""
    for source in SOURCES:
        values = right(corner.answers, f"r-o {source}")
        yield _row(corner, f"rationales of {WHOSE[source]}", values, "table_3", source)


@corner_table("table_4", "Table 4: rationale quality", COLUMNS)
def table_4(corner: Corner) -> TableRows:
    """Acc(IR→O) − Acc(I→O) in points, against the corpus' labels: what the rationale adds to the input."""
    for source in SOURCES:
        yield _row(corner, WHOSE[source], quality_gain(corner.answers, f"ir-o {source}"), "table_4", source)
    if corner.constant:
        yield _row(corner, "I→OR that learned one sentence", constant_gain(corner), "table_4", "constant")


@corner_table("table_5", "Table 5: sufficiency", COLUMNS)
def table_5(corner: Corner) -> TableRows:
    """Accuracy in per cent with the rationales of people. If the rationale alone were enough, the difference would be 0."""
    alone, both = (right(corner.answers, f"{reader} gold") for reader in ("r-o", "ir-o"))
    yield _row(corner, "R→O", alone, "table_5", "r-o")
    yield _row(corner, "IR→O", both, "table_5", "ir-o")
    yield _row(corner, "IR→O − R→O", both - alone, "table_5", "difference")


@corner_table("table_7", "Table 7: lengths", "corpus, what, examples, ours, low, high, sd, paper")
def table_7(corner: Corner) -> TableRows:
    """Means over training examples. Our words are runs of letters or of punctuation; the paper does not say what a token is."""
    titles = {"input": "words of the input", "highlighted": "words highlighted", "rationale": "words of the rationale"}
    for key, share in (("input", ""), *((key, share) for key in ("highlighted", "rationale") for share in ("", " share"))):
        known = [r for r in corner.lengths if r[key] is not None and r["input"]]
        values = [r[key] / (r["input"] / POINTS if share else 1) for r in known]
        if values:
            yield {"what": titles[key] + (", % of the input" if share else ""),
                   "examples": len(values), **estimate(values), "sd": float(np.std(values)),
                   "paper": published(PAPER, "table_7", corner.name, key + share)}  # fmt: skip


@corner_table("table_9", "Table 9: what writing a rationale costs", COLUMNS)
def table_9(corner: Corner) -> TableRows:
    """Label accuracy in per cent; an output that names no label counts as wrong. Majority: the most frequent label of training;
    of questions, the most frequent letter."""
    plain, joint = right(corner.answers, "i-o"), right(corner.answers, "i-or")
    by_chance = {**NOTHING, "ours": POINTS / len(corner.subject.data().labels)}
    yield {**_row(corner, "random", plain, "table_9", "random"), **by_chance}
    yield _row(corner, "majority", majority(corner), "table_9", "majority")
    yield _row(corner, "I→O", plain, "table_9", "i-o")
    yield _row(corner, "I→OR", joint, "table_9", "i-or")
    yield _row(corner, "I→OR − I→O", joint - plain, "table_9", "difference")


@corner_table("table_10", "Table 10: the joint model and the pipeline", COLUMNS)
def table_10(corner: Corner) -> TableRows:
    """Label accuracy in per cent. The pipeline: I→R writes a rationale, R→O answers from it alone."""
    joint, pipeline = right(corner.answers, "i-or"), right(corner.answers, "r-o i-r")
    yield _row(corner, "I→OR", joint, "table_10", "i-or")
    yield _row(corner, "I→R;R→O", pipeline, "table_10", "pipeline")
    yield _row(corner, "I→R;R→O − I→OR", pipeline - joint, "table_10", "difference")


@corner_table("simulatability", "Simulatability of I→OR",
              "corpus, examples, ours, low, high, names the label %, naming, not naming, adjusted")  # fmt: skip
def simulatability(corner: Corner) -> TableRows:
    """How much I→OR's rationale helps IR→O to guess what I→OR itself said, in points over I→O. A rationale that names the
    label gives it away; adjusted: the mean of both kinds (Hase et al. 2020). The paper has no such numbers."""
    kept = [r for r in corner.answers if r["i-or"] is not None]
    if kept:
        own = [r["i-or"] for r in kept]
        leaks = names_label([r["rationale i-or"] for r in kept], own)
        found = leakage_adjusted(own, [r["ir-o i-or"] for r in kept], [r["i-o"] for r in kept], leaks)
        yield {"examples": len(kept), "names the label %": POINTS * found.leaking_share,
               **estimate(quality_gain(kept, "ir-o i-or", "i-or"), scale=POINTS), "naming": _points(found.leaking),
               "not naming": _points(found.other), "adjusted": POINTS * found.adjusted}  # fmt: skip


def _points(value: float | None) -> float | None:
    return None if value is None else POINTS * value


@corner_table("both_tests", "Do label and rationale belong together?",
              "corpus, label and rationale, fail, labels collapse at σ², rationales collapse at σ², ours, low, high, coupling, "
              "p of coupling, words, shared moves, p of moves, rank agreement")  # fmt: skip
def both_tests(corner: Corner) -> TableRows:
    """Ours: grid steps of σ² between the collapse of rationales and that of labels. Coupling: whether the same draws of noise
    break both. Shared moves: whether the importance of words for label and for rationale moves alike when the input is shaken
    a little, as it does not in two models. Rank agreement: the plain one, which two models have too. Glued: label and
    rationale of two models trained apart, which nothing connects."""
    for title, (labels, rationales) in corner.pairs().items():
        failing, (shared, plain) = corner.failing(labels, rationales), corner.agreeing(labels, rationales)
        yield {
            "label and rationale": title, "fail": failing.verdict,
            "labels collapse at σ²": failing.label_collapse, "rationales collapse at σ²": failing.rationale_collapse,
            **row(failing.steps), "coupling": failing.coupling, "p of coupling": failing.p, "words": shared.verdict,
            "shared moves": shared.value and shared.value.value, "p of moves": shared.p,
            "rank agreement": plain and plain.value.value,
        }  # fmt: skip


@corner_table("roar", "Figures 7, 11 and 12 in numbers: ROAR",
              "corpus, hidden words, hidden %, measure, examples, ours, low, high")  # fmt: skip
def roar_table(corner: Corner) -> TableRows:
    """I→OR retrained on texts without the words that rank highest, on test texts without theirs; per cent and points."""
    for (by, percent), found in corner.roar.items():
        base = {"hidden words": hidden_by(by), "hidden %": percent, "examples": len(found)}
        yield {**base, "measure": "label accuracy", **estimate(right(found, "label", "gold"), scale=POINTS)}
        yield {**base, "measure": "rationale quality", **estimate(quality_gain(found, "ir-o", "gold"), scale=POINTS)}


def hidden_by(by: str) -> str:
    known = {"label": "by a(X)_L", "rationale": "by a(X)_R", "random": "at random", "nothing": "none"}
    return known.get(by, f"by {by.replace('_', ' ')}")


@corner_table("shared_words", "What rankings of words share", COLUMNS)
def shared_words(corner: Corner) -> TableRows:
    """Per cent of the words of one ranking's top that are in the other's."""
    if (own := corner.task.roar) is None:
        return
    for other, percent in ((other, percent) for other in ("rationale", *own.methods) for percent in own.percents):
        both = [(set(top_words(r["label"], percent)), set(top_words(r[other], percent)))
                for r in corner.ranked if r["label"] is not None and r[other] is not None]  # fmt: skip
        yield {"what": f"a(X)_L and {hidden_by(other)[3:]}, top {percent:g} %",
               "examples": len(both), **estimate([len(a & b) / len(a) for a, b in both], scale=POINTS),
               "paper": published(PAPER, "shared", corner.name, other, percent)}  # fmt: skip


@corner_table("trained", "The models", "corpus, model, part, examples, accuracy %, BLEU, trained on, epoch kept")
def trained(corner: Corner) -> TableRows:
    """Greedy outputs. BLEU: of rationales against the first two that people wrote (sacrebleu, lower-cased)."""
    for variant, r in ((variant, r) for variant, found in corner.trained.items() for r in found):
        yield {"model": arrows(variant), "part": r["split"], "examples": r["written"],
               "accuracy %": _points(r["accuracy"]), "BLEU": r["bleu"], "trained on": r["train_examples"],
               "epoch kept": r["epoch"]}  # fmt: skip


def arrows(variant: str) -> str:
    """ "ir-o" → "IR→O"; the names of further I→OR models as they are."""
    return variant.upper().replace("-", "→") if variant in ("i-or", "ir-o", "i-o", "r-o", "i-r") else f"I→OR, {variant}"


@corner_table("generations", "What I→OR writes", "corpus, id, input, right label, I→OR says, because, people say")
def generations(corner: Corner) -> TableRows:
    """The first examples of the test part in the order of the file. Nobody chose them."""
    for r in corner.answers[: corner.subject.settings.shown]:
        said = {"I→OR says": r["i-or"] or "–", "because": r["rationale i-or"] or "–", "people say": r["rationale gold"]}
        yield {"id": r["id"], "input": r["input"], "right label": r["label"], **said}


@corner_table("noised_outputs", "Tables 6 and 11 to 13: outputs under noise", "corpus, id, right label, level, σ², output")
def noised_outputs(corner: Corner) -> TableRows:
    """The first test examples, first draw of noise. Level: σ² in units of the word table's variance, or σ² itself."""
    levels = [[one for one in rows if one["draw"] == 0] for rows in corner.noised["joint 0"]]
    for number in range(min(corner.subject.settings.shown_noised, len(levels[0]))):
        for r in (rows[number] for rows in levels):
            yield {"id": r["id"], "right label": r["gold"], "level": f"{r['level']:g}",
                   "σ²": r["noise"], "output": r["output"] or "(nothing)"}  # fmt: skip


ALL = (table_3, table_4, table_5, table_9, table_10, both_tests, roar_table, simulatability, shared_words, table_7, trained,
       generations, noised_outputs)  # fmt: skip
"""In the order of the report."""
