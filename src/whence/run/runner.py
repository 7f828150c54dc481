"""The one place where models are called.

Explainers and measures are generators: they yield a list of requests, get the list of results, and go on. The runner takes what
many of them ask for at once, answers equal requests with one pass, sorts by length, packs batches to a token budget, and counts
what was paid. Passes are remembered, so that the base prediction, its gradients and the leave-one-out passes are computed once
for all methods and measures.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float

from whence.errors import BadInput
from whence.models import UNCHANGED, Classifier, Encoded, Intervention, collate, hide_tokens

BACKWARD = frozenset({"gradient", "attention_gradient"})
"""Extras that cost a backward pass."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One forward pass: an example, a change, and what is wanted of it besides the logits (see `Classifier.run`)."""

    encoded: Encoded
    change: Intervention = UNCHANGED
    want: frozenset[str] = frozenset()
    target: int | None = None
    """The label whose probability is differentiated; needed where a gradient is wanted."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Probabilities and logits, float[labels]; token arrays have the length of the request's example after hiding."""

    logits: Float[np.ndarray, " labels"]
    probabilities: Float[np.ndarray, " labels"]
    extras: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def label(self) -> int:
        return int(self.probabilities.argmax())


Returned = TypeVar("Returned")
Steps = Generator[list[Request], list[Result], Returned]
"""What an explainer or measure is for one example: yields requests, is sent their results, returns its value."""

Tick = Callable[[int], None]


@dataclass
class Paid:
    """What was asked and what it cost."""

    requests: int = 0
    forward: int = 0
    backward: int = 0
    tokens: int = 0
    """With padding: what the model really read."""
    model_seconds: float = 0.0


