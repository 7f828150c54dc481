"""The study of alignment rationales for natural language inference (Jiang et al. 2021)."""

from whence.explain.alignments import ALIGNMENT_METHODS
from whence.studies.alignment import tables
from whence.studies.alignment.claims import claims
from whence.studies.alignment.figures import SHEETS, figures, sheet_items
from whence.studies.alignment.found import Found, work
from whence.studies.alignment.settings import AlignmentSettings, settings
from whence.studies.kit.sheets import Answers, judged
from whence.studies.study import Context, Findings, Study


def run(context: Context) -> Findings:
    found = work(context)
    own = found.settings
    answers: dict[str, Answers] = {name: {} for name in SHEETS}
    if own.judged:
        folder, items = context.artefact("sheets"), sheet_items(found)
        answers = {name: judged(folder, sheet, items[name], context.seed) for name, sheet in SHEETS.items()}
    made = [
        *tables.table_1(own, found.explained), tables.table_2(own, answers["readability"]),
        tables.table_3(own, found.accuracy, found.explained, answers["agreement"]), tables.table_4(own, found.roles),
        tables.table_planted(own, found.explained), tables.table_cut(own, found.cut, found.explained),
        tables.table_ablated(own, found.ablated, found.explained),
    ]  # fmt: skip
    return Findings(made, figures(found), claims(own, found.explained, found.roles), [*_notes(context.settings, found)])


def _notes(asked: AlignmentSettings, found: Found) -> list[str]:
    own, notes = found.settings, []
    if len(own.targets) < len(asked.targets):
        notes.append("Without a pretrained transformer: give one by --set model=FOLDER to have MiniLM's part of the study.")
    if own.vectors is None and own.train != "scenes":
        notes.append("Without word vectors (--set vectors=FILE): words that training does not show are unknown to DA and ESIM.")
    for name, target in own.targets.items():
        rows = found.trained[name]
        shown = ", ".join(f"{row['split']} {row['accuracy']:.4f}" for row in rows)
        notes.append(f"{target.title} was trained on {rows[0]['train_examples']} pairs of {own.train}; accuracy: {shown}.")
    for target in own.targets.values():
        notes += [
            f"{target.title}: {ALIGNMENT_METHODS[m].title} on {n} pairs of each corpus."
            for m, n in target.fewer.items() if m in own.methods
        ]  # fmt: skip
    for target in own.targets.values():
        notes += [
            f"{target.title}: {ALIGNMENT_METHODS[m].title} with " + ", ".join(f"{k} = {v}" for k, v in given.items()) + "."
            for m, given in target.parameters.items() if m in own.methods
        ]  # fmt: skip
    if own.judged:
        notes.append("Sheets for human judges are in sheets/ (Table 2, agreement on HANS).")
    for name, rows in found.roles.items():
        share = sum(r["match"] for r in rows) / len(rows)
        notes.append(f"{own.targets[name].title}: {100 * share:.1f} % of HANS pairs share a predicate.")
    for name, rows in found.needs.items():  # whether a model relies on the planted pair: else a faithful mask need not hold it
        without, alone = (sum(row[way] for row in rows) for way in ("without", "alone"))
        notes.append(
            f"{own.targets[name].title}: of {len(rows)} rightly predicted contradictions {without:.0f} stay without the "
            f"planted pair, {alone:.0f} with it alone."
        )
    return notes


STUDY = Study(
    "alignment",
    "Alignment rationales for natural language inference",
    "Jiang, Zhang, Yang, Zhao & Liu, ACL 2021",
    "Which word pairs does a model of sentence pairs rely on, and can roles mend what it aligns wrongly?",
    settings,
    run,
)
