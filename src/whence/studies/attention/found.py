"""Which pieces are asked for, in which order, and their rows by what they are about."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whence.data.registry import planted
from whence.measure.statistics import Estimate
from whence.run.engine import Piece, Rows
from whence.studies.attention import pieces
from whence.studies.attention.models import ADVERSARIES, Kind, Role, Subject
from whence.studies.attention.settings import AttentionSettings
from whence.studies.kit.corpora import TITLES, sizes
from whence.studies.kit.differences import f1_of, score_difference
from whence.studies.study import Context

GUIDES: dict[Kind, str] = {
    "mlp-uniform": "Uniform", "mlp-trained": "Trained MLP", "mlp-base": "Base LSTM", "mlp-adversary": "Adversary",
}  # fmt: skip
CONTROL: dict[Kind, str] = {
    "mlp-uniform": "Uniform", "mlp-base": "Base LSTM", "mlp-base-shuffled": "Base LSTM, shuffled",
    "mlp-adversary": "Adversary", "mlp-adversary-shuffled": "Adversary, shuffled",
    "mlp-practised": "Practised adversary", "mlp-practised-shuffled": "Practised adversary, shuffled",
}  # fmt: skip
FAR = 0.4
"""Mean JSD over test texts above which an adversary's attention is far from the base model's."""


class Corner:
    """One corpus and one family of models."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.own, self.title = subject, subject.own, TITLES[subject.corpus]
        self.rows: dict[Any, Rows] = {}
        """By the name of a test, or by (what was done, role)."""

    def ask(self) -> list[dict[Any, Piece]]:
        """Stages, each of them pieces that do not need each other."""
        subject, roles = self.subject, self.roles()
        stages: list[dict[Any, Piece]] = [{}, {}, {}, {}]
        for role in roles:
            # what a training waits for: base models; what is trained on them; what is trained on that
            stage = 0 if role.kind == "base" else 2 if role.guide in ADVERSARIES else 1
            stages[stage]["trained", role] = self._piece(role.name, pieces.scores, role=role)
        last = stages[3]
        others = [role for role in roles if role.kind == "base" and role.seed] + [Role("uniform", 0)]
        last["sizes"] = self._piece("sizes", sizes, splits=["train", "test"])
        last["seeds"] = self._piece("seeds", pieces.compare, base=Role("base", 0), others=others)
        for role in self.adversaries():
            base = Role("base", role.seed)
            last["against", role] = self._piece(f"against-{role.name}", pieces.compare, base=base, others=[role])
        if subject.ours:
            last["search"] = self._piece("search", pieces.search, seed=0)
            last["correlation"] = self._piece("correlation", pieces.correlate, seed=0)
            if subject.corpus in planted():
                several = [r for r in roles if r.kind == "base" or (r.kind in ("uniform", "adversary") and not r.seed)]
                last["planted"] = self._piece("planted", pieces.planted_mass, roles=several, seed=0)
            if self.own.lambdas:
                last["picture"] = self._piece("picture", pieces.picture, seed=0, strength=subject.settings.guide_lambda)
        return stages

    @property
    def size(self) -> str:
        """What a caption says about the corpus."""
        own = self.own
        cut = ", ".join(f"{split} {n:,}" for split, n in (("train", own.train), ("test", own.test)) if n) or "all examples"
        long = f", texts up to {own.longest} words" if own.longest else ""
        return f"{self.title}: {cut}{long}, {own.repeats} seed{'s' if own.repeats > 1 else ''}"

    def _piece(self, name: str, work: Any, **arguments: Any) -> Piece:
        return Piece(f"{self.subject.name}-{name}", work, {"subject": self.subject, **arguments})

    def roles(self) -> list[Role]:
        """Of a transformer, whose attention is the [CLS] row, the tests that make sense."""
        own, seeds = self.own, range(self.own.repeats)
        if not self.subject.ours:
            return [Role("base", 0), Role("base", 1), Role("uniform", 0), *self.adversaries()]
        kinds: list[Kind] = [*GUIDES, "uniform"] if own.guides else ["uniform"]
        roles = [Role("base", seed) for seed in range(max(own.seeds, own.leaks))]
        roles += [Role(kind, seed) for seed in seeds for kind in kinds] + self.adversaries()
        needed = [Role(kind, seed) for kind in self.control() for seed in range(own.leaks)]
        needed += [Role(r.guide, r.seed, self.subject.strength(r.guide)) for r in needed if r.guide in ADVERSARIES]
        return list(dict.fromkeys(roles + needed))

    def control(self) -> dict[Kind, str]:
        """Guides of the control, with their titles."""
        return {kind: title for kind, title in CONTROL.items() if self.own.leaks and (self.own.cuts or "practised" not in kind)}

    def adversaries(self) -> list[Role]:
        own, seeds = self.own, range(self.own.repeats)
        if not self.subject.ours:
            return [Role("adversary", 0, strength) for strength in own.encoder_lambdas]
        found = [Role("adversary", seed, strength) for seed in seeds for strength in own.lambdas]
        return found + [Role(kind, s, self.subject.strength(kind)) for kind in self.others() for s in seeds]

    def others(self) -> list[Kind]:
        """Adversaries that are trained in another way than the paper's."""
        asked: dict[Kind, bool] = {"adversary-train-loss": self.own.by_train_loss, "adversary-cuts": bool(self.own.cuts)}
        return [kind for kind, wanted in asked.items() if wanted]

    def runs(self, kind: Kind, strength: float = 0.0, seeds: int | None = None) -> Rows:
        """The scores of each seed of the tests."""
        roles = [Role(kind, seed, strength) for seed in range(seeds or self.own.repeats)]
        return [self.rows["trained", role][0] for role in roles if ("trained", role) in self.rows]

    def f1(self, kind: Kind, strength: float = 0.0) -> list[float]:
        return [run["f1"] for run in self.runs(kind, strength)]

    def gap(self, one: Kind, other: Kind, seeds: int | None = None) -> Estimate:
        """F1 of one − F1 of the other, paired."""
        return score_difference(self.runs(one, seeds=seeds), self.runs(other, seeds=seeds), f1_of(1))

    def against_base(self, kind: Kind, strength: float) -> Rows:
        """Adversary and base model of the same seed; one row for each seed."""
        return [self.rows["against", Role(kind, seed, strength)][0] for seed in range(self.own.repeats)]

    def sweep(self) -> list[dict[str, Any]]:
        """The paper's adversaries at each λ."""
        return [self.adversary("adversary", strength) for strength in self.own.lambdas]

    def adversary(self, kind: Kind, strength: float) -> dict[str, Any]:
        """F1, TVD and JSD, mean over test texts, of every seed. The paper's TVD, and so ours beside it, is halved."""
        against = self.against_base(kind, strength)
        tvds, jsds = ([float(np.mean(row[name])) for row in against] for name in ("tvd", "jsd"))
        halved = [value / 2 for value in tvds]
        return {"lambda": strength, "f1": self.f1(kind, strength), "tvd": tvds, "halved": halved, "jsd": jsds}


