"""Many alignment masks on many pairs.

Explainers and measures of alignments are generators like those of the runner, but they yield masks, float[masks, premise,
hypothesis], and are sent logits, float[masks, labels]: thousands of masks of one pair are one array, not thousands of requests.
Pairs of like size run side by side; what the mask cannot change is computed once for all masks of a pair (`MaskedPairs`).
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float

from whence.models import Classifier, Encoded
from whence.models.alignment import MaskedPairs, pair_shape
from whence.models.pairs import CoAttentionModel
from whence.run.runner import Tick

Masks = Float[np.ndarray, "masks premise hypothesis"]
Logits = Float[np.ndarray, "masks labels"]
Returned = TypeVar("Returned")
MaskSteps = Generator[Masks, Logits, Returned]

MASK_TOKENS = 4096
GROUP = 64
"""Pairs that run side by side: enough to fill a batch even when each asks for few masks."""


class MaskRunner:
    """Runs masks on the pairs of one classifier. `token_budget` bounds a pass: masks × tokens of the longest pair."""

    def __init__(self, classifier: Classifier, encoded: Sequence[Encoded], token_budget: int | None = None) -> None:
        self.classifier, self.encoded = classifier, encoded
        self.token_budget = token_budget or classifier.batch_tokens or MASK_TOKENS

    def groups(self) -> Iterator[tuple[list[int], MaskedPairs]]:
        """(numbers of the pairs, the pairs): those of like size together, the largest first. Without cells: left out."""
        return self._grouped(None)

    def gradient_groups(self, masks: int) -> Iterator[tuple[list[int], MaskedPairs]]:
        """Groups so small that `masks` masks of every pair fit one pass whose activations are kept for a backward pass."""
        own = isinstance(self.classifier.model, CoAttentionModel)
        # a transformer keeps the activations of all its layers: a quarter of the tokens needs about the same memory
        return self._grouped((self.token_budget if own else self.token_budget // 4) // masks)

    def _grouped(self, tokens: int | None) -> Iterator[tuple[list[int], MaskedPairs]]:
        areas = [p * h for p, h in map(pair_shape, self.encoded)]
        order = sorted((i for i, area in enumerate(areas) if area), key=lambda i: -areas[i])
        while order:
            longest = max(len(self.encoded[i]) for i in order[:GROUP])
            size = GROUP if tokens is None else min(GROUP, max(1, tokens // longest))
            numbers, order = order[:size], order[size:]
            yield numbers, MaskedPairs.of(self.classifier, [self.encoded[i] for i in numbers])

    def drive(self, steps: Sequence[MaskSteps[Returned]], tick: Tick | None = None) -> list[Returned]:
        """Run one generator for each pair. A pair without cells gets no logits but must return: its generator may not yield."""
        returned: dict[int, Returned] = {}

        def advance(i: int, logits: Logits | None) -> Masks | None:
            try:
                return next(steps[i]) if logits is None else steps[i].send(logits)
            except StopIteration as stop:
                returned[i] = stop.value
                if tick:
                    tick(1)
                return None

        for numbers, pairs in self.groups():
            asked = {row: masks for row, i in enumerate(numbers) if (masks := advance(i, None)) is not None}
            while asked:
                answers = self._answer(pairs, asked)
                sent = ((row, advance(numbers[row], logits)) for row, logits in answers.items())
                asked = {row: masks for row, masks in sent if masks is not None}
        for i in range(len(steps)):
            if i not in returned and advance(i, None) is not None:
                raise ValueError("masks were asked for of a pair that has no word pair")
        return [returned[i] for i in range(len(steps))]

    def _answer(self, pairs: MaskedPairs, asked: dict[int, Masks]) -> dict[int, Logits]:
        """Cut what is asked to the budget and pack pieces of like length into passes."""
        tokens = pairs.batch.input_ids.shape[1]
        limit = max(1, self.token_budget // tokens)
        pieces = [
            (row, start, masks[start : start + limit]) for row, masks in asked.items() for start in range(0, len(masks), limit)
        ]
        pieces.sort(key=lambda piece: -len(piece[2]))
        found = {row: np.empty((len(masks), len(self.classifier.labels))) for row, masks in asked.items()}
        first = 0
        while first < len(pieces):
            longest = len(pieces[first][2])
            together = pieces[first : first + max(1, limit // longest)]
            first += len(together)
            padded = np.ones((len(together), longest, *pairs.shape), dtype=np.float32)
            for slot, (_, _, masks) in enumerate(together):
                padded[slot, : masks.shape[0], : masks.shape[1], : masks.shape[2]] = masks
            with torch.no_grad():
                chosen = pairs.take([row for row, _, _ in together])
                logits = chosen.logits(torch.from_numpy(padded).to(self.classifier.device)).double().cpu().numpy()
            for slot, (row, start, masks) in enumerate(together):
                found[row][start : start + len(masks)] = logits[slot, : len(masks)]
        return found
