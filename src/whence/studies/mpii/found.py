"""What is trained and measured, in which order, and what is kept of it for tables, figures and claims."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence.run.engine import Piece, Rows
from whence.studies.mpii import pieces
from whence.studies.mpii.models import CAGE, PEOPLE, ROWS, Subject
from whence.studies.mpii.settings import MpiiSettings, Task
from whence.studies.study import Context

Key = tuple[str, str]
"""(corpus, row)."""
ASSOCIATED = ("baseline", "sim", "bart_sim")
"""Rows that are put to the association tests, first seed."""


@dataclass
class Found:
    """By corpus and row, the rows of each seed."""

    settings: MpiiSettings
    sheets: Path | None = None
    """The folder for human judges' sheets."""
    trained: dict[Key, list[Rows]] = field(default_factory=dict)
    written: dict[Key, list[Rows]] = field(default_factory=dict)
    """People's too."""
    critics: dict[str, Rows] = field(default_factory=dict)
    outside: dict[tuple[str, str, str], list[Rows]] = field(default_factory=dict)
    """By corpus, row and the other corpus."""
    associated: dict[Key, dict[str, Any]] = field(default_factory=dict)
    exchanged: dict[Key, Rows] = field(default_factory=dict)

    def rows(self, corpus: str) -> list[str]:
        return list(self.settings.corpora[corpus].rows)

    def has(self, corpus: str, *rows: str) -> bool:
        return all((corpus, row) in self.written for row in rows)


def work(context: Context) -> Found:
    settings: MpiiSettings = context.settings
    found = Found(settings)
    models = {
        (corpus, row): [Subject(corpus=corpus, row=row, settings=settings, root=context.root, seed=context.seed + i)
                        for i in range(seeds)]
        for corpus, task in settings.corpora.items() for row, seeds in task.rows.items()
    }  # fmt: skip
    humans = {
        corpus: Subject(corpus=corpus, row=PEOPLE, settings=settings, root=context.root, seed=0) for corpus in settings.corpora
    }
    found.trained = context.gather({key: [_piece("train", one) for one in several] for key, several in models.items()})
    critics = {c: _piece("teach_critic", humans[c]) for c, task in settings.corpora.items() if task.critic is not None}
    found.critics = context.each(critics)
    found.written = context.gather({key: [_piece("write", one) for one in several] for key, several in models.items()})
    found.written |= context.gather({(corpus, PEOPLE): [_piece("people", one)] for corpus, one in humans.items()})
    found.outside = context.gather({
        (corpus, row, other): [
            _piece("outside", one, f"-{other}", corpus=other, split=split, count=settings.corpora[corpus].outside_count)
            for one in several
        ]
        for (corpus, row), several in models.items()
        for other, split in settings.corpora[corpus].outside.items()
    })  # fmt: skip
    first = dict(_first(settings, models))
    tested = context.each({
        key: _piece("associate", one, count=task.associated, levels=list(task.levels), draws=task.draws)
        for key, (one, task) in first.items() if task.associated
    })  # fmt: skip
    found.associated = {key: row for key, [row] in tested.items()}
    found.exchanged = context.each({
        (c, row): _piece("exchange", several[0], count=settings.corpora[c].intervened)
        for (c, row), several in models.items() if settings.corpora[c].intervened and ROWS[row].model != CAGE
    })  # fmt: skip
    return found


def _first(settings: MpiiSettings, models: dict[Key, list[Subject]]) -> Iterator[tuple[Key, tuple[Subject, Task]]]:
    for (corpus, row), several in models.items():
        if row in ASSOCIATED:
            yield (corpus, row), (several[0], settings.corpora[corpus])


def _piece(work: str, subject: Subject, more: str = "", **arguments: Any) -> Piece:
    name = f"{work.replace('_', '-')}-{subject.name}{more}"
    return Piece(name, getattr(pieces, work), {"subject": subject, **arguments})
