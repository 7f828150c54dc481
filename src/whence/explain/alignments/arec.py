"""AREC (Jiang et al. 2021): the smallest, least ragged mask of word pairs that keeps the logits.

  minimise  E[L0] + λ E[L1 + L2]  over log α, one number per word pair and no network      (objective.py)
  Z̃_ij = 1 ⇔ log α_ij > 0                                                                 (hard_concrete.py)

The paper gives no optimiser. Here: Adam on log α (from `start` for every cell, kept in ±10), `samples` masks per step, drawn in
pairs U and 1 − U, whose errors partly cancel. A pair is done when Z̃ has kept the label and not changed for `patience` steps, or
after `steps`. Of the Z̃ on the way (every fifth step), the one that keeps the label with the least L0 + 0.15 (L1 + L2) goes on
to a short descent on the mask itself (descent.py). If no mask kept the label, cells are added by decreasing log α until one
does. Scores are the iterate's log α, moved half-way to 10 where the cell is kept at last and half-way to −10 where it is not.

Many pairs are optimised at once: one log α [pairs, premise, hypothesis], the pairs that are done leave the batch, and every
pair has its own stream of random numbers, so that neither company nor order changes its mask.

Cost: at most steps × samples forward and backward passes for a pair, and about steps / 5 + 60 forward.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from whence.explain.alignments.descent import LEAST_GAIN, descend, padded
from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk
from whence.explain.alignments.objective import GATES, WEIGHT, fidelity, mask_size, size
from whence.explain.parameters import POSITIVE, STEPS, Range
from whence.models.alignment import MaskedPairs
from whence.run import Tick
from whence.run.masks import MaskRunner, MaskSteps

LOOK_EVERY = 5
BOUND = 10.0
DECAY = (0.9, 0.999)
AT_ONCE = 256
"""Masks that are tried in one go while cells are added."""


def arec_cells(
    asks: Sequence[PairAsk], masks: MaskRunner, tick: Tick | None, steps: int, samples: int, learning_rate: float,
    start: float, patience: int,
) -> list[Cells]:  # fmt: skip
    found = [Cells(np.zeros(ask.shape), np.zeros(ask.shape, dtype=bool)) for ask in asks]
    flipped = []
    for numbers, pairs in masks.gradient_groups(samples):
        chosen = [asks[i] for i in numbers]
        search = Search(chosen, pairs, samples, learning_rate, start)
        for step in range(1, steps + 1):
            search.step(step)
            if step % LOOK_EVERY == 0 or step == steps:
                search.look(step, patience)
            if not search.open:
                break
        reached = descend(chosen, pairs, [scores > 0 for scores in search.scores])
        for i, scores, end, taken in zip(numbers, search.scores, reached, search.taken, strict=True):
            found[i] = Cells(scores, end.mask, {"objective": end.objective, "fidelity": end.fidelity, "steps": float(taken)})
            if not end.label_kept:
                flipped.append(i)
        if tick:
            tick(len(numbers))
    if flipped:
        again = MaskRunner(masks.classifier, [asks[i].encoded for i in flipped], masks.token_budget)
        for i, cells in zip(flipped, again.drive([_grow(asks[i], found[i]) for i in flipped]), strict=True):
            found[i] = cells
    return [_settled(cells, ask) for cells, ask in zip(found, asks, strict=True)]


class Search:
    """One batch of pairs. Rows of all tensors are the pairs that are not done yet; `open` says which they are."""

    def __init__(self, asks: list[PairAsk], pairs: MaskedPairs, samples: int, learning_rate: float, start: float) -> None:
        self.asks, self.pairs, self.samples, self.learning_rate = asks, pairs, samples, learning_rate
        device = pairs.cells.device
        self.open = list(range(len(asks)))
        self.noise = [ask.generator("arec") for ask in asks]
        self.read = padded([ask.read for ask in asks], pairs)
        self.base = torch.tensor(np.stack([ask.logits for ask in asks]), dtype=torch.float32, device=device)
        self.target = torch.tensor([ask.target for ask in asks], device=device)
        self.log_alpha = torch.full_like(self.read, start)
        self.first, self.second = torch.zeros_like(self.read), torch.zeros_like(self.read)
        self.shown = GATES.more_often_one(self.log_alpha)
        self.unchanged = torch.zeros(len(asks), dtype=torch.long, device=device)
        self.scores: list[np.ndarray] = [np.zeros(ask.shape) for ask in asks]
        self.best = [np.inf] * len(asks)
        self.taken = [0] * len(asks)

    def step(self, step: int) -> None:
        """One step of Adam."""
        log_alpha = self.log_alpha.requires_grad_()
        logits = self.pairs.logits(GATES.sample(log_alpha[:, None], self._uniform()))
        kept = (logits.argmax(-1) == self.target[:, None]).float().mean(1)
        loss = fidelity(logits, self.base[:, None]).mean(1) + WEIGHT * kept * size(log_alpha, self.read)
        [slope] = torch.autograd.grad(loss.sum(), [log_alpha])
        with torch.no_grad():
            self.first = DECAY[0] * self.first + (1 - DECAY[0]) * slope
            self.second = DECAY[1] * self.second + (1 - DECAY[1]) * slope.square()
            mean, spread = self.first / (1 - DECAY[0] ** step), (self.second / (1 - DECAY[1] ** step)).sqrt()
            self.log_alpha = (log_alpha - self.learning_rate * mean / (spread + 1e-8)).clamp(-BOUND, BOUND)
            now = GATES.more_often_one(self.log_alpha)
            same = ((now == self.shown) | (self.read == 0)).flatten(1).all(1)
            self.unchanged = torch.where(same, self.unchanged + 1, 0)
            self.shown = now

    def _uniform(self) -> Tensor:
        drawn = np.full((len(self.open), self.samples, *self.pairs.shape), 0.5, dtype=np.float32)
        half = -(-self.samples // 2)
        for row, i in enumerate(self.open):
            premise, hypothesis = self.asks[i].shape
            ones = self.noise[i].random((half, premise, hypothesis), dtype=np.float32)
            drawn[row, :, :premise, :hypothesis] = np.concatenate([ones, 1 - ones])[: self.samples]
        return torch.from_numpy(drawn).to(self.read.device)

    @torch.no_grad()
    def look(self, step: int, patience: int) -> None:
        """Keep the log α whose Z̃ is the best so far, and let pairs that are done leave."""
        mask = self.shown * self.read
        logits = self.pairs.logits(mask[:, None])[:, 0]
        kept = logits.argmax(-1) == self.target
        objective = (fidelity(logits, self.base) + WEIGHT * mask_size(mask)).masked_fill(~kept, torch.inf)
        scores = (self.log_alpha * self.read).double().cpu().numpy()
        for row, (i, value) in enumerate(zip(self.open, objective.tolist(), strict=True)):
            if value < self.best[i] - LEAST_GAIN or self.best[i] == np.inf:
                premise, hypothesis = self.asks[i].shape
                self.scores[i], self.best[i] = scores[row, :premise, :hypothesis].copy(), value
            self.taken[i] = step
        staying = torch.nonzero(~(kept & (self.unchanged >= patience)))[:, 0].tolist()
        if len(staying) < len(self.open):
            self._keep(staying)

    def _keep(self, rows: list[int]) -> None:
        self.open = [self.open[row] for row in rows]
        if not rows:
            return
        self.pairs = self.pairs.take(rows)
        index = torch.tensor(rows, dtype=torch.long, device=self.read.device)
        for name in ("read", "base", "target", "log_alpha", "first", "second", "shown", "unchanged"):
            setattr(self, name, getattr(self, name)[index])


def _grow(ask: PairAsk, cells: Cells) -> MaskSteps[Cells]:
    """Add cells by decreasing score until the label is kept; with all of them it is."""
    order = np.flatnonzero(ask.read)[np.argsort(-cells.scores[ask.read], kind="stable")]
    ranks = np.full(ask.shape, len(order))
    ranks.flat[order] = np.arange(len(order))
    for start in range(1, len(order) + 1, AT_ONCE):
        counts = np.arange(start, min(start + AT_ONCE, len(order) + 1))
        masks = ranks < counts[:, None, None]
        several = yield masks.astype(np.float32)
        fitting = np.flatnonzero((several.argmax(1) == ask.target) | (counts == len(order)))
        if len(fitting):
            mask, logits = masks[fitting[0]], several[fitting[0]]
            break
    distance = float(np.linalg.norm(logits - ask.logits))
    objective = distance + WEIGHT * float(mask_size(torch.from_numpy(mask).float()))
    return Cells(cells.scores, mask, {**cells.notes, "objective": objective, "fidelity": distance})


def _settled(cells: Cells, ask: PairAsk) -> Cells:
    """log α half-way towards the end that its cell was given: kept cells come first, and within both the order stays."""
    assert cells.mask is not None
    return Cells((np.where(cells.mask, BOUND, -BOUND) + cells.scores) / 2 * ask.read, cells.mask, cells.notes)


METHODS = [
    AlignmentMethod(
        "arec",
        "AREC",
        "The smallest and least ragged set of word pairs under which the prediction stays as it is.",
        "Jiang et al. 2021",
        "steps × samples × (forward + backward), at most",
        arec_cells,
        {"steps": 30, "samples": 8, "learning_rate": 0.3, "start": 1.0, "patience": 10},
        {"steps": STEPS, "samples": STEPS, "learning_rate": POSITIVE, "start": Range(-100, 100), "patience": STEPS},
        makes_mask=True,
        stochastic=True,
        passes=lambda p, h, given: (given["steps"] * (given["samples"] + 1), given["steps"] * given["samples"]),
    )
]