class Runner:
    """Runs requests on one classifier. `token_budget` bounds a batch (rows × longest row); `remembered` bounds how many passes
    on unchanged or hidden texts are kept, so that what one method paid for is free for the next."""

    def __init__(self, classifier: Classifier, token_budget: int = 2048, remembered: int = 100_000) -> None:
        self.classifier = classifier
        self.token_budget = token_budget
        self.remembered = remembered
        self.paid = Paid()
        self._memory: dict[bytes, Result] = {}
        self._ledger: dict[bytes, bool] | None = None

    def predict(self, encoded: Sequence[Encoded], tick: Tick | None = None) -> list[Result]:
        """The model as it is, on every example."""
        return self.run([Request(e) for e in encoded], tick)

    @contextmanager
    def ledger(self) -> Iterator[Callable[[], tuple[int, int]]]:
        """Count what is asked for, each pass once and whether remembered or not: `with … as needed`, then needed() → (forward,
        backward). What a method would cost on its own."""
        noted: dict[bytes, bool] = {}
        self._ledger = noted
        try:
            yield lambda: (len(noted), sum(noted.values()))
        finally:
            self._ledger = None

    def run(self, requests: Sequence[Request], tick: Tick | None = None) -> list[Result]:
        """Results in the order of the requests. `tick(n)` is called when n more of them are answered."""
        self.paid.requests += len(requests)
        keys = [_key(request) for request in requests]
        if self._ledger is not None:
            self._ledger.update((key, bool(r.want & BACKWARD)) for key, r in zip(keys, requests, strict=True))
        waiting = Counter(keys)
        todo: dict[bytes, Request] = {}
        found: dict[bytes, Result] = {}
        for key, request in zip(keys, requests, strict=True):
            known = self._memory.get(key)
            if known is not None:
                found[key] = known
            elif key not in todo:
                todo[key] = request
        if tick and found:
            tick(sum(waiting[key] for key in found))
        for batch in self._batches(list(todo.items())):
            answers = self._answer([request for _, request in batch])
            for (key, request), result in zip(batch, answers, strict=True):
                found[key] = result
                if request.change.changes() <= {"keep"}:  # points on a path and noise are never asked for twice
                    self._memory[key] = result
                    if len(self._memory) > self.remembered:
                        del self._memory[next(iter(self._memory))]  # the oldest: a served process must not grow for ever
            if tick:
                tick(sum(waiting[key] for key, _ in batch))
        return [found[key] for key in keys]

    def drive(self, steps: Iterable[Steps[Returned]], tick: Tick | None = None) -> list[Returned]:
        """Run many generators side by side: each round, all their requests are one call. `tick` counts finished generators."""
        running = list(steps)
        asked: list[list[Request] | None] = [None] * len(running)
        returned: dict[int, Returned] = {}

        def advance(i: int, results: list[Result] | None) -> None:
            try:
                asked[i] = next(running[i]) if results is None else running[i].send(results)
            except StopIteration as stop:
                asked[i], returned[i] = None, stop.value
                if tick:
                    tick(1)

        for i in range(len(running)):
            advance(i, None)
        while len(returned) < len(running):
            open_ = [(i, requests) for i, requests in enumerate(asked) if requests is not None]
            results = iter(self.run([request for _, requests in open_ for request in requests]))
            for i, requests in open_:
                advance(i, [next(results) for _ in requests])
        return [returned[i] for i in range(len(running))]

    def _batches(self, todo: list[tuple[bytes, Request]]) -> Iterable[list[tuple[bytes, Request]]]:
        """Groups that set the same fields, sorted by length (longest first, so that running out of memory shows at once)."""
        groups: dict[tuple[frozenset[str], frozenset[str]], list[tuple[bytes, Request]]] = {}
        for item in todo:
            groups.setdefault((item[1].change.changes() - {"keep"}, item[1].want), []).append(item)
        for (fields, want), items in groups.items():
            self.classifier.check(fields)
            if "alignment" in fields and any(len(item[1].encoded.fields) != 2 for item in items):
                raise BadInput("an alignment needs a pair; a single text was given")
            # activations are kept for a backward pass: a quarter of the rows needs about the same memory
            budget = self.token_budget // (4 if want & BACKWARD else 1)
            items.sort(key=lambda item: -_length(item[1]))
            start = 0
            while start < len(items):
                rows = max(1, budget // max(1, _length(items[start][1])))
                yield items[start : start + rows]
                start += rows

    def _answer(self, requests: list[Request]) -> list[Result]:
        tokenizer, classifier = self.classifier.tokenizer, self.classifier
        encoded = [
            r.encoded if r.change.keep is None
            else hide_tokens(r.encoded, r.change.keep, r.change.hide, tokenizer.mask_token_id, classifier.pad_id)
            for r in requests
        ]  # fmt: skip
        self.paid.forward += len(requests)
        self.paid.backward += len(requests) if requests[0].want & BACKWARD else 0
        self.paid.tokens += len(requests) * max(len(e) for e in encoded)
        out = self._execute(requests, encoded)
        logits = out.pop("logits")
        probabilities = classifier.probabilities(logits)
        return [
            Result(logits[i], probabilities[i], {name: values[i, : len(e)] for name, values in out.items()})
            for i, e in enumerate(encoded)
        ]

    def _execute(self, requests: list[Request], encoded: list[Encoded]) -> dict[str, np.ndarray]:
        """One batch through the model: what `Classifier.run` returns, as arrays."""
        classifier, want = self.classifier, requests[0].want
        batch = collate(encoded, classifier.pad_id, classifier.device, [r.change for r in requests], classifier.embedding_dim)
        target = torch.tensor([-1 if r.target is None else r.target for r in requests], device=classifier.device)
        started = time.perf_counter()
        found = classifier.run(batch, want, target if want & BACKWARD else None)
        out = {name: tensor.cpu().numpy() for name, tensor in found.items()}
        self.paid.model_seconds += time.perf_counter() - started
        return out


def _length(request: Request) -> int:
    keep = request.change.keep
    return int(keep.sum()) if keep is not None and request.change.hide == "delete" else len(request.encoded)


def _key(request: Request) -> bytes:
    """Equal keys, equal passes: the ids that the model would read and everything that is done to them."""
    change, encoded = request.change, request.encoded
    digest = hashlib.blake2b(encoded.ids.tobytes(), digest_size=16)
    if encoded.types is not None:
        digest.update(encoded.types.tobytes())
    digest.update(repr((change.hide if change.keep is not None else "", change.scale, change.noise,
                        change.seed if change.noise else 0, sorted(request.want), request.target)).encode())  # fmt: skip
    for name in ("keep", "embeddings", "attention", "alignment"):
        values = getattr(change, name)
        if values is not None:
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(values).tobytes())
    if change.alignment is not None:  # the same ids may be split into other words
        digest.update(encoded.word.tobytes())
    return digest.digest()
