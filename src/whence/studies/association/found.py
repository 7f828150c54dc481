"""Which pieces are asked for, in which order, and their rows by what they are about."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whence.explain.text import Rationale
from whence.explain.text.importance import DRAWS, Importance
from whence.measure.agreement import Agreement, agreement
from whence.measure.roar import random_scores, top_words
from whence.measure.robustness import Robustness, robustness
from whence.measure.shared_importance import SharedImportance, shared_importance
from whence.run.engine import Piece, Rows
from whence.studies.association import pieces
from whence.studies.association.models import Subject
from whence.studies.association.settings import VARIANTS, Task
from whence.studies.kit.corpora import TITLES
from whence.studies.study import Context

Row = dict[str, Any]
Key = str
"""A model whose outputs are tested: "joint 0", "joint 1", … (I→OR by seed), "constant", "i-r"."""
RANKINGS = ("label", "rationale", "random")
NOTHING_HIDDEN = ("nothing", 0.0)


@dataclass
class Corner:
    """What was found on one corpus."""

    subject: Subject
    trained: dict[str, Rows] = field(default_factory=dict)
    """By variant, and of the further models by key."""
    lengths: Rows = field(default_factory=list)
    answers: Rows = field(default_factory=list)
    noised: dict[Key, list[Rows]] = field(default_factory=dict)
    """By model, for each level."""
    scored: dict[Key, Rows] = field(default_factory=dict)
    constant: Rows = field(default_factory=list)
    ranked: Rows = field(default_factory=list)
    roar: dict[tuple[str, float], Rows] = field(default_factory=dict)
    """By ranking and share of hidden words, in per cent."""
    _failing: dict[tuple[Key, Key], Robustness] = field(default_factory=dict)
    _agreeing: dict[tuple[Key, Key], tuple[SharedImportance, Agreement | None]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.subject.corpus

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def task(self) -> Task:
        return self.subject.task

    def pairs(self) -> dict[str, tuple[Key, Key]]:
        """What both tests are asked about: (whose label, whose rationale) by title. Glued: two models that know nothing of each
        other, of which one gives the label and the other the rationale."""
        joint = [key for key in self.noised if key.startswith("joint")]
        found = {f"{key.replace('joint', 'joint model, seed')}": (key, key) for key in joint}
        if len(joint) > 1:
            found |= {f"glued, label of seed {a[6:]}, rationale of seed {b[6:]}": (a, b)
                      for a, b in zip(joint, [*joint[1:], joint[0]], strict=True)}  # fmt: skip
        if "i-r" in self.noised:
            found["glued, label of I→OR, rationale of I→R"] = (joint[0], "i-r")
        if "constant" in self.noised:
            found["constant rationale"] = ("constant", "constant")
        return found

    def failing(self, labels: Key, rationales: Key) -> Robustness:
        """Robustness equivalence of one model, or of two glued together."""
        if (labels, rationales) not in self._failing:
            self._failing[labels, rationales] = self._robustness(labels, rationales)
        return self._failing[labels, rationales]

    def _robustness(self, labels: Key, rationales: Key) -> Robustness:
        draws, written = self.task.noise.draws, []
        for ours, theirs in zip(self.noised[labels], self.noised[rationales], strict=True):
            told = {(row["draw"], row["id"]): row["rationale"] for row in theirs}
            by_draw: dict[int, list[Rationale]] = {}
            for row in ours:
                text = told[row["draw"], row["id"]]
                one = Rationale(row["id"], {}, row["label"], text, (), (), (), (), row["ended"] > 0, noise=row["noise"])
                by_draw.setdefault(row["draw"], []).append(one)
            written.append(list(by_draw.values()) if len(by_draw) == draws else [by_draw[0]] * draws)
        return robustness(written)

    def agreeing(self, labels: Key, rationales: Key) -> tuple[SharedImportance, Agreement | None]:
        """Feature-importance agreement of one model, or of two glued together; and plain rank agreement beside it."""
        if (labels, rationales) not in self._agreeing:
            self._agreeing[labels, rationales] = self._agreement(labels, rationales)
        return self._agreeing[labels, rationales]

    def _agreement(self, labels: Key, rationales: Key) -> tuple[SharedImportance, Agreement | None]:
        both = list(zip(self.scored[labels], self.scored[rationales], strict=True))
        plain = [_importance(ours, theirs, ours["label"], theirs["rationale"]) for ours, theirs in both]
        shaken = [
            [_importance(a, b, _draw(a, "shaken label", d), _draw(b, "shaken rationale", d)) for a, b in both]
            for d in range(DRAWS)
        ]
        known = [row["depends"] for row in self.scored[rationales] if row["depends"] is not None]
        return shared_importance(shaken, float(np.mean(known)) if known else 0.0), agreement(plain)


def _importance(ours: Row, theirs: Row, label: Any, rationale: Any) -> Importance | None:
    assert ours["id"] == theirs["id"]
    if label is None or rationale is None:
        return None
    return Importance(ours["id"], tuple(ours["words"]), np.array(label), np.array(rationale))


def _draw(row: Row, column: str, number: int) -> Any:
    return None if row[column] is None else np.array(row[column]).reshape(DRAWS, -1)[number]


@dataclass
class Found:
    corners: list[Corner] = field(default_factory=list)


class Work:
    def __init__(self, context: Context) -> None:
        self.context = context

    def run(self) -> Found:
        """One corpus after another, so that a run that is stopped has whole ones; ROAR at the end, because it costs most."""
        found = Found([Corner(self.subject(name)) for name in self.context.settings.corpora])
        for corner in found.corners:
            self.train(corner)
            self.measure(corner)
        for corner in found.corners:
            self.occlude(corner)
        return found

    def subject(self, corpus: str) -> Subject:
        context = self.context
        return Subject(corpus=corpus, variant="i-or", settings=context.settings, root=context.root, seed=context.seed)

    def train(self, corner: Corner) -> None:
        subject = corner.subject
        asked = {variant: subject.as_variant(variant) for variant in VARIANTS}
        asked |= {key: model for key, model in self.tested(corner).items() if key not in ("joint 0", "i-r")}
        corner.trained = self.each("train", pieces.train, asked)

    def tested(self, corner: Corner) -> dict[Key, Subject]:
        """The models whose outputs are tested."""
        subject, task = corner.subject, corner.task
        found = {f"joint {i}": subject.model_copy(update={"seed": subject.seed + i}) for i in range(task.joint_seeds)}
        if task.joint_seeds == 1:
            found["i-r"] = subject.as_variant("i-r")
        if task.constant:
            found["constant"] = subject.model_copy(update={"constant": True})
        return found

    def measure(self, corner: Corner) -> None:
        subject, task, models = corner.subject, corner.task, self.tested(corner)
        own = {"lengths": pieces.lengths, "answers": pieces.answers}
        whole = self.context.each({n: Piece(f"{n}-{corner.name}", work, {"subject": subject}) for n, work in own.items()})
        corner.lengths, corner.answers = whole["lengths"], whole["answers"]
        noised = {
            key: [Piece(f"noise-{model.name}-{level:g}", pieces.noise,
                        {"subject": model, "base": subject, "own": task.noise, "level": level})
                  for level in task.noise.levels]
            for key, model in models.items()
        }  # fmt: skip
        corner.noised = self.context.gather(noised)
        levels = dict(zip(task.noise.levels, corner.noised["joint 0"], strict=True))
        read = self.context.each({
            level: Piece(f"reread-{subject.name}-{level:g}", pieces.reread,
                         {"subject": subject, "rationales": [row["rationale"] for row in rows]})
            for level, rows in levels.items()
        })  # fmt: skip
        corner.noised["joint 0"] = [
            [{**row, **answer} for row, answer in zip(rows, read[level], strict=True)] for level, rows in levels.items()
        ]
        corner.scored = self.each("importance", pieces.importance, models, base=subject)
        if task.constant:
            corner.constant = self.each("told", pieces.told, {"constant": models["constant"]})["constant"]

    def each(self, name: str, work: Any, models: dict[str, Subject], **more: Subject) -> dict[str, Rows]:
        asked = {key: Piece(f"{name}-{model.name}", work, {"subject": model, **more}) for key, model in models.items()}
        return self.context.each(asked)

    def occlude(self, corner: Corner) -> None:
        own, subject = corner.task.roar, corner.subject
        if own is None:
            return
        [corner.ranked] = self.context.do(
            [Piece(f"ranked-{corner.name}", pieces.ranked, {"subject": subject, "own": own})]
        ).values()
        wanted = [NOTHING_HIDDEN, *((by, percent) for by in (*RANKINGS, *own.methods) for percent in own.percents)]
        corner.roar = self.context.each({
            (by, percent): Piece(f"roar-{corner.name}-{by}-{percent:g}", pieces.retrain,
                                 {"subject": subject, "own": own, "hidden": hidden_words(corner.ranked, by, percent)})
            for by, percent in wanted
        })  # fmt: skip


def hidden_words(ranked: Rows, by: str, percent: float, seed: int = 0) -> dict[str, list[int]]:
    """Places of the hidden words by id. Where the model wrote no label or no rationale, chance ranks its words."""
    found = {}
    for row in ranked:
        scores: Sequence[float] | None = None if by in ("random", NOTHING_HIDDEN[0]) else row[by]
        scores = random_scores(row["id"], len(row["place"]), seed) if scores is None else scores
        found[row["id"]] = [row["place"][i] for i in top_words(scores, percent)]
    return found


def work(context: Context) -> Found:
    return Work(context).run()
