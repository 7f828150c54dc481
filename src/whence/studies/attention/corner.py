"""The rows of one corpus and one family of models, by what they are about: what tables, figures and claims are made of."""

from typing import Any

import numpy as np

from whence.run.engine import Rows
from whence.studies.attention.pieces import Kind, Role, Subject

GUIDES: dict[str, Kind] = {"uniform": "mlp-uniform", "trained": "mlp-trained", "base": "mlp-base", "adversary": "mlp-adversary"}
GUIDE_TITLES = {"uniform": "Uniform", "trained": "Trained MLP", "base": "Base LSTM", "adversary": "Adversary"}
FAR, SAME = 0.4, 0.05
"""An adversary is far above this mean JSD of its attention over test texts, and predicts the same below this mean TVD."""


class Corner:
    def __init__(self, subject: Subject, done: dict[str, Rows]) -> None:
        self.subject, self.plan = subject, subject.plan
        self._done = done
        self.title: str = subject.plan.title

    def rows(self, name: str) -> Rows:
        return self._done.get(f"{prefix(self.subject)}-{name}", [])

    def f1(self, kind: Kind, strength: float = 0.0) -> list[float]:
        """Of each seed of the tests."""
        found = [self.rows(Role(kind, seed, strength).name) for seed in range(self.plan.repeats)]
        return [rows[0]["f1"] for rows in found if rows]

    def against_base(self, kind: Kind, strength: float) -> list[dict[str, Any]]:
        """Adversary and base model of the same seed; one row for each seed."""
        roles = [Role(kind, seed, strength) for seed in range(self.plan.repeats)]
        return [self.rows(f"against-{role.name}")[0] for role in roles]

    def sweep(self) -> list[dict[str, Any]]:
        """The paper's adversaries at each λ."""
        return [self._adversaries("adversary", strength) for strength in self.plan.lambdas]

    def practised(self) -> dict[str, Any] | None:
        """Those that practised on cut texts, too."""
        return self._adversaries("adversary-cuts", self.subject.settings.guide_lambda) if self.plan.cuts else None

    def _adversaries(self, kind: Kind, strength: float) -> dict[str, Any]:
        """F1, TVD and JSD, mean over test texts, of every seed."""
        against = self.against_base(kind, strength)
        tvds, jsds = ([float(np.mean(row[name])) for row in against] for name in ("tvd", "jsd"))
        return {"lambda": strength, "f1": self.f1(kind, strength), "tvd": tvds, "jsd": jsds}

    def far_adversary(self) -> dict[str, Any] | None:
        """The λ with the best F1 among those whose attention is, in every seed, far from the base model's."""
        far = [one for one in self.sweep() if min(one["jsd"]) > FAR]
        return max(far, key=lambda one: np.mean(one["f1"])) if far else None


def prefix(subject: Subject) -> str:
    """Of the names of a corpus' pieces."""
    return subject.corpus if subject.model == "bilstm" else f"{subject.corpus}-encoder"
