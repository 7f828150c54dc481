"""Do written labels and rationales belong together? (Wiegreffe, Marasović & Smith 2021)

Five models of each corpus and the pipeline; robustness equivalence and feature-importance agreement, with ROAR; and controls of
which it is known that label and rationale have nothing to do with each other.
"""

from whence.studies.association.claims import claims
from whence.studies.association.figures import figures
from whence.studies.association.found import Found, work
from whence.studies.association.settings import AssociationSettings, settings
from whence.studies.association.tables import ALL
from whence.studies.study import Context, Findings, Study


def run(context: Context) -> Findings:
    found = work(context)
    said = claims(found.corners)
    return Findings([table(found) for table in ALL], figures(found.corners), said, _notes(context.settings, found))


def _notes(own: AssociationSettings, found: Found) -> list[str]:
    notes = [
        "Greedy outputs; an output without a label is wrong, never stable, and has no rationale.",
        "Noise is added to every input position but padding, prompt and end included.",
        "ROAR hides words, not tokens; words of the prompt are never hidden; neighbours share one mark.",
    ]
    if own.architecture == "warm":
        notes.append("The models are encoder–decoders that start from a small BERT encoder: there is no T5 here.")
    for corner in found.corners:
        if corner.task.nli_encoder:
            notes.append(
                f"{corner.name}: the encoder was first taught NLI labels ({own.nli}), as T5's pre-training mixture was."
            )
        if corner.task.held_out:
            notes.append(
                f"{corner.name}: the published test set has no labels. As in the paper the published dev set is the test set; "
                f"epochs are chosen on {corner.task.held_out} training rows that nothing learns from."
            )
        if corner.task.roar and corner.ranked:
            lacking = sum(row["label"] is None for row in corner.ranked)
            notes.append(
                f"{corner.name}: of ROAR's {len(corner.ranked)} examples (train, dev and test) {lacking} have no label or no "
                "rationale of I→OR; chance ranks their words."
            )
    return notes


STUDY = Study(
    "association",
    "Do written labels and rationales belong together?",
    "Wiegreffe, Marasović & Smith, EMNLP 2021",
    "Labels and free-text rationales of one model: do they fail together, and do they come from the same words?",
    settings,
    run,
)
