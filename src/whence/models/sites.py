"""Named places inside a model where its words can be read and changed, found and tried out once per model.

  embeddings  the vector of each token as it comes out of the word table, where the encoder reads it
  embedded    what the first layer reads: after position, type and norm. Gradients are taken here: below a LayerNorm the product
              of the whole input with its gradient is zero by construction, and what is left attributes position.
  cross_attention   of a sequence-to-sequence model: the weights with which each decoder layer attends to the source

An encoder–decoder classifier reads its words twice: in the encoder, and again in the decoder, moved one place to the right.
Both are changed together, and gradients of both count. A hook that did not fire as often as expected is an error, never a
result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from whence.errors import BadInput
from whence.models.attention import Watch, tapped


@dataclass(frozen=True)
class Site:
    """The output of a module, or the first thing that it is given."""

    module: nn.Module
    side: Literal["output", "input"] = "output"


@dataclass(frozen=True)
class Sites:
    """The readers of each place: the encoder and, in an encoder–decoder classifier, the decoder."""

    embeddings: tuple[Site, ...]
    embedded: tuple[Site, ...]
    time_first: bool = False
    """XLNet works on [tokens, batch, width]."""


Change = Callable[[int, Tensor], Tensor]
"""(number of the reader, float[batch, tokens, width]) → what the model reads instead."""


def find_sites(model: PreTrainedModel, twice: bool) -> Sites:
    """`twice`: the decoder reads the words again. Guessed from the shape of the module tree; `try_sites` proves it."""
    if hasattr(model, "interventions"):  # ours read their word table directly
        table = Site(model.get_input_embeddings())
        return Sites((table,), (table,))
    readers = [reading_half(model)]
    if twice:
        readers.append(model.get_decoder())
    tables = tuple(Site(reader.get_input_embeddings()) for reader in readers)
    return Sites(tables, tuple(_first_layer(reader) for reader in readers))


def reading_half(model: PreTrainedModel) -> PreTrainedModel:
    """The part of a model that reads the source: the encoder of an encoder–decoder, else all below the head."""
    return model.get_encoder() if model.config.is_encoder_decoder else model.base_model


def _first_layer(reader: PreTrainedModel) -> Site:
    own = getattr(reader, "embeddings", None)
    if own is not None and not isinstance(own, nn.Embedding):
        return Site(own)
    layers = [module for module in reader.modules() if isinstance(module, nn.ModuleList) and len(module)]
    return Site(layers[0][0], "input") if layers else Site(reader.get_input_embeddings())


@contextmanager
def changed(sites: tuple[Site, ...], change: Change, time_first: bool = False) -> Iterator[None]:
    """Let `change` see and replace what passes each site. The encoder comes first, also where both share one table."""
    fired = 0

    def replace(value: Any) -> Any:
        nonlocal fired
        fired += 1
        if fired > len(sites):
            return value
        tensor, rest = (value[0], value[1:]) if isinstance(value, tuple) else (value, None)
        new = change(fired - 1, tensor.transpose(0, 1) if time_first else tensor)
        new = new.transpose(0, 1) if time_first else new
        return new if rest is None else (new, *rest)

    def before(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if given:
            return (replace(given[0]), *given[1:]), named
        return given, {**named, "hidden_states": replace(named["hidden_states"])}

    def after(_: nn.Module, __: Any, output: Any) -> Any:
        return replace(output)

    handles = []
    for site in {id(site.module): site for site in sites}.values():
        if site.side == "input":
            handles.append(site.module.register_forward_pre_hook(before, with_kwargs=True))
        else:
            handles.append(site.module.register_forward_hook(after))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
    if fired != len(sites):
        names = ", ".join(type(site.module).__name__ for site in sites)
        raise BadInput(
            f"an intervention at {names} was met {fired} times in one pass; expected {len(sites)}: it cannot be done"
        )


def try_sites(sites: Sites, probe: Callable[[], Tensor], tokens: int) -> Sites:
    """Proves that hooks fire and that what they change moves the output; says how the tensors lie.

    `probe` runs the model on one row of `tokens` tokens (two at least) and returns its scores. BadInput where a site fails.
    """
    seen: list[Tensor] = []

    def look(_: int, tensor: Tensor) -> Tensor:
        seen.append(tensor)
        return tensor

    with changed(sites.embeddings, look):
        plain = probe()
    time_first = seen[0].shape[0] >= tokens and seen[0].shape[1] == 1
    found = Sites(sites.embeddings, sites.embedded, time_first)
    if len(seen) == 2 and not torch.equal(*_same_words(seen[0], seen[1])):
        raise BadInput("the decoder does not read the words that the encoder reads, one place later")
    for place in (found.embeddings, found.embedded):
        # another value at every place and width: a norm takes out a common shift or scale
        with changed(place, lambda _, tensor: tensor + _uneven(tensor), time_first):
            moved = probe()
        if torch.equal(moved, plain):
            raise BadInput(f"a change of {type(place[0].module).__name__} does not move the output")
    return found


def cross_attention(model: PreTrainedModel, probe: Callable[[], Any], source: int, written: int) -> tuple[nn.Module, ...]:
    """The modules that attend from what is `written` to the `source`, layer by layer; () where attention cannot be reached.

    `probe` runs the model on one row of so many tokens; the two lengths differ, so that no other attention looks like it.
    """
    watch = Watch(0, queries=written, keys=source)
    try:
        with tapped(model, watch):
            probe()
    except (BadInput, AttributeError, KeyError, NotImplementedError, ValueError):
        return ()
    return tuple(watch.seen)


def _same_words(encoder: Tensor, decoder: Tensor) -> tuple[Tensor, Tensor]:
    width = min(encoder.shape[1], decoder.shape[1])
    return encoder[:, : width - 1], decoder[:, 1:width]


def _uneven(like: Tensor) -> Tensor:
    wave = torch.sin(torch.arange(like[0].numel(), device=like.device, dtype=torch.float32) * 1.7)
    return (wave.view(like.shape[1:]) * (like.float().std() + 0.1)).to(like.dtype)
