"""Faithful by salience: SaLoss, erasure and FRESH (Chrysostomou & Aletras 2021). How to run it: docs/saloss.md."""

from whence.studies.saloss import tables
from whence.studies.saloss.claims import claims
from whence.studies.saloss.figures import figures
from whence.studies.saloss.found import Found, work
from whence.studies.saloss.models import BASE
from whence.studies.saloss.settings import settings
from whence.studies.study import Context, Findings, Study


def run(context: Context) -> Findings:
    found = work(context)
    order = (tables.table_1, tables.table_2, tables.table_3, tables.table_7, tables.table_8, tables.variants, tables.curves,
             tables.null, tables.shares, tables.selection, tables.what_the_prior_knows, tables.recovery, tables.table_5,
             tables.table_6)  # fmt: skip
    return Findings([table(found) for table in order], figures(found), claims(found), _notes(found))


def _notes(found: Found) -> list[str]:
    settings = found.settings
    notes = [
        "The unit is a word, not a word piece: pieces are hidden together and their scores added.",
        f"Hidden words are handled by '{settings.hide}'; the released code sets their ids to padding instead (--set hide=pad).",
        "The epoch is the one with the lowest loss on dev, salience term included, as in the paper.",
        f"Integrated gradients: a spline through {settings.ig_steps} points in equal steps of √t.",
        "x∇x is signed (in the released code: absolute).",
    ]
    if "evidence_inference" in settings.corpora:
        notes.append(
            "Evidence Inference is the part added in version 2.0 (the paper has 1.0's abstracts); an article is cut at the "
            "model's limit, which leaves title and abstract."
        )
    if "ag_news" in settings.corpora:
        notes.append("AG News' training set is a part of the published one, title and description joined; dev is 15 % of it.")
    weights = ", ".join(f"{corpus} {weight:g}" for corpus, weight in found.weight.items())
    chosen = ", ".join(found.selection) or "no corpus"
    notes.append(f"λ: {weights}; chosen on dev for {chosen}, else the paper's (or, on planted data, a set one).")
    cut = {c: found.trained[c, BASE][0]["cut"] for c in settings.corpora if found.trained[c, BASE][0]["cut"]}
    notes += [f"{corpus}: {n} test texts are longer than the model's limit and were cut." for corpus, n in cut.items()]
    return notes


STUDY = Study(
    "saloss",
    "Faithful by salience",
    "Chrysostomou & Aletras, Enjoy the Salience: Towards Better Transformer-based Faithful Explanations with Word Salience, "
    "EMNLP 2021",
    "Does drawing a model's attention towards words that TextRank finds salient make its explanations more faithful?",
    settings,
    run,
)
