"""What an objective is: a term of the training loss, built once for a set of examples, then asked at every step.

Terms add up, each with its weight (`--objective cross_entropy --objective saloss=0.001`). An objective says what it reads of a
step, and works with every task whose steps give that:

  logits         one for each label, of a classifier
  attention      the pooled row (an LSTM's α, a transformer's head-averaged [CLS] row of the last layer) before dropout, with
                 its graph; computed only where a term reads it
  token_logits   for each token of the target text, of a model that writes
  label_states   of a model that decides while it writes, after each token
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from whence.data import Example
from whence.models import Batch, Classifier, Encoded, TorchPort


@dataclass
class Step:
    """One step of a classifier as a term sees it: the inputs, the gold labels and what the model makes of them."""

    batch: Batch
    rows: Sequence[int]
    """Which examples of `CorpusFacts.encoded` these are."""
    labels: Int[Tensor, " batch"]
    logits: Float[Tensor, "batch labels"]
    attention: Float[Tensor, "batch tokens"] | None = None


@dataclass
class CorpusFacts:
    """The examples that a term will be asked about: the training set, or the dev set where its loss picks the epoch."""

    examples: Sequence[Example]
    encoded: Sequence[Encoded]
    labels: Int[Tensor, " examples"]
    classifier: Classifier
    training: "CorpusFacts | None" = None
    """Of a dev set, the training set: what a term must fit, it fits there."""

    @property
    def label_count(self) -> int:
        return len(self.classifier.labels)


@dataclass
class TextStep:
    """One step of a model that writes: for each target token, given the source and the tokens before it, logits."""

    rows: Sequence[int]
    """Which examples of `TextFacts.pairs` these are."""
    targets: Int[Tensor, "batch tokens"]
    """Token ids; -100 where a text has ended."""
    label_tokens: Bool[Tensor, "batch tokens"]
    """True for the tokens that say the label."""
    token_logits: Float[Tensor, "batch tokens vocabulary"]


@dataclass
class JointStep(TextStep):
    """One step of a model that decides while it explains; its target text is the explanation alone."""

    label_states: Float[Tensor, "batch steps labels"]
    """Logits: at the beginning, then after each token."""
    guess: Float[Tensor, "batch labels"]
    """What the encoder says, whether the label state begins there or not."""
    label_logits: Float[Tensor, "batch labels"]
    """The state after the end of each row's own explanation."""
    labels: Int[Tensor, " batch"]
    batch: Any
    """What the model read, as its port collates it."""
    source: Float[Tensor, "batch tokens size"]
    """What the encoder made of it, with its graph."""


@dataclass
class TextFacts:
    """The examples of a model that writes, as pairs of source and target ids (teach/tasks/written.py)."""

    examples: Sequence[Example]
    pairs: Sequence[Any]
    port: TorchPort
    training: "TextFacts | None" = None


Term = Callable[[Any], Tensor]
"""From a step (of the kind that the task makes) to a scalar, mean over the batch."""


class Learner(nn.Module):
    """A term with weights of its own, which it trains itself when it is asked. They, its optimiser and its buffers are part of
    a checkpoint."""

    optimizer: torch.optim.Optimizer

    def report(self) -> dict[str, Any]:
        """How it fares, for the history; `stopped` says why it gave up, if it did."""
        raise NotImplementedError


@dataclass(frozen=True)
class Objective:
    name: str
    about: str
    paper: str
    build: Callable[..., Term]
    """build(facts, **options)."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Names and defaults; None is a value that must be given."""
    reads: frozenset[str] = frozenset({"logits"})
    select: str | None = None
    """The metric that should choose the epoch, where the task's own would choose wrongly."""
