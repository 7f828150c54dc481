"""Causal language models as label scorers and writers, by a prompt.

The prompt is read once; its cache serves all candidates, or all steps of greedy writing. Prompts are padded on the right:
padding is masked out of the cache, and what follows is numbered from the prompt's own end.
"""

import inspect
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import torch
from torch import Tensor

from whence.models.batch import Answers, Batch
from whence.models.encoding import Encoded
from whence.models.generator import Generator
from whence.models.reading import Kept, evaluating


class Causal(Generator):
    usual_templates: ClassVar = {
        ("text",): "prompt.text",
        ("premise", "hypothesis"): "prompt.nli",
        ("question",): "prompt.choice",
    }

    def _row_kind(self, encoded: Encoded) -> Hashable:
        """A sliding window counts padding too: prompts beyond it share a batch only with prompts of their length."""
        window = getattr(self.model.config, "sliding_window", None)
        return len(encoded) if window is not None and len(encoded) + 256 > window else None

    def _places(self, first: Tensor, length: int) -> dict[str, Tensor]:
        """Position numbers, where the model takes them; others count the mask."""
        takes = "position_ids" in inspect.signature(self.model.forward).parameters
        return {"position_ids": first[:, None] + torch.arange(length, device=first.device)} if takes else {}

    def _prompt(self, batch: Batch, want: frozenset[str], kept: Kept) -> tuple[Tensor, Any]:
        """(scores of the token after each prompt, the cache)."""
        sizes = batch.attention_mask.sum(1)
        with self._reading(batch, want, kept):
            output = self.model(
                **batch.inputs(), **self._places(torch.zeros_like(sizes), batch.input_ids.shape[1]), use_cache=True
            )
        rows = torch.arange(len(sizes), device=sizes.device)
        return output.logits[rows, sizes - 1], output.past_key_values

    @torch.no_grad()
    def _tried(self, batch: Batch) -> Tensor:
        with evaluating(self.model):
            return self._prompt(batch, frozenset(), Kept())[0]

    def _answered(self, batch: Batch, answers: Answers, want: frozenset[str], kept: Kept) -> Tensor:
        several, length = answers.ids.shape[1:]
        first, cache = self._prompt(batch, want, kept)
        first = first.repeat_interleave(several, 0)[:, None]
        if length == 1:
            return first
        if several > 1:
            cache.batch_repeat_interleave(several)
        mask = batch.attention_mask.repeat_interleave(several, 0)
        fed, sizes = answers.ids.flatten(0, 1)[:, :-1], mask.sum(1)
        output = self.model(
            input_ids=fed, attention_mask=torch.cat([mask, torch.ones_like(fed)], 1), past_key_values=cache, use_cache=True,
            **self._places(sizes, length - 1),
        )  # fmt: skip
        return torch.cat([first, output.logits], 1)

    def _writer(self, batch: Batch) -> Callable[[Tensor | None], Tensor]:
        first, cache = self._prompt(batch, frozenset(), Kept())
        mask, sizes = batch.attention_mask, batch.attention_mask.sum(1)

        def step(last: Tensor | None) -> Tensor:
            nonlocal cache, mask, sizes
            if last is None:
                return first
            mask = torch.cat([mask, torch.ones_like(last)], 1)
            places = self._places(sizes, 1)
            sizes = sizes + 1
            output = self.model(input_ids=last, attention_mask=mask, past_key_values=cache, use_cache=True, **places)
            cache = output.past_key_values
            return output.logits[:, -1]

        return step
