"""What will it cost? The same work with a runner that asks no model: passes and tokens are counted, not paid.

Every pass is answered with equal probabilities, so nothing ever flips: for work that stops early the count is an upper bound.
Time is estimated from a few real batches of the user's own examples.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whence.models import Encoded, Generated, Label, Port, Text
from whence.models.alignment import pair_shape
from whence.run.masks import Logits, Pass
from whence.run.runner import Request, Runner


class DryRunner(Runner):
    """Counts what would be asked."""

    def _execute(self, requests: list[Request]) -> dict[str, np.ndarray]:
        rows, width = len(requests), max(len(r.encoded) for r in requests)
        asked = [sum(r.target.asked) for r in requests if isinstance(r.target, Text)]
        shapes = {
            "gradient": (width, 4),
            "attention": (width,),
            "readout": (width, len(self.classifier.labels)),
            "attention_gradient": (width,),
            "token_gradients": (width, max(asked, default=0)),
        }
        zeros = {name: np.zeros((rows, *shapes[name]), dtype=np.float32) for name in requests[0].want}
        if asked:
            zeros["choice"] = np.zeros((rows, max(asked)), dtype=np.int64)
        return {"scores": np.zeros((rows, 1 if asked else len(self.classifier.labels)), dtype=np.float32), **zeros}

    def _execute_masks(self, one: Pass) -> tuple[Logits, np.ndarray | None]:
        """Noise: a search among masks goes on only where some are better than others."""
        rows, longest = len(one.rows), max(map(len, one.masks))
        shape = np.array([pair_shape(e, one.group.sealed) for e in one.group.encoded]).max(axis=0)
        inside = one.losses is not None or one.reads_co_attention
        logits = self._noise.standard_normal((rows, longest, len(self.classifier.labels)))
        logits[..., 0] += 3.0  # the label is mostly kept: it is the first, as in the passes without a mask
        return logits, self._noise.standard_normal((rows, longest, *shape)) if inside else None

    @cached_property
    def _noise(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def _write(self, requests: list[Request]) -> list[Generated]:
        """As long as is allowed: an upper bound."""
        length = requests[0].write or 0
        return [Generated((0,) * length, (0.0,) * length, "", False) for _ in requests]


@dataclass(frozen=True)
class Speed:
    """Tokens per second, padding included."""

    forward: float
    backward: float
    """Of a forward and backward pass together."""


def measure_speed(classifier: Port, encoded: Sequence[Encoded], rows: int = 64) -> Speed:
    """A forward and a forward-and-backward run over a few examples, after a warm-up."""
    sample = list(encoded[:rows])

    def tokens_per_second(requests: list[Request]) -> float:
        runner = Runner(classifier)
        started = time.perf_counter()
        runner.run(requests)
        return runner.paid.tokens / max(time.perf_counter() - started, 1e-9)

    tokens_per_second([Request(e) for e in sample[:4]])
    plain = tokens_per_second([Request(e) for e in sample])
    if "gradient" not in classifier.honours:
        return Speed(plain, plain)
    return Speed(
        plain, tokens_per_second([Request(e, want=frozenset({"gradient"}), target=Label(0)) for e in sample[: rows // 4]])
    )
