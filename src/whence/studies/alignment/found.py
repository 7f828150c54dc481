"""Which pieces are asked for, in which order, and their rows by what they are about."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, product

from whence.run.engine import Piece, Rows
from whence.studies.alignment import pieces
from whence.studies.alignment.models import Subject, chosen_pairs
from whence.studies.alignment.settings import ROLE_CORPUS, AlignmentSettings
from whence.studies.kit.paper import read_paper
from whence.studies.kit.sheets import Answers
from whence.studies.study import Context

PAPER = read_paper(__package__)
ROLE_SHARD = 5000


@dataclass
class Found:
    settings: AlignmentSettings
    subjects: dict[str, Subject]
    trained: dict[str, Rows] = field(default_factory=dict)
    """By model, as the following."""
    roles: dict[str, Rows] = field(default_factory=dict)
    needs: dict[str, Rows] = field(default_factory=dict)
    accuracy: dict[tuple[str, str], Rows] = field(default_factory=dict)
    """By model and corpus, on whole test sets."""
    explained: dict[tuple[str, str, str], Rows] = field(default_factory=dict)
    """By model, corpus and method."""
    cut: dict[tuple[str, str], Rows] = field(default_factory=dict)
    """By model and corpus, the explained pairs without any alignment."""
    ablated: dict[tuple[str, str, str], Rows] = field(default_factory=dict)
    """By model, corpus and what is left out of AREC."""
    answers: dict[str, Answers] = field(default_factory=dict)
    """Of human judges, by sheet."""

    def title(self, model: str) -> str:
        return self.settings.targets[model].title

    def by_method(self, model: str, corpus: str) -> dict[str, Rows]:
        return {method: rows for (owner, where, method), rows in self.explained.items() if (owner, where) == (model, corpus)}


def work(context: Context) -> Found:
    own: AlignmentSettings = context.settings
    # without a pretrained transformer its part is left out
    targets = {name: target for name, target in own.targets.items() if target.architecture or own.model}
    own = own.model_copy(update={"targets": targets})
    subjects = {
        name: Subject(name=name, target=target, settings=own, root=context.root, seed=context.seed)
        for name, target in targets.items()
    }
    found = Found(own, subjects)

    def by_model(name: str, work: Callable[..., Rows]) -> dict[str, Rows]:
        return context.each({n: Piece(f"{name}-{n}", work, {"subject": s}) for n, s in subjects.items()})

    def by_corpus(name: str, work: Callable[..., Rows], corpora: Iterable[str]) -> dict[tuple[str, str], Rows]:
        both = [(n, c) for n in subjects for c in corpora]
        return context.each({(n, c): Piece(f"{name}-{n}-{c}", work, {"subject": subjects[n], "corpus": c}) for n, c in both})

    found.trained = by_model("train", pieces.train)
    if ROLE_CORPUS in own.corpora:
        asked = context.gather({name: _role_pieces(subject) for name, subject in subjects.items()})
        found.roles = {name: [*chain(*several)] for name, several in asked.items()}
    found.cut = by_corpus("cut", pieces.cut, own.corpora)
    found.accuracy = by_corpus("accuracy", pieces.accuracy, [c for c in own.corpora if c != ROLE_CORPUS])
    found.accuracy |= {(n, ROLE_CORPUS): [{**row, "right": row["as it is"]} for row in rows] for n, rows in found.roles.items()}
    if "diffmask" in own.methods:
        by_model("gate", pieces.train_gate)
    found.explained = _explained(context, own, subjects)
    found.ablated = context.each({
        (n, c, title): Piece(f"ablated-{n}-{c}-{i}", pieces.ablate,
                             {"subject": s, "corpus": c, "parameters": given, "count": own.ablated})
        for n, s in subjects.items() for c in own.corpora for i, (title, given) in enumerate(own.ablations.items())
    })  # fmt: skip
    if "scenes" in own.corpora:
        found.needs = by_model("needs", pieces.needs)
    return found


def _role_pieces(subject: Subject) -> list[Piece]:
    count = len(chosen_pairs(ROLE_CORPUS, subject.target.role_pairs, subject.root))
    return [
        Piece(f"roles-{subject.name}-{at:05d}", pieces.roles, {"subject": subject, "start": at, "end": at + ROLE_SHARD})
        for at in range(0, count, ROLE_SHARD)
    ]


def _explained(context: Context, own: AlignmentSettings, subjects: dict[str, Subject]) -> dict[tuple[str, str, str], Rows]:
    """AREC first: the others are measured at its fidelity on the same pair."""

    def rows_of(methods: list[str], known: Mapping[tuple[str, str], Mapping[str, float]]) -> dict[tuple[str, str, str], Rows]:
        every = product(subjects, own.corpora, methods)
        asked = {(n, c, method): _shards(subjects[n], c, method, known.get((n, c))) for n, c, method in every}
        return {key: [*chain(*several)] for key, several in context.gather(asked).items()}

    first = rows_of(["arec"], {})
    known = {(n, c): {row["id"]: row["fidelity"] for row in rows} for (n, c, _), rows in first.items()}
    found = first | rows_of([method for method in own.methods if method != "arec"], known)
    return {key: found[key] for key in product(subjects, own.corpora, own.methods)}


def _shards(subject: Subject, corpus: str, method: str, known: Mapping[str, float] | None) -> list[Piece]:
    """`known`: AREC's fidelity by id."""
    pairs, made = subject.pairs(corpus), []
    for i, numbers in enumerate(shards(len(pairs), subject.target.fewer.get(method), subject.target.shard)):
        ids = [pairs[number].id for number in numbers]
        fidelity = None if known is None else {one: known[one] for one in ids if one in known}
        arguments = {"subject": subject, "corpus": corpus, "method": method, "numbers": numbers, "fidelity": fidelity}
        made.append(Piece(f"{subject.name}-{corpus}-{method}-{i:03d}", pieces.explain, arguments))
    return made


def shards(there: int, fewer: int | None, size: int) -> list[list[int]]:
    """The numbers of the pairs of each piece; a method that is tried on fewer takes every so many, not the first."""
    count = min(there, fewer or there)
    numbers = [(2 * i + 1) * there // (2 * count) for i in range(count)]  # the middle of each stretch
    # a shard of a costly method is as much smaller as the method is tried on fewer pairs
    each = max(1, size * count // there)
    return [numbers[at : at + each] for at in range(0, count, each)]
