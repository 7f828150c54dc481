"""Is attention an explanation? The four tests of Wiegreffe & Pinter (2019), and those of Jain & Wallace (2019) they answer.

For every corpus: base models of several seeds; uniform attention; an MLP guided by other models' attention; adversaries over λ;
Jain & Wallace's correlations, permutations and per-instance search. On planted reviews also the truth that the papers lacked:
how much attention the words get that are the reason.
"""

from whence.studies.attention import tables
from whence.studies.attention.claims import claims
from whence.studies.attention.figures import figures
from whence.studies.attention.found import work
from whence.studies.attention.settings import settings
from whence.studies.study import Context, Findings, Study

NOTES = [
    "The epoch is chosen on dev; the paper chooses the base model's epoch on test.",
    "λ is the paper's. Its code trains on ½|Δp| − λ·KL, half of our TVD − 2λ·KL; the TVD of Tables 4 and 5 is halved as there; "
    "everywhere else it is the two-class |Δp|.",
    "Adversaries share the seed, and so the initial weights, of their base model, as in the released code; AdamW for its "
    "three Adam optimisers; the loss is not weighted by class.",
]


def run(context: Context) -> Findings:
    found = work(context)
    order = (tables.table_2, tables.table_3, tables.leaks, tables.table_4, tables.table_5, tables.other_adversaries,
             tables.correlations, tables.permutations, tables.planted, tables.table_1,
             tables.transformers)  # fmt: skip
    return Findings([table(found) for table in order], figures(found), claims(found), NOTES)


STUDY = Study(
    name="attention",
    title="Is attention an explanation?",
    paper="Wiegreffe & Pinter 2019, Attention is not not Explanation; Jain & Wallace 2019, Attention is not Explanation",
    about="Uniform attention, seeds, guided MLP and trained adversaries, with the tests that they answer.",
    settings=settings,
    run=run,
)
