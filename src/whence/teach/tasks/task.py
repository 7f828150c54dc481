"""What a training task is: how examples become batches, what a forward pass gives, and what is evaluated on dev.

The loop (teach/loop.py) knows steps, epochs, checkpoints and selection, and nothing of texts or labels. A task knows those.
Objectives say what they read of a step (`Objective.reads`); a task says what its steps give (`Task.gives`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from transformers import PreTrainedModel

from whence.data import Example
from whence.teach.settings import Settings


@dataclass(frozen=True)
class Metric:
    """A figure by which an epoch can be chosen; `lower` where less is better."""

    name: str
    about: str
    lower: bool = False

    def gain(self, value: float) -> float:
        return -value if self.lower else value


LOSS = Metric("loss", "the objective on dev, without dropout", lower=True)
TRAIN_LOSS = Metric("train_loss", "the objective on the training set, while it is learned", lower=True)

Scores = dict[str, Any]
"""Metrics by name, and what else is worth writing down (the F1 of each label, how many examples)."""
Row = dict[str, Any]


class Split(Protocol):
    """The examples of one split, ready for the model."""

    @property
    def facts(self) -> Any:
        """What objectives are built from: `CorpusFacts` or `TextFacts`."""

    @property
    def lengths(self) -> Sequence[tuple[int, ...]]:
        """Tokens of each example, for batches of about the same length: (text,) or (source, target)."""

    @property
    def warnings(self) -> list[str]:
        """What a user should know of them before they are trained on, such as texts that are cut."""

    def step(self, rows: Sequence[int], reads: frozenset[str]) -> Any:
        """A forward pass over these examples, as objectives see it: `Step` or `TextStep`."""


class Task(ABC):
    name: str
    objective: str
    """The usual one."""
    gives: frozenset[str]
    """What an objective may read of a step."""
    metrics: tuple[Metric, ...]
    select: str
    """The metric that chooses the epoch where neither the user nor an objective names one."""
    always: frozenset[str]
    """Metrics that are computed after every epoch, whether they choose or not."""
    model: PreTrainedModel

    @abstractmethod
    def prepare(self, examples: Sequence[Example]) -> Any:
        """A `Split`."""

    @abstractmethod
    def evaluate(self, split: Any) -> tuple[Scores, list[Row]]:
        """(metrics, one row for each prediction)."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write what `from_pretrained` opens."""

    def may_be_kept(self, batches: int) -> bool:
        """Whether a model that has learned from so many batches may be the one that is kept."""
        return True

    def groups(self, settings: Settings) -> list[dict[str, Any]]:
        """Parameter groups of the optimiser, each with its `lr`."""
        return [{"params": [p for p in self.model.parameters() if p.requires_grad], "lr": settings.learning_rate}]
