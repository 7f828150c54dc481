"""What the last layer of a BERT-like classifier computes and nobody reads is left out.

Such a model reads its last layer at the first token alone. There the attention of that token needs all others, but what comes
after it (output projection, feed-forward) is computed for every token and thrown away: about a seventh of a pass through
MiniLM's six layers, forward and backward. So the other rows are dropped where the last layer leaves its attention.

Found by shape and tried out once for each model, as sites are. Noise in the place of what the last layer says of the other
tokens must not change one bit of the scores; a model that reads further tokens (their mean, the last one) is left as it is.
Measured in benchmarks/pass_speed.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

CLOSE = 1e-2
"""How far a score may move, relative to the largest: other shapes round differently (1e-7 in float32, 1e-3 in bfloat16)."""


def leaving_attention(model: PreTrainedModel, probe: Callable[[], Tensor]) -> nn.Module | None:
    """`attention.output` of the last layer, a module of (attention's output, what the layer read), where the first token is all
    that counts afterwards; None where it is not so. `probe` runs the model on a few rows and returns its scores."""
    layers = getattr(getattr(model.base_model, "encoder", None), "layer", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        return None
    found = getattr(getattr(layers[-1], "attention", None), "output", None)
    return found if isinstance(found, nn.Module) and _tried(layers[-1], found, probe) else None


@contextmanager
def first_token_only(module: nn.Module) -> Iterator[None]:
    """For the time of a pass the rest of this layer sees the first token and no other."""

    def cut(_: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(value[:, :1] for value in given)

    handle = module.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()


def _tried(layer: nn.Module, module: nn.Module, probe: Callable[[], Tensor]) -> bool:
    whole = probe()

    def spoil(_: nn.Module, __: Any, output: Any) -> Any:
        state = output[0] if isinstance(output, tuple) else output
        other = torch.cat([state[:, :1], torch.randn_like(state[:, 1:])], 1)
        return (other, *output[1:]) if isinstance(output, tuple) else other

    handle = layer.register_forward_hook(spoil)
    try:
        with torch.random.fork_rng(devices=[]):  # the user's random numbers stay as they were
            unread = torch.equal(probe(), whole)
    finally:
        handle.remove()
    if not unread:
        return False
    try:
        with first_token_only(module):
            short = probe()
    except (RuntimeError, IndexError, TypeError, ValueError):
        return False
    return short.shape == whole.shape and float((short - whole).abs().max()) <= CLOSE * (1 + float(whole.abs().max()))
