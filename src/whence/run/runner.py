"""The one place where models are called.

Explainers and measures are generators: they yield a list of requests, get the list of results, and go on. The runner takes what
many of them ask for at once, answers equal requests with one pass, sorts by length, packs batches to a token budget, and counts
what was paid. Passes are remembered, so that the base prediction, its gradients and the leave-one-out passes are computed once
for all methods and measures.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from whence.errors import BadInput
from whence.models import UNCHANGED, Encoded, Generated, Intervention, Label, Port, Target, Text
from whence.models.alignment import MaskedPairs
from whence.models.classifier import Classifier
from whence.models.pairs import CoAttentionModel
from whence.models.port import BACKWARD
from whence.run.masks import Logits, Masked, MaskedResult, Pass, Passes, masked_pass

BATCH_TOKENS, MASK_TOKENS = 2048, 4096
WAITING = 8192
"""Passes that generators wait for before no further ones are opened: enough for full batches of equal length."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One pass: an example, a change, and what is wanted of it besides the candidates' scores (see `Port.run`)."""

    encoded: Encoded
    change: Intervention = UNCHANGED
    want: frozenset[str] = frozenset()
    target: Target | None = None
    """What is differentiated, where a gradient is wanted; a `Text` is also what is scored."""
    write: int | None = None
    """Generate a text of at most so many tokens instead."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Scores and probabilities of the candidates; token arrays have the length of the request's example after hiding."""

    logits: Float[np.ndarray, " candidates"]
    probabilities: Float[np.ndarray, " candidates"]
    extras: dict[str, np.ndarray] = field(default_factory=dict)
    written: Generated | None = None

    def score(self, target: Target) -> float:
        """Of the target: a candidate's probability, or the log-probability of a text's asked tokens."""
        match target:
            case Label(index):
                return float(self.probabilities[index])
            case Text():
                return float(self.logits[0])

    @property
    def label(self) -> int:
        """The best candidate."""
        return int(self.probabilities.argmax())

    @property
    def best(self) -> Hashable:
        """The model's own choice, to be compared with that of another pass: a candidate, or the tokens that it would write."""
        return tuple(self.extras["choice"].tolist()) if "choice" in self.extras else self.label


