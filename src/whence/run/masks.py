"""Passes under alignment masks, for the runner: many masks of one pair are one request.

Explainers and measures of alignments are generators for one pair. They yield masks, float[masks, premise, hypothesis], and are
sent logits, float[masks, labels]. One that needs gradients in the masks yields `Slopes` and is sent (logits, slopes); one that
wants the model's own co-attention yields `CO_ATTENTION` and is sent float[premise, hypothesis]. `on_pair` makes a generator of
that kind one that the runner drives like any other; `drive_masks` does so for many pairs.

`Passes` cuts what is asked to the token budget and packs pieces of like length together. What a mask cannot change is computed
once for a group of pairs of like size (`MaskedPairs`), and kept for the requests that follow.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whence.models import Encoded
from whence.models.alignment import MaskedPairs, pair_shape

if TYPE_CHECKING:
    from whence.run.runner import Rounds, Runner, Tick

Masks = Float[np.ndarray, "masks premise hypothesis"]
Logits = Float[np.ndarray, "masks labels"]
Loss = Callable[[Float[Tensor, "masks labels"], Int[Tensor, " masks"]], Float[Tensor, " masks"]]
"""(logits of some of the masks, which of them) → a number for each."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Asks for the logits under each mask and for the gradient in that mask of `loss`, a number for each mask."""

    masks: Masks
    loss: Loss


class CoAttention:
    """Asks for the weights by which the model itself aligns words."""


CO_ATTENTION = CoAttention()
Returned = TypeVar("Returned")
MaskAsk = Masks | Slopes | CoAttention
MaskRounds = Generator[MaskAsk, Any, Returned]


@dataclass(frozen=True, eq=False)
class Masked:
    """A request of the runner: passes of one pair under masks."""

    encoded: Encoded
    ask: MaskAsk
    sealed: bool = False

    @property
    def masks(self) -> Masks:
        """Those that are run; co-attention is read in one pass without a mask."""
        match self.ask:
            case Slopes(masks=masks):
                return masks
            case CoAttention():
                return np.ones((1, *pair_shape(self.encoded, self.sealed)), dtype=np.float32)
            case masks:
                return masks

    @property
    def loss(self) -> Loss | None:
        return self.ask.loss if isinstance(self.ask, Slopes) else None


@dataclass(frozen=True, eq=False)
class MaskedResult:
    """`answer` is what the generator is sent."""

    answer: Any


def on_pair(encoded: Encoded, rounds: MaskRounds[Returned], sealed: bool = False) -> "Rounds[Returned]":
    """The generator of one pair as one of the runner's."""
    try:
        ask = next(rounds)
        while True:
            [result] = yield [Masked(encoded, ask, sealed)]
            assert isinstance(result, MaskedResult)
            ask = rounds.send(result.answer)
    except StopIteration as stop:
        return stop.value


GROUP = 64
"""Pairs that share a pass."""
GROUPS = 8
"""Groups whose common part is kept."""


def drive_masks(
    runner: "Runner",
    encoded: Sequence[Encoded],
    rounds: Sequence[MaskRounds[Returned]],
    tick: "Tick | None" = None,
    sealed: bool = False,
) -> list[Returned]:
    """Run one generator for each pair, pairs of like size together."""
    areas = [premise * hypothesis for premise, hypothesis in map(pair_shape, encoded)]
    order = sorted(range(len(encoded)), key=lambda i: -areas[i])
    found = runner.drive((on_pair(encoded[i], rounds[i], sealed) for i in order), tick)
    returned = dict(zip(order, found, strict=True))
    return [returned[i] for i in range(len(encoded))]


