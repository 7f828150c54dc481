"""The study of alignment rationales for natural language inference (Jiang et al. 2021)."""

from whence.explain.alignments import ALIGNMENT_METHODS
from whence.studies.alignment import tables
from whence.studies.alignment.claims import claims
from whence.studies.alignment.figures import SHEETS, figures, sheet_items
from whence.studies.alignment.found import Found, work
from whence.studies.alignment.settings import AlignmentSettings, settings
from whence.studies.kit.estimates import average
from whence.studies.kit.sheets import judged
from whence.studies.study import Context, Findings, Study


def run(context: Context) -> Findings:
    found = work(context)
    if found.settings.judged:
        folder, items = context.artefact("sheets"), sheet_items(found)
        found.answers |= {name: judged(folder, sheet, items[name], context.seed) for name, sheet in SHEETS.items()}
    order = (tables.table_2, tables.table_3, tables.table_4, tables.planted, tables.cut, tables.ablation)
    made = [*tables.table_1(found), *(table(found) for table in order)]
    return Findings(made, figures(found), claims(found), _notes(context.settings, found))


def _notes(asked: AlignmentSettings, found: Found) -> list[str]:
    own, notes = found.settings, []
    if len(own.targets) < len(asked.targets):
        notes.append("Without a pretrained transformer: give one by --set model=FOLDER to have MiniLM's part of the study.")
    if own.vectors is None and own.train != "scenes":
        notes.append("Without word vectors (--set vectors=FILE): words that training does not show are unknown to DA and ESIM.")
    for name, rows in found.trained.items():
        shown = ", ".join(f"{row['split']} {row['accuracy']:.4f}" for row in rows)
        notes.append(f"{found.title(name)} was trained on {rows[0]['train_examples']} pairs of {own.train}; accuracy: {shown}.")
    special = [(t.title, m, f"on {n} pairs of each corpus") for t in own.targets.values() for m, n in t.fewer.items()]
    special += [(t.title, m, "with " + ", ".join(f"{k} = {v}" for k, v in given.items()))
                for t in own.targets.values() for m, given in t.parameters.items()]  # fmt: skip
    notes += [f"{title}: {ALIGNMENT_METHODS[m].title} {how}." for title, m, how in special if m in own.methods]
    if own.judged:
        notes.append("Sheets for human judges are in sheets/ (Table 2, agreement on HANS).")
    for name, rows in found.roles.items():
        notes.append(f"{found.title(name)}: {100 * average(rows, 'match'):.1f} % of HANS pairs share a predicate.")
    for name, rows in found.needs.items():  # whether a model relies on the planted pair: else a faithful mask need not hold it
        without, alone = (sum(row[way] for row in rows) for way in ("without", "alone"))
        notes.append(
            f"{found.title(name)}: of {len(rows)} rightly predicted contradictions {without:.0f} stay without the planted pair,"
            f" {alone:.0f} with it alone."
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