Returned = TypeVar("Returned")
Rounds = Generator[list[Any], list[Any], Returned]
"""What an explainer or measure is for one example: in each round it yields requests and is sent their results; it returns its
value. (A *step* is one of a training or of a search, never this.)"""

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

    def __add__(self, other: "Paid") -> "Paid":
        return Paid(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def cost(self) -> float:
        """In forward passes of one token, of which a backward pass is worth two."""
        return self.tokens * (1 + 2 * self.backward / max(1, self.forward))


class Runner:
    """Runs requests on one model. `token_budget` bounds a batch (rows × longest row); `remembered` bounds how many passes on
    unchanged or hidden texts are kept, so that what one method paid for is free for the next."""

    def __init__(self, classifier: Port, token_budget: int | None = None, remembered: int = 100_000) -> None:
        self.classifier = classifier
        self.token_budget = token_budget or classifier.batch_tokens or BATCH_TOKENS
        self.mask_budget = token_budget or classifier.batch_tokens or MASK_TOKENS
        self.remembered = remembered
        self.paid = Paid()
        self._memory: dict[bytes, Result] = {}
        self._ledger: dict[bytes, bool] | None = None
        self._passes = Passes(self._masked)

    def predict(self, encoded: Sequence[Encoded], tick: Tick | None = None) -> list[Result]:
        """The model as it is, on every example."""
        return self.run([Request(e) for e in encoded], tick)

    def forget(self) -> None:
        """What is remembered is of no use once the weights have changed."""
        self._memory.clear()
        self._passes.forget()

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

    def run_masks(self, requests: Sequence[Masked]) -> list[MaskedResult]:
        """Passes under alignment masks, in the order of the requests (run/masks.py). None is remembered."""
        if not requests:
            return []
        self.classifier.check(frozenset({"alignment"}))
        self.paid.requests += sum(len(r.masks) for r in requests)
        if self._ledger is not None:
            self._ledger.update((key, r.loss is not None) for r in requests for key in _mask_keys(r))
        own = isinstance(self.classifier, Classifier) and isinstance(self.classifier.model, CoAttentionModel)
        # a transformer keeps every layer for a backward pass; our own models only what comes after the co-attention
        return self._passes.answer(requests, self.mask_budget, self.mask_budget // (1 if own else 4))

    def _masked(self, one: Pass) -> tuple[Logits, np.ndarray | None]:
        self.paid.forward += one.count
        self.paid.backward += one.count if one.losses is not None else 0
        self.paid.tokens += one.tokens
        started = time.perf_counter()
        found = self._execute_masks(one)
        self.paid.model_seconds += time.perf_counter() - started
        return found

    def _execute_masks(self, one: Pass) -> tuple[Logits, np.ndarray | None]:
        group = one.group
        if group.pairs is None:
            assert isinstance(self.classifier, Classifier), "only classifiers honour an alignment"
            group.pairs = MaskedPairs.of(self.classifier, group.encoded, group.sealed)
        return masked_pass(one, group.pairs)

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

    def drive(self, rounds: Iterable[Rounds[Returned]], tick: Tick | None = None) -> list[Returned]:
        """Run many generators side by side: each round, the requests of all that are open are one call.

        Further ones are opened while few passes wait, so what waits does not grow with the number of texts. `tick` counts
        finished generators.
        """
        coming, returned = enumerate(rounds), dict[int, Returned]()
        open_: dict[int, tuple[Rounds[Returned], list[Any]]] = {}

        def advance(i: int, one: Rounds[Returned], results: list[Any] | None) -> None:
            try:
                open_[i] = one, next(one) if results is None else one.send(results)
            except StopIteration as stop:
                open_.pop(i, None)
                returned[i] = stop.value
                if tick:
                    tick(1)

        while True:
            waiting = sum(_passes(request) for _, requests in open_.values() for request in requests)
            while waiting < WAITING and (item := next(coming, None)):
                advance(*item, None)
                waiting += sum(map(_passes, open_[item[0]][1])) if item[0] in open_ else 0
            if not open_:
                return [returned[i] for i in range(len(returned))]
            results = iter(self._answers([request for _, requests in open_.values() for request in requests]))
            for i, (one, requests) in list(open_.items()):
                advance(i, one, [next(results) for _ in requests])

    def _answers(self, requests: list[Any]) -> list[Any]:
        """Of requests of both kinds, in their order."""
        under_masks = [isinstance(request, Masked) for request in requests]
        masked = iter(self.run_masks([r for r, is_masked in zip(requests, under_masks, strict=True) if is_masked]))
        plain = iter(self.run([r for r, is_masked in zip(requests, under_masks, strict=True) if not is_masked]))
        return [next(masked if is_masked else plain) for is_masked in under_masks]

    def _batches(self, todo: list[tuple[bytes, Request]]) -> Iterable[list[tuple[bytes, Request]]]:
        """Groups that set the same fields, sorted by length (longest first, so that running out of memory shows at once)."""
        groups: dict[Hashable, list[tuple[bytes, Request]]] = {}
        for item in todo:
            asked = item[1]
            kind = (asked.change.changes() - {"keep"}, asked.want, isinstance(asked.target, Text), asked.write)
            groups.setdefault(kind, []).append(item)
        for items in groups.values():
            fields, want = items[0][1].change.changes() - {"keep"}, items[0][1].want
            self.classifier.check(fields)
            self.classifier.check_want(want)
            if "alignment" in fields and any(len(item[1].encoded.fields) != 2 for item in items):
                raise BadInput("an alignment needs a pair; a single text was given")
            # activations are kept for a backward pass: a quarter of the rows needs about the same memory
            budget = self.token_budget // (4 if want & BACKWARD else 1)
            sizes = [_size(request) for _, request in items]
            needs = [_backward(request) for _, request in items]
            # rows of one batch take their backward passes together: as many as the row that needs most
            order = sorted(range(len(items)), key=lambda i: (-needs[i], -sizes[i]))
            widest = list(accumulate((sizes[i] for i in reversed(order)), max))[::-1]  # from each item on
            start = 0
            while start < len(items):
                rows = max(1, budget // max(1, widest[start]))
                yield [items[i] for i in order[start : start + rows]]
                start += rows

    def _answer(self, requests: list[Request]) -> list[Result]:
        self.paid.forward += len(requests)
        self.paid.backward += sum(map(_backward, requests))
        self.paid.tokens += len(requests) * max(_size(r) for r in requests)
        started = time.perf_counter()
        if requests[0].write is not None:
            written = self._write(requests)
            self.paid.tokens += sum(len(text.ids) for text in written)
            self.paid.model_seconds += time.perf_counter() - started
            return [Result(np.zeros(0), np.zeros(0), written=text) for text in written]
        out = self._execute(requests)
        self.paid.model_seconds += time.perf_counter() - started
        scores = out.pop("scores")
        probabilities = self.classifier.probabilities(scores)
        results = []
        for i, request in enumerate(requests):
            extras = {name: values[i, : _kept(name, request)] for name, values in out.items()}
            results.append(Result(scores[i], probabilities[i], extras))
        return results

    def _execute(self, requests: list[Request]) -> dict[str, np.ndarray]:
        """One batch through the model: what `Port.run` returns."""
        encoded, changes = [r.encoded for r in requests], [r.change for r in requests]
        return self.classifier.run(encoded, changes, requests[0].want, [r.target for r in requests])

    def _write(self, requests: list[Request]) -> list[Generated]:
        limit = requests[0].write
        assert limit is not None
        return self.classifier.generate([r.encoded for r in requests], [r.change for r in requests], limit)


def _passes(request: Request | Masked) -> int:
    return len(request.masks) if isinstance(request, Masked) else 1


def _backward(request: Request) -> int:
    """Backward passes of a request: one, or one for each token that is asked about apart."""
    if "token_gradients" in request.want and isinstance(request.target, Text):
        return sum(request.target.asked) + bool(request.want & BACKWARD - {"token_gradients"})
    return int(bool(request.want & BACKWARD))


def _kept(name: str, request: Request) -> int:
    """How much of an extra's row belongs to this request; the rest is padding."""
    return sum(request.target.asked) if name == "choice" and isinstance(request.target, Text) else _length(request)


def _size(request: Request) -> int:
    """Tokens that a row costs: what is read, and all that is scored after it. Writing goes token by token."""
    if request.write is not None:
        return _length(request)
    after = len(request.target.ids) if isinstance(request.target, Text) else sum(map(len, request.encoded.candidates))
    return _length(request) + after


def _mask_keys(request: Masked) -> Iterator[bytes]:
    of = hashlib.blake2b(request.encoded.ids.tobytes() + request.encoded.word.tobytes(), digest_size=16)
    of.update(repr((type(request.ask).__name__, request.sealed)).encode())
    for mask in request.masks:
        key = of.copy()
        key.update(np.ascontiguousarray(mask).tobytes())
        yield key.digest()


def _length(request: Request) -> int:
    keep = request.change.keep
    return int(keep.sum()) if keep is not None and request.change.hide == "delete" else len(request.encoded)


@lru_cache(4096)
def _settings(
    hide: str, scale: float | None, noise: float | None, seed: int, want: frozenset[str], target: Target | None,
    write: int | None, candidates: tuple[tuple[int, ...], ...],
) -> bytes:  # fmt: skip
    """What many requests have in common, written once."""
    return repr((hide, scale, noise, seed, sorted(want), target, write, candidates)).encode()


def _key(request: Request) -> bytes:
    """Equal keys, equal passes: the ids that the model would read and everything that is done to them."""
    change, encoded = request.change, request.encoded
    digest = hashlib.blake2b(encoded.ids.tobytes(), digest_size=16)
    if encoded.types is not None:
        digest.update(encoded.types.tobytes())
    # all candidates are scored in every pass: which of them is asked about matters to gradients alone
    target = request.target if request.want & BACKWARD or isinstance(request.target, Text) else None
    digest.update(_settings(change.hide if change.keep is not None else "", change.scale, change.noise,
                            change.seed if change.noise else 0, request.want, target, request.write,
                            encoded.candidates))  # fmt: skip
    for name, values in (
        (b"keep", change.keep), (b"embeddings", change.embeddings), (b"attention", change.attention),
        (b"alignment", change.alignment),
    ):  # fmt: skip
        if values is not None:
            digest.update(name)
            digest.update(values.tobytes())
    if change.alignment is not None:  # the same ids may be split into other words
        digest.update(encoded.word.tobytes())
    return digest.digest()
