"""Is attention an explanation? The four tests of Wiegreffe & Pinter (2019), and those of Jain & Wallace (2019) they answer.

For every corpus: base models of several seeds; uniform attention; an MLP guided by other models' attention; adversaries over λ;
Jain & Wallace's correlations, permutations and per-instance search. On planted reviews also the truth that the papers lacked:
how much attention the words get that are the reason.
"""

from whence.run.engine import Piece, Rows
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
    done: dict[str, Rows] = {}
    for stage in stages(subjects, encoders):
        done |= context.do(stage)
    here = [Corner(s, done) for s in subjects]
    encoded = [Corner(s, done) for s in encoders]
    made = [tables.table_2(here), tables.table_3(here), tables.table_4(here), tables.table_5(here), tables.practised(here),
            tables.correlations(here), tables.permutations(here), tables.planted(here),
            tables.transformers(encoded)]  # fmt: skip
    pictures = [figures.violins(here), *figures.tradeoffs(here), *figures.heatmaps(here)]
    notes = [
        "The epoch is chosen on dev; the paper chooses the base model's epoch on test.",
        "λ is the paper's. Its code trains on ½|Δp| − λ·KL, half of our TVD − 2λ·KL; TVD in our tables is the two-class |Δp|, "
        "and the paper's column is probably half of that.",
        "Adversaries share the seed, and so the initial weights, of their base model, as in the released code; AdamW for its "
        "three Adam optimisers; the loss is not weighted by class.",
    ]
    return Findings([table for table in made if table.rows], pictures, claims(here), notes)


def stages(subjects: list[Subject], encoders: list[Subject]) -> list[list[Piece]]:
    """Pieces of one stage do not need each other: base models; what is trained on them, and on that; comparisons."""
    roles = [(s, role) for s in subjects for role in bilstm_roles(s)] + [
        (s, role) for s in encoders for role in encoder_roles(s)
    ]
    needs: dict[Kind, int] = {"base": 0, "mlp-adversary": 2}
    trainings: list[list[Piece]] = [[], [], []]
    for subject, role in roles:
        piece = Piece(f"{prefix(subject)}-{role.name}", scores, {"subject": subject, "role": tuple(role)})
        trainings[needs.get(role.kind, 1)].append(piece)
    compared = [piece for s in subjects for piece in bilstm_tests(s)]
    compared += [piece for s in encoders for piece in _comparisons(s, s.plan.encoder_lambdas, seeds=2, repeats=1)]
    return [*trainings, compared]


def bilstm_roles(subject: Subject) -> list[Role]:
    plan = subject.plan
    kinds: list[Kind] = [*GUIDES.values(), "uniform"] if plan.guides else ["uniform"]
    roles = [Role("base", seed) for seed in range(plan.seeds)]
    roles += [Role(kind, seed) for seed in range(plan.repeats) for kind in kinds]
    roles += [Role("adversary", seed, strength) for seed in range(plan.repeats) for strength in plan.lambdas]
    return roles + _practised(subject)


def _practised(subject: Subject) -> list[Role]:
    seeds = range(subject.plan.repeats) if subject.plan.cuts else ()
    return [Role("adversary-cuts", seed, subject.settings.guide_lambda) for seed in seeds]


def encoder_roles(subject: Subject) -> list[Role]:
    """Uniform attention, another seed, and adversaries: the tests that make sense for the [CLS] row of a transformer."""
    adversaries = [Role("adversary", 0, strength) for strength in subject.plan.encoder_lambdas]
    return [Role("base", 0), Role("base", 1), Role("uniform", 0), *adversaries]


def bilstm_tests(subject: Subject) -> list[Piece]:
    plan, name = subject.plan, prefix(subject)
    pieces = _comparisons(subject, plan.lambdas, plan.seeds, plan.repeats)
    pieces += [_against(subject, role) for role in _practised(subject)]
    pieces.append(Piece(f"{name}-search", search, {"subject": subject, "seed": 0}))
    pieces.append(Piece(f"{name}-correlation", correlate, {"subject": subject, "seed": 0}))
    if plan.title == "planted reviews":
        several = [tuple(Role("base", seed)) for seed in range(plan.seeds)]
        several += [tuple(Role("uniform", 0)), *(tuple(Role("adversary", 0, strength)) for strength in plan.lambdas)]
        pieces.append(Piece(f"{name}-planted", planted_mass, {"subject": subject, "roles": several, "seed": 0}))
    if plan.lambdas:
        arguments = {"subject": subject, "seed": 0, "strength": subject.settings.guide_lambda}
        pieces.append(Piece(f"{name}-picture", picture, arguments))
    return pieces


def _comparisons(subject: Subject, lambdas: tuple[float, ...], seeds: int, repeats: int) -> list[Piece]:
    others = [tuple(Role("base", seed)) for seed in range(1, seeds)] + [tuple(Role("uniform", 0))]
    arguments = {"subject": subject, "base": tuple(Role("base", 0)), "others": others}
    pieces = [Piece(f"{prefix(subject)}-seeds", compare, arguments)]
    return pieces + [_against(subject, Role("adversary", seed, strength)) for seed in range(repeats) for strength in lambdas]


def _against(subject: Subject, adversary: Role) -> Piece:
    arguments = {"subject": subject, "base": tuple(Role("base", adversary.seed)), "others": [tuple(adversary)]}
    return Piece(f"{prefix(subject)}-against-{adversary.name}", compare, arguments)


STUDY = Study(
    name="attention",
    title="Is attention an explanation?",
    paper="Wiegreffe & Pinter 2019, Attention is not not Explanation; Jain & Wallace 2019, Attention is not Explanation",
    about="Uniform attention, seeds, guided MLP and trained adversaries, with the tests that they answer.",
    settings=settings,
    run=run,
)
