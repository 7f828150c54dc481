"""Inference and interpretation that promote each other: SIM and AFiRe (Liu et al. 2022). How to run it: docs/mpii.md."""

import html
from pathlib import Path

from whence.errors import visible
from whence.studies.kit.sheets import Answers, Item, Sheet, judged
from whence.studies.mpii import tables
from whence.studies.mpii.claims import claims
from whence.studies.mpii.figures import figures
from whence.studies.mpii.found import Found, work
from whence.studies.mpii.settings import settings
from whence.studies.study import Context, Findings, Study

MARKS = ("1", "2", "3", "4", "5")
SHEETS = (
    Sheet("fidelity", "How well does the explanation support the label that stands with it? 1: not at all, 5: fully", MARKS),
    Sheet("label_told", "How well can the label be told from the explanation alone? 1: not at all, 5: beyond doubt", MARKS),
    Sheet("fluency", "How fluent is the explanation? 1: not English, 5: as a person would write", MARKS),
)


NOTES = (
    "Explanations are written greedily and fed back as tokens; the released code feeds back distributions.",
    "The prediction of a stepwise model is its label state after the end of its own explanation.",
    "CAGE learns to read people's explanations, and then reads those that its other half writes.",
    "Blind sheets for human judges are in sheets/. To have Table 6: put filled copies into sheets/answers/, remove "
    "results.json, and run the study again.",
)


def run(context: Context) -> Findings:
    found = work(context)
    answers = _judged(found, context.artefact("sheets"), context.seed)
    made = [
        tables.table_1(found), tables.table_2(found), tables.table_3(found), tables.examples(found),
        tables.table_6(found, answers), tables.evolution(found), tables.association(found), tables.exchange(found),
        tables.training(found),
    ]  # fmt: skip
    return Findings(made, figures(found), claims(found), list(NOTES))


def _judged(found: Found, folder: Path, seed: int) -> dict[str, Answers]:
    """Writes the sheets of Table 6 and reads what judges have put into sheets/answers."""
    items = []
    for corpus, task in found.settings.corpora.items():
        for row in task.rows:
            for one in found.written[corpus, row][0][: task.judged]:
                key = {"corpus": corpus, "row": row, "id": one["id"], "right": "right" if one["right"] else "wrong"}
                picture = f"<p><b>{html.escape(visible(one['predicted'] or 'no label'))}</b></p>"
                picture += f"<p>{html.escape(visible(one['rationale']))}</p>"
                said = one["predicted"] or "no label"
                items.append(Item(key, {"input": one["input"]}, said, one["rationale"], picture))
    alone = [Item(item.key, {}, item.label, item.explanation, item.picture) for item in items]
    return {sheet.name: judged(folder, sheet, items if sheet.name == "fidelity" else alone, seed) for sheet in SHEETS if items}


STUDY = Study(
    "mpii",
    "Inference and interpretation that promote each other",
    "Liu, Chen, Yang & Dai, MPII: Multi-Level Mutual Promotion for Inference and Interpretation, ACL 2022",
    "Does a model predict and explain better if label and explanation read each other at every step? Are the two then bound?",
    settings,
    run,
)