@dataclass
class Found:
    settings: AttentionSettings
    corners: list[Corner]
    encoders: list[Corner]
    """The transformer's."""

    @property
    def said(self) -> dict[str, str]:
        """What captions say of the settings."""
        return {
            "sizes": "; ".join(corner.size for corner in self.corners),
            "copies": ", ".join(f"{c.own.cuts} for each of {c.title}" for c in self.corners if c.own.cuts) or "not run",
            "encoders": "; ".join(
                f"{Path(c.subject.model).name} on {c.title}, train {c.own.encoder_train or 'all'}" for c in self.encoders
            ),
        }


def work(context: Context) -> Found:
    given: AttentionSettings = context.settings
    subjects = [Subject(corpus=name, root=context.root, own=own, settings=given) for name, own in given.corpora.items()]
    encoders = [s.model_copy(update={"model": given.encoder}) for s in subjects if given.encoder and s.own.encoder_lambdas]
    corners = [Corner(subject) for subject in subjects + encoders]
    for stage in zip(*(corner.ask() for corner in corners), strict=True):
        asked = {(i, key): piece for i, several in enumerate(stage) for key, piece in several.items()}
        for (i, key), rows in context.each(asked).items():
            corners[i].rows[key] = rows
    return Found(given, corners[: len(subjects)], corners[len(subjects) :])
