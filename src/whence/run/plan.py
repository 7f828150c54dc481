"""What will it cost? The same work with a runner that asks no model: passes and tokens are counted, not paid.

Every pass is answered with equal probabilities, so nothing ever flips: for work that stops early the count is an upper bound.
Time is estimated from a few real batches of the user's own examples.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.models import Classifier, Encoded
from whence.run.runner import Request, Runner


class DryRunner(Runner):
    """Counts what would be asked."""

    def _execute(self, requests: list[Request], encoded: list[Encoded]) -> dict[str, np.ndarray]:
        width = max(len(e) for e in encoded)
        shapes = {"gradient": (width, 4), "attention": (width,), "attention_gradient": (width,)}
        zeros = {name: np.zeros((len(requests), *shapes[name]), dtype=np.float32) for name in requests[0].want}
        return {"logits": np.zeros((len(requests), len(self.classifier.labels)), dtype=np.float32), **zeros}


@dataclass(frozen=True)
class Speed:
    """Tokens per second, padding included."""

    forward: float
    backward: float
    """Of a forward and backward pass together."""


def measure_speed(classifier: Classifier, encoded: Sequence[Encoded], rows: int = 64) -> Speed:
    """A forward and a forward-and-backward run over a few examples, after a warm-up."""
    sample = list(encoded[:rows])

    def tokens_per_second(requests: list[Request]) -> float:
        runner = Runner(classifier)
        started = time.perf_counter()
        runner.run(requests)
        return runner.paid.tokens / max(time.perf_counter() - started, 1e-9)

    tokens_per_second([Request(e) for e in sample[:4]])
    plain = tokens_per_second([Request(e) for e in sample])
    return Speed(plain, tokens_per_second([Request(e, want=frozenset({"gradient"}), target=0) for e in sample[: rows // 4]]))
