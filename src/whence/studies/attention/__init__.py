"""Is attention an explanation? The four tests of Wiegreffe & Pinter (2019), and those of Jain & Wallace (2019) they answer.

For every corpus: base models of several seeds; uniform attention; an MLP guided by other models' attention; adversaries over λ;
Jain & Wallace's correlations, permutations and per-instance search. On planted reviews also the truth that the papers lacked:
how much attention the words get that are the reason.
"""

from whence.studies.attention import figures, tables
from whence.studies.attention.claims import claims
from whence.studies.attention.found import work
from whence.studies.attention.settings import settings
from whence.studies.study import Context, Findings, Study

NOTES = [
    "The epoch is chosen on dev; the paper chooses the base model's epoch on test.",
    "λ is the paper's. Its code trains on ½|Δp| − λ·KL, half of our TVD − 2λ·KL; TVD in our tables is the two-class |Δp|, "
    "and the paper's column is probably half of that.",
    "Adversaries share the seed, and so the initial weights, of their base model, as in the released code; AdamW for its "
    "three Adam optimisers; the loss is not weighted by class.",
]


def run(context: Context) -> Findings:
    here, encoded = work(context)
    made = [tables.table_2(here), tables.table_3(here), tables.table_4(here), tables.table_5(here), tables.practised(here),
            tables.correlations(here), tables.permutations(here), tables.planted(here),
            tables.transformers(encoded)]  # fmt: skip
    return Findings(made, [figures.violins(here), *figures.tradeoffs(here), *figures.heatmaps(here)], claims(here), NOTES)


STUDY = Study(
    name="attention",
    title="Is attention an explanation?",
    paper="Wiegreffe & Pinter 2019, Attention is not not Explanation; Jain & Wallace 2019, Attention is not Explanation",
    about="Uniform attention, seeds, guided MLP and trained adversaries, with the tests that they answer.",
    settings=settings,
    run=run,
)
