"""AREC and BackSelect as one would write them from the paper: one pair at a time, the whole model for every mask.

AREC: Adam at 0.1 on log α from 1, 300 steps of 16 masks, the masks of a step as one batch (a sensible person would do that).
The last mask counts; if it loses the label, the best of those set aside every tenth step that keeps it. Written apart from
Whence's explainers: only the classifier, the words of each token and the way into a transformer's attention are used.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from whence.models import Classifier, Encoded
from whence.models.attention import Tap, tapped

GAMMA, ZETA, TAU = -0.1, 1.1, 0.2


@dataclass
class Outcome:
    log_alpha: np.ndarray
    mask: np.ndarray


class PlainAlignment:
    def __init__(self, classifier: Classifier, encoded: Encoded) -> None:
        self.classifier, self.encoded = classifier, encoded
        self.premise, self.hypothesis = (len(spans) for spans in encoded.spans)
        words = torch.tensor(encoded.word)
        self.first = ((words >= 0) & (words < self.premise)).nonzero()[:, 0]
        self.second = (words >= self.premise).nonzero()[:, 0]
        self.rows, self.columns = words[self.first], words[self.second] - self.premise
        for parameter in classifier.model.parameters():
            parameter.requires_grad_(False)
        self.base = self.logits(torch.ones(1, self.premise, self.hypothesis)).detach()[0]

    def logits(self, masks: Tensor) -> Tensor:
        """float[masks, premise, hypothesis] → float[masks, labels], every mask through the whole model."""
        count, tokens = len(masks), len(self.encoded)
        block = masks[:, self.rows][:, :, self.columns]
        whole = torch.ones(count, tokens, tokens)
        whole[:, self.first[:, None], self.second[None, :]] = block
        whole[:, self.second[:, None], self.first[None, :]] = block.transpose(1, 2)
        inputs = {"input_ids": self.encoded.ids, "attention_mask": np.ones(tokens, dtype=np.int64)}
        if self.encoded.types is not None:
            inputs["token_type_ids"] = self.encoded.types
        expanded = {name: torch.tensor(values).expand(count, -1) for name, values in inputs.items()}
        model = self.classifier.model
        if self.classifier.own:
            return model(**expanded, alignment=whole).logits
        with tapped(model, Tap(model.config.num_hidden_layers, multiply=whole[:, None])):
            return model(**expanded).logits

    def arec(self, steps: int = 300, samples: int = 16, rate: float = 0.1, seed: int = 0) -> Outcome:
        draw = torch.Generator().manual_seed(seed)
        log_alpha = torch.full((self.premise, self.hypothesis), 1.0, requires_grad=True)
        adam = torch.optim.Adam([log_alpha], lr=rate)
        aside = []
        for step in range(steps):
            u = torch.rand(samples, *log_alpha.shape, generator=draw).clamp(1e-6, 1 - 1e-6)
            soft = torch.sigmoid((log_alpha + u.log() - (1 - u).log()) / TAU)
            logits = self.logits((GAMMA + (ZETA - GAMMA) * soft).clamp(0, 1))
            kept = float((logits.argmax(1) == self.base.argmax()).float().mean())
            loss = (logits - self.base).pow(2).sum(1).add(1e-12).sqrt().mean() + 0.15 * kept * expected_size(log_alpha)
            adam.zero_grad()
            loss.backward()
            adam.step()
            if step % 10 == 0:
                aside.append(log_alpha.detach().clone())
        final = log_alpha.detach()
        if not self._keeps(final > 0):
            kept_ones = [a for a in aside if self._keeps(a > 0)]
            final = min(kept_ones, key=lambda a: self.objective(a > 0)) if kept_ones else final
        return Outcome(final.numpy(), (final > 0).numpy())

    def back_select(self) -> list[tuple[int, int]]:
        """Cells in the order of removal; every removal is a pass of its own."""
        target, mask, removed = int(self.base.argmax()), torch.ones(self.premise, self.hypothesis), []
        with torch.no_grad():
            while mask.any():
                values = {}
                for i, j in mask.nonzero().tolist():
                    mask[i, j] = 0
                    values[i, j] = float(self.logits(mask[None])[0, target])
                    mask[i, j] = 1
                gone = max(values, key=lambda cell: values[cell])
                mask[gone] = 0
                removed.append(gone)
        return removed

    def objective(self, mask: Tensor) -> float:
        """L0 + 0.15 (L1 + L2) of a 0/1 mask."""
        ones = mask.float()
        with torch.no_grad():
            distance = float((self.logits(ones[None])[0] - self.base).norm())
        windows = ones[:-1, :-1] + ones[1:, :-1] + ones[:-1, 1:] + ones[1:, 1:]
        return distance + 0.15 * float(ones.sum() + (windows == 3).sum())

    def expected(self, log_alpha: Tensor, samples: int = 64) -> float:
        """The same in expectation over HardConcrete masks; L0 by Monte Carlo, with the same draws for whoever is measured."""
        u = torch.rand(samples, *log_alpha.shape, generator=torch.Generator().manual_seed(7)).clamp(1e-6, 1 - 1e-6)
        soft = torch.sigmoid((log_alpha + u.log() - (1 - u).log()) / TAU)
        with torch.no_grad():
            logits = self.logits((GAMMA + (ZETA - GAMMA) * soft).clamp(0, 1))
        return float((logits - self.base).norm(dim=1).mean()) + 0.15 * float(expected_size(log_alpha))

    def _keeps(self, mask: Tensor) -> bool:
        with torch.no_grad():
            return int(self.logits(mask.float()[None])[0].argmax()) == int(self.base.argmax())


def expected_size(log_alpha: Tensor) -> Tensor:
    there = torch.sigmoid(log_alpha - TAU * np.log(-GAMMA / ZETA))
    gone = 1 - there
    total = there.sum()
    early, late = slice(None, -1), slice(1, None)
    corners = [(rows, columns) for rows in (early, late) for columns in (early, late)]
    for missing in corners:
        window = gone[missing]
        for other in corners:
            if other is not missing:
                window = window * there[other]
        total = total + window.sum()
    return total