@dataclass(eq=False)
class Group:
    """Pairs of like size that run together."""

    encoded: list[Encoded]
    sealed: bool
    pairs: MaskedPairs | None = None
    """Computed when a model is first asked."""

    @property
    def tokens(self) -> int:
        return max(len(e) for e in self.encoded)


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass: which rows of the group under which masks. All rows have `longest` places, the last may be padding."""

    group: Group
    rows: list[int]
    masks: list[Masks]
    losses: list[tuple[Loss, int]] | None
    """For each row its loss and the number of its first mask; None where no gradient is wanted."""
    reads_co_attention: bool = False

    @property
    def count(self) -> int:
        return sum(map(len, self.masks))

    @property
    def tokens(self) -> int:
        longest = max(len(self.group.encoded[row]) for row in self.rows)
        return longest * len(self.masks) * max(map(len, self.masks))


class Passes:
    """What was asked, as passes; and what they found, as answers. `run` is how the runner does one pass."""

    def __init__(self, run: Callable[[Pass], tuple[Logits, np.ndarray | None]]) -> None:
        self.run = run
        self._groups: list[Group] = []

    def answer(self, requests: Sequence[Masked], budget: int, sloped_budget: int) -> list[MaskedResult]:
        """The budgets bound the tokens of a pass, without and with gradients."""
        answers: list[Any] = [None] * len(requests)
        for group, numbers in self._by_group(requests):
            kinds: dict[type, list[int]] = {}
            for number in numbers:
                kinds.setdefault(type(requests[number].ask), []).append(number)
            for several in kinds.values():
                sloped = isinstance(requests[several[0]].ask, Slopes)
                self._answer_group(group, several, requests, sloped_budget if sloped else budget, answers)
        return [MaskedResult(answer) for answer in answers]

    def forget(self) -> None:
        self._groups.clear()

    def _by_group(self, requests: Sequence[Masked]) -> Iterator[tuple[Group, list[int]]]:
        """Pairs that were asked before stay in their group; new ones form groups, the largest first."""
        where = {(id(e), group.sealed): group for group in self._groups for e in group.encoded}
        new = {(id(r.encoded), r.sealed): r for r in requests if (id(r.encoded), r.sealed) not in where}
        order = sorted(new.values(), key=lambda r: (r.sealed, -int(np.prod(pair_shape(r.encoded)))))
        for sealed in (False, True):
            fresh = [r.encoded for r in order if r.sealed == sealed]
            for start in range(0, len(fresh), GROUP):
                group = Group(fresh[start : start + GROUP], sealed)
                self._groups.append(group)
                where |= {(id(e), sealed): group for e in group.encoded}
        found: dict[int, tuple[Group, list[int]]] = {}
        for number, r in enumerate(requests):
            group = where[id(r.encoded), r.sealed]
            found.setdefault(id(group), (group, []))[1].append(number)
        self._groups = self._groups[-GROUPS:]
        yield from found.values()

    def _answer_group(
        self, group: Group, numbers: list[int], requests: Sequence[Masked], budget: int, answers: list[Any]
    ) -> None:
        sloped = isinstance(requests[numbers[0]].ask, Slopes)
        co_attention = isinstance(requests[numbers[0]].ask, CoAttention)
        limit = max(1, budget // group.tokens)
        asked = {number: requests[number].masks for number in numbers}
        pieces = [
            (number, start, masks[start : start + limit])
            for number, masks in asked.items() for start in range(0, len(masks), limit)
        ]  # fmt: skip
        pieces.sort(key=lambda piece: -len(piece[2]))
        row_of = {id(e): row for row, e in enumerate(group.encoded)}
        logits: dict[int, list[tuple[int, np.ndarray]]] = {number: [] for number in numbers}
        slopes: dict[int, list[tuple[int, np.ndarray]]] = {number: [] for number in numbers}
        first = 0
        while first < len(pieces):
            together = pieces[first : first + max(1, limit // len(pieces[first][2]))]
            first += len(together)
            losses = [(loss, start) for number, start, _ in together if (loss := requests[number].loss) is not None]
            rows = [row_of[id(requests[number].encoded)] for number, _, _ in together]
            one = Pass(group, rows, [masks for _, _, masks in together], losses if sloped else None, co_attention)
            found, inside = self.run(one)
            for slot, (number, start, masks) in enumerate(together):
                count, premise, hypothesis = masks.shape
                logits[number].append((start, found[slot, :count]))
                if inside is not None:
                    slopes[number].append((start, inside[slot, :count, :premise, :hypothesis]))
        for number in numbers:
            values, inner = (
                np.concatenate([part for _, part in sorted(parts, key=lambda p: p[0])]) if parts else None
                for parts in (logits[number], slopes[number])
            )
            answers[number] = inner[0] if co_attention and inner is not None else (values, inner) if sloped else values


def masked_pass(one: Pass, pairs: MaskedPairs) -> tuple[Logits, np.ndarray | None]:
    """Run it: logits float64[rows, longest, labels] and, where asked, slopes or co-attention [rows, longest, …]."""
    chosen = pairs.take(one.rows)
    if one.reads_co_attention:
        weights = np.zeros((len(one.rows), 1, *pairs.shape))
        for slot, found in enumerate(chosen.co_attention()):
            weights[slot, 0, : found.shape[0], : found.shape[1]] = found
        return np.zeros((len(one.rows), 1, len(pairs.classifier.labels))), weights
    padded = np.ones((len(one.rows), max(map(len, one.masks)), *pairs.shape), dtype=np.float32)
    for slot, masks in enumerate(one.masks):
        padded[slot, : masks.shape[0], : masks.shape[1], : masks.shape[2]] = masks
    at, gradient = torch.from_numpy(padded).to(pairs.classifier.device), None
    with torch.set_grad_enabled(one.losses is not None):
        out = chosen.logits(at.requires_grad_(one.losses is not None))
        if one.losses is not None:
            each = [
                loss(out[slot, : len(m)], torch.arange(start, start + len(m), device=out.device)).sum()
                for slot, ((loss, start), m) in enumerate(zip(one.losses, one.masks, strict=True))
            ]
            gradient = torch.autograd.grad(torch.stack(each).sum(), [at])[0].double().cpu().numpy()
    return out.detach().double().cpu().numpy(), gradient
