"""Is attention an explanation? The four tests of Wiegreffe & Pinter (2019), and those of Jain & Wallace (2019) they answer.

For every corpus: base models of several seeds; uniform attention; an MLP guided by other models' attention; adversaries over λ;
Jain & Wallace's correlations, permutations and per-instance search. On planted reviews also the truth that the papers lacked:
how much attention the words get that are the reason.
"""

from whence.run.engine import Piece
from whence.studies.attention import figures, tables
from whence.studies.attention.claims import claims
from whence.studies.attention.corner import GUIDES, Corner, prefix
from whence.studies.attention.pieces import Kind, Role, Subject, compare, correlate, picture, planted_mass, scores, search
from whence.studies.attention.settings import AttentionSettings, settings
from whence.studies.study import Context, Findings, Study


def run(context: Context) -> Findings:
    given: AttentionSettings = context.settings
    root = str(context.data_root) if context.data_root else None
    subjects = [Subject(corpus=name, root=root, plan=plan, settings=given) for name, plan in given.corpora.items()]
    encoders = [s.model_copy(update={"model": given.encoder}) for s in subjects if given.encoder and s.plan.encoder_lambdas]
    pieces = [piece for s in subjects for piece in bilstm_pieces(s)] + [p for s in encoders for p in encoder_pieces(s)]
    done = context.do(pieces)
    here = [Corner(s, done) for s in subjects]
    encoded = [Corner(s, done) for s in encoders]
    made = [tables.table_2(here), tables.table_3(here), tables.table_4(here), tables.table_5(here), tables.correlations(here),
              tables.permutations(here), tables.planted(here), tables.transformers(encoded)]  # fmt: skip
    pictures = [figures.violins(here), *figures.tradeoffs(here), *figures.heatmaps(here)]
    notes = [
        "The epoch is chosen on dev; the paper chooses the base model's epoch on test.",
        "λ is the paper's. Its code trains on ½|Δp| − λ·KL, half of our TVD − 2λ·KL; TVD in our tables is the two-class |Δp|, "
        "and the paper's column is probably half of that.",
        "Adversaries share the seed, and so the initial weights, of their base model, as in the released code; AdamW for its "
        "three Adam optimisers; the loss is not weighted by class.",
    ]
    return Findings([table for table in made if table.rows], pictures, claims(here), notes)


def bilstm_pieces(subject: Subject) -> list[Piece]:
    """Trainings first, so that a comparison finds its models in the cache."""
    plan = subject.plan
    kinds: list[Kind] = [*GUIDES.values(), "uniform"] if plan.guides else ["uniform"]
    roles = [Role("base", seed) for seed in range(plan.seeds)]
    roles += [Role("adversary", seed, strength) for seed in range(plan.repeats) for strength in plan.lambdas]
    roles += [Role(kind, seed) for seed in range(plan.repeats) for kind in kinds]
    pieces = _trainings(subject, roles) + _comparisons(subject, plan.lambdas)
    pieces.append(Piece(f"{prefix(subject)}-search", search, {"subject": subject, "seed": 0}))
    pieces.append(Piece(f"{prefix(subject)}-correlation", correlate, {"subject": subject, "seed": 0}))
    if plan.title == "planted reviews":
        several = [tuple(Role("base", seed)) for seed in range(plan.seeds)]
        several += [tuple(Role("uniform", 0)), *(tuple(Role("adversary", 0, strength)) for strength in plan.lambdas)]
        pieces.append(Piece(f"{prefix(subject)}-planted", planted_mass, {"subject": subject, "roles": several, "seed": 0}))
    if plan.lambdas:
        strength = subject.settings.guide_lambda
        pieces.append(Piece(f"{prefix(subject)}-picture", picture, {"subject": subject, "seed": 0, "strength": strength}))
    return pieces


def encoder_pieces(subject: Subject) -> list[Piece]:
    """Uniform attention, another seed, and adversaries: the tests that make sense for the [CLS] row of a transformer."""
    roles = [Role("base", 0), Role("base", 1), Role("uniform", 0)]
    roles += [Role("adversary", 0, strength) for strength in subject.plan.encoder_lambdas]
    return _trainings(subject, roles) + _comparisons(subject, subject.plan.encoder_lambdas, seeds=2, repeats=1)


def _trainings(subject: Subject, roles: list[Role]) -> list[Piece]:
    return [Piece(f"{prefix(subject)}-{r.name}", scores, {"subject": subject, "role": tuple(r)}) for r in roles]


def _comparisons(
    subject: Subject, lambdas: tuple[float, ...], seeds: int | None = None, repeats: int | None = None
) -> list[Piece]:
    others = [tuple(Role("base", seed)) for seed in range(1, seeds or subject.plan.seeds)] + [tuple(Role("uniform", 0))]
    arguments = {"subject": subject, "base": tuple(Role("base", 0)), "others": others}
    pieces = [Piece(f"{prefix(subject)}-seeds", compare, arguments)]
    for seed in range(repeats or subject.plan.repeats):
        for strength in lambdas:
            arguments = {
                "subject": subject,
                "base": tuple(Role("base", seed)),
                "others": [tuple(Role("adversary", seed, strength))],
            }
            pieces.append(Piece(f"{prefix(subject)}-against-{strength:g}-{seed}", compare, arguments))
    return pieces


STUDY = Study(
    name="attention",
    title="Is attention an explanation?",
    paper="Wiegreffe & Pinter 2019, Attention is not not Explanation; Jain & Wallace 2019, Attention is not Explanation",
    about="Uniform attention, seeds, guided MLP and trained adversaries, with the tests that they answer.",
    settings=settings,
    run=run,
)
