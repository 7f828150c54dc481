"""The one port to every model: encode examples, score candidates under an intervention, generate under an intervention.

A pass scores candidates: a classifier's are its labels, a generator's are texts that come with the example (target.py). The
runner, and nothing else, calls `run` and `generate`. Adapters: `Classifier`, `Seq2Seq`, `Causal`, `BlackBox`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from whence.data import Example
from whence.errors import BadInput
from whence.models.encoding import Encoded
from whence.models.intervention import Hide, Intervention
from whence.models.target import Target, Text

BACKWARD = frozenset({"gradient", "attention_gradient", "token_gradients"})
"""Extras that cost a backward pass."""
NEEDED = {
    "gradient": "gradient",
    "attention": "attention",
    "attention_gradient": "attention",
    "readout": "readout",
    "token_gradients": "token_gradients",
}
"""What a model must offer (`Port.honours`) for each extra."""


@dataclass(frozen=True)
class Generated:
    """What a model wrote: its tokens without start and end, their log-probabilities, the text, and whether it came to an end:
    its own, or what the template says ends a rationale."""

    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    text: str
    ended: bool
    evolution: tuple[tuple[float, ...], ...] = ()
    """Of a model that decides while it explains: the labels' probabilities before the first step and after every step. Step s
    writes token s of the explanation and has read those before it; the last step has read all, and writes the end."""


class Port(ABC):
    """What the runner knows of a model."""

    labels: tuple[str, ...]
    """Names of the candidates; their texts may be another for each example (the choices of a question)."""

    batch_tokens: int | None = None
    """Most tokens in one batch; None: what the runner usually takes."""

    @property
    def device_kind(self) -> str:
        """Where it computes: "cpu", "cuda", "mps"."""
        return "cpu"

    @property
    @abstractmethod
    def name(self) -> str:
        """What the model is called in messages."""

    @property
    @abstractmethod
    def honours(self) -> frozenset[str]:
        """Fields of an intervention that the model honours, and "gradient", "attention" and "token_gradients" where it gives
        them."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Which model this is; another string when anything that decides its answers has changed."""

    @property
    @abstractmethod
    def hides(self) -> tuple[Hide, ...]:
        """How words can be hidden, the usual way first."""

    @property
    def state(self) -> int:
        """Another number once the weights have changed; cheaper than the fingerprint."""
        return 0

    @property
    def max_tokens(self) -> int | None:
        """The longest input that the model takes, special tokens included; None for no limit."""
        return None

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Texts as the model reads them, with the way back to words."""

    @abstractmethod
    def run(
        self,
        encoded: Sequence[Encoded],
        changes: Sequence[Intervention],
        want: frozenset[str],
        targets: Sequence[Target | None],
    ) -> dict[str, np.ndarray]:
        """One forward pass (and a backward pass if gradients are wanted) over rows whose changes set the same fields.

        scores              float[rows, candidates]  before the softmax over candidates; −∞ where a row has fewer. Where targets
                            are texts: one column, the log-probability of the asked tokens
        attention           float[rows, tokens]  the pooled attention, mean over heads
        gradient            float[rows, tokens, 4]  of the target's score at the site `embedded`, reduced over its width x
                            (before `scale`): Σ x·g, Σ g, Σ |g|, sqrt Σ g²
        readout             float[rows, tokens, labels]  what each token adds to the scores per unit of attention
        attention_gradient  float[rows, tokens]  at the pooled attention, mean over heads
        token_gradients     float[rows, tokens, asked]  where targets are texts: of the logit of each asked token apart, Σ |g|
        choice              int[rows, asked]  where targets are texts: the model's own choice at each asked token
        """

    def generate(self, encoded: Sequence[Encoded], changes: Sequence[Intervention], max_tokens: int) -> list[Generated]:
        """Greedy decoding, at most `max_tokens` tokens."""
        raise BadInput(f"{self.name} writes no text; expected a sequence-to-sequence or causal model")

    @abstractmethod
    def probabilities(self, scores: Float[np.ndarray, "*rows candidates"]) -> Float[np.ndarray, "*rows candidates"]:
        """Of the candidates."""

    def fit_labels(self, names: Sequence[str]) -> None:
        """Let the candidates be called by a corpus' label names; BadInput where that cannot be."""
        known = {label.casefold() for label in self.labels}
        if not all(name.casefold() in known for name in names):
            raise BadInput(
                f"the data has labels {', '.join(names)} and {self.name} has {', '.join(self.labels)}; expected the same"
            )

    def text_of(self, target: Text) -> str:
        """The asked part of a text, in letters."""
        raise BadInput(f"{self.name} writes no text; expected one of its labels as the target")

    def check(self, fields: frozenset[str]) -> None:
        """Refuse by name what the model cannot honour."""
        refused = sorted(fields - self.honours) if fields else []
        if refused:
            raise BadInput(f"{self.name} cannot honour an intervention on {', '.join(refused)}")

    def check_want(self, want: frozenset[str]) -> None:
        missing = sorted({NEEDED[name] for name in want} - self.honours) if want else []
        if missing:
            raise BadInput(f"{self.name} does not offer its {', '.join(missing)}")
