"""Reaching the attention of a Hugging Face model without touching its code.

`transformers.AttentionInterface` lets a model's attention be computed by a registered function. Ours, "whence", computes plain
softmax attention and, while a `Tap` is open, multiplies the weights (alignment), replaces the pooled row (attention) and keeps
the last layer's weights for whoever asked; of a decoder that reads an encoder, those of its cross-attention alone. The open tap
travels in a context variable rather than in keyword arguments of the model call, so that models which do not hand unknown
arguments down to their layers work all the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from whence.errors import BadInput

NAME = "whence"


@dataclass
class Tap:
    """What to change in, and keep of, the attention of one forward pass."""

    layers: int
    multiply: Float[Tensor, "batch 1 tokens tokens"] | None = None
    renormalise: bool = False
    """After multiplying, rows add up to 1 again: the same as masking before the softmax."""
    pooled_row: Float[Tensor, "batch tokens"] | None = None
    pooled_at: Tensor | None = None
    """int[batch]: the position whose attention is pooled ([CLS], or the last token of a decoder). None: every position."""
    only: tuple[nn.Module, ...] = ()
    """The modules whose attention it is, where it is not all that the model has."""
    calls: int = 0
    last: list[Tensor] = field(default_factory=list)
    """The last layer's weights, float[batch, heads, tokens, tokens], as a leaf of the graph when gradients are on."""

    def change(self, module: nn.Module, weights: Tensor) -> Tensor:
        if self.only and module not in self.only:
            return weights
        self.calls += 1
        if self.multiply is not None:
            weights = weights * self.multiply.to(weights.dtype)
            if self.renormalise:
                weights = weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
        if self.calls == self.layers:
            if self.pooled_row is not None:
                rows = torch.arange(weights.shape[2], device=weights.device)[None, :]
                here = rows >= 0 if self.pooled_at is None else rows == self.pooled_at[:, None]
                weights = torch.where(here[:, None, :, None], self.pooled_row[:, None, None, :].to(weights.dtype), weights)
            self.last.append(weights)
        return weights


@dataclass
class Watch(Tap):
    """Changes nothing; notes which modules attend from `queries` places to `keys` places."""

    queries: int = 0
    keys: int = 0
    seen: list[nn.Module] = field(default_factory=list)

    def change(self, module: nn.Module, weights: Tensor) -> Tensor:
        if weights.shape[2:] == (self.queries, self.keys):
            self.seen.append(module)
        return weights


_open_tap: ContextVar[Tap | None] = ContextVar("whence_tap", default=None)


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None,
    scaling: float | None = None, dropout: float = 0.0, position_bias: Tensor | None = None, **_: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    groups = query.shape[1] // key.shape[1]
    if groups > 1:  # grouped-query attention: several query heads share one key head
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if position_bias is not None:  # T5 knows places by this alone
        scores = scores + position_bias
    if attention_mask is not None:
        scores = scores + attention_mask[..., : key.shape[2]]
    weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    tap = _open_tap.get()
    if tap is not None:
        weights = tap.change(module, weights)
    # dropout comes last: what is read, and what is imposed, is the attention itself
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights


AttentionInterface.register(NAME, _attend)
# Without a mask function of the same name transformers would pass no mask at all, and padding would be attended to.
AttentionMaskInterface.register(NAME, eager_mask)


@contextmanager
def tapped(model: PreTrainedModel, tap: Tap) -> Iterator[Tap]:
    """Run the model's attention through `tap`; the model's own choice of attention is put back afterwards."""
    before = model.config._attn_implementation
    model.set_attn_implementation(NAME)
    token = _open_tap.set(tap)
    try:
        yield tap
    finally:
        _open_tap.reset(token)
        model.set_attn_implementation(before)
    if tap.calls != tap.layers:
        raise BadInput(
            f"the attention of {type(model).__name__} cannot be reached: {tap.calls} of {tap.layers} layers went through "
            "transformers' AttentionInterface; expected a model that supports set_attn_implementation"
        )
