"""The gradient of every written token of a T5, worked out by hand: what `token_gradients` asks autograd for, sooner.

autograd takes the backward passes of many tokens as if they had nothing in common. They have: all that the forward pass kept,
and where they are zero. Here the tokens of one example stand beside each other, float[places, tokens, width], so that

- they are more rows of the same matrix products, and fit into a processor's cache together, without padding;
- what the pass kept is read where it lies, never copied for each token;
- a token reaches the decoder's places up to its own only, and above the last self-attention only its own;
- the slopes at the encoder's output, of all layers of the decoder, are one product.

Whether it gives a model's own gradients is tried out before it is used (`Seq2Seq.by_hand`).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5Attention, T5LayerFF, T5LayerNorm

from whence.models.attention import Tap, tapped
from whence.models.products import product_of

TOGETHER = 1024
"""Rows (tokens × places) of a product: with more, what they hold no longer fits into a processor's cache."""


@dataclass
class Noted(Tap):
    """What a forward pass computed: for each norm what it was given, for each linear map what it gave, all attention."""

    given: dict[nn.Module, Tensor] = field(default_factory=dict)
    gave: dict[nn.Module, Tensor] = field(default_factory=dict)
    weights: dict[nn.Module, Tensor] = field(default_factory=dict)

    def change(self, module: nn.Module, weights: Tensor) -> Tensor:
        self.calls += 1
        self.weights[module] = weights
        return weights


@contextmanager
def noting(model: T5ForConditionalGeneration) -> Iterator[Noted]:
    """While the model runs forward, without gradients."""
    modules = list(model.modules())
    noted = Noted(sum(isinstance(m, T5Attention) for m in modules))

    def note(module: nn.Module, given: tuple[Tensor, ...], gave: Tensor) -> None:
        noted.given[module], noted.gave[module] = given[0], gave

    with ExitStack() as stack:
        for module in modules:
            if isinstance(module, T5LayerNorm | nn.Linear) and module is not model.lm_head:
                stack.callback(module.register_forward_hook(note).remove)
        stack.enter_context(tapped(model, noted))
        yield noted


def token_slopes(
    model: T5ForConditionalGeneration, noted: Noted, starts: Float[Tensor, "rows length dim"], lengths: list[int],
    places: list[Int[Tensor, " asked"]], tokens: int,
) -> Float[Tensor, "rows tokens asked"]:  # fmt: skip
    """Σ |g| at the encoder's input. `starts` is the slope of each place's logit at the decoder's output; `lengths` of the
    sources; `places`: for each row, from which of the decoder the asked tokens were written, in order."""
    found = starts.new_zeros(len(places), tokens, max(map(len, places)))
    parts = _Parts(model, noted)
    for row, (length, own) in enumerate(zip(lengths, places, strict=True)):
        done = 0
        for several in own.split(max(1, TOGETHER // max(length, int(own[-1]) + 1))):
            slopes = parts.encoder(row, parts.decoder(row, several, starts[row, several], length))
            found[row, :length, done : done + len(several)] = slopes.abs_().sum(-1)
            done += len(several)
    return found


class _Parts:
    """Backward through the layers. Slopes are float[places, tokens, width] in the encoder; in the decoder float[rows, width],
    of the pairs of place and token that are not zero."""

    def __init__(self, model: T5ForConditionalGeneration, noted: Noted) -> None:
        self._product = product_of(model.lm_head.weight)
        self.blocks = [list(stack.block) for stack in (model.encoder, model.decoder)]
        self.tops: list[T5LayerNorm] = [stack.final_layer_norm for stack in (model.encoder, model.decoder)]
        self.norms = {m: _norm(m, x) for m, x in noted.given.items() if isinstance(m, T5LayerNorm)}
        self.forwards = {b.layer[-1]: _bends(b.layer[-1].DenseReluDense, noted) for blocks in self.blocks for b in blocks}
        self.turned = {m: m.weight.t().contiguous() for m in noted.given if isinstance(m, nn.Linear)}
        selves = [b.layer[0].SelfAttention for blocks in self.blocks for b in blocks]
        self.joined = {a: _side_by_side(a.q, a.k, a.v) for a in selves}
        self.attended = {a: _by_head(a, noted) for a in noted.weights}
        self.crosses: list[T5Attention] = [b.layer[1].EncDecAttention for b in self.blocks[1]]
        self.to_source = _side_by_side(*(m for a in self.crosses for m in (a.k, a.v)))

    def decoder(self, row: int, own: Int[Tensor, " tokens"], starts: Tensor, length: int) -> Float[Tensor, "places tokens dim"]:
        """Slopes at the encoder's output."""
        count, reached = len(own), int(own[-1]) + 1
        pairs = torch.nonzero(torch.arange(reached, device=own.device)[:, None] <= own)  # of place and token
        at, flat = own, own * count + torch.arange(count, device=own.device)
        slopes = self._normed(self.tops[1], row, at, starts)
        read = starts.new_empty(length, count, 2 * len(self.crosses), self.crosses[0].inner_dim)
        for i, block in reversed(list(enumerate(self.blocks[1]))):
            slopes = slopes + self._forward(block.layer[-1], row, at, slopes)
            cross = self.crosses[i]
            moved = self._attended(cross, row, own, flat, slopes, [read[:, :, 2 * i], read[:, :, 2 * i + 1]])
            moved = self._product(moved, self.turned[cross.q])
            slopes = slopes + self._normed(block.layer[1].layer_norm, row, at, moved)
            if i > 0:  # below the first self-attention are words that were written, which nobody asks about
                attention = block.layer[0].SelfAttention
                joined = starts.new_zeros(reached, count, 3, attention.inner_dim)
                moved = self._attended(attention, row, own, flat, slopes, [joined[:, :, 1], joined[:, :, 2]])
                joined.view(reached * count, 3, -1)[flat, 0] = moved
                whole = slopes.new_zeros(reached * count, slopes.shape[1]).index_copy_(0, flat, slopes)
                at, flat = pairs[:, 0], pairs[:, 0] * count + pairs[:, 1]
                moved = self._product(joined.view(reached * count, -1)[flat], self.joined[attention])
                slopes = whole[flat].add_(self._normed(block.layer[0].layer_norm, row, at, moved))
        return self._product(read.view(length * count, -1), self.to_source).view(length, count, -1)

    def encoder(self, row: int, slopes: Float[Tensor, "places tokens dim"]) -> Float[Tensor, "places tokens dim"]:
        places, count, _ = slopes.shape
        all_ = (slice(places), None)
        slopes = self._normed(self.tops[0], row, all_, slopes)
        for block in reversed(self.blocks[0]):
            slopes.add_(self._forward(block.layer[-1], row, all_, slopes))
            attention = block.layer[0].SelfAttention
            moved = self._product(slopes.view(places * count, -1), self.turned[attention.o])
            joined = slopes.new_empty(places, count, 3, attention.inner_dim)
            self._attention(attention, row, moved.view(places, count, -1), list(joined.unbind(2)))
            moved = self._product(joined.view(places * count, -1), self.joined[attention]).view_as(slopes)
            slopes.add_(self._normed(block.layer[0].layer_norm, row, all_, moved))
        return slopes

    def _attended(
        self, attention: T5Attention, row: int, own: Tensor, flat: Tensor, slopes: Tensor, into: list[Tensor]
    ) -> Float[Tensor, "rows dim"]:
        """Slopes of the queries at the same pairs; those of keys and values are written `into` all places."""
        moved = self._product(slopes, self.turned[attention.o])
        if len(flat) == len(own):
            return self._at_own_places(attention, row, own, moved, into)
        count, reached = len(own), int(own[-1]) + 1
        whole = moved.new_zeros(reached * count, moved.shape[1]).index_copy_(0, flat, moved)
        queries = torch.empty_like(whole)
        self._attention(attention, row, whole.view(reached, count, -1), [queries.view(reached, count, -1), *into])
        return queries[flat]

    def _at_own_places(self, attention: T5Attention, row: int, own: Tensor, slopes: Tensor, into: list[Tensor]) -> Tensor:
        """`_attention` where each token has a slope at one place alone: products over places are of one term."""
        read, heads = len(into[0]), attention.n_heads
        query, out, key, value, weights = (of[row] for of in self.attended[attention])
        given = slopes.view(len(own), heads, -1).transpose(0, 1)
        weights = weights[:, own, :read]
        moved = torch.bmm(given, value[:, :read].transpose(1, 2))
        moved = (moved - (given * out[:, own]).sum(-1, keepdim=True)) * weights
        for target, of, along in ((into[0], moved, query[:, own]), (into[1], weights, given)):
            torch.mul(of.permute(2, 1, 0).unsqueeze(-1), along.transpose(0, 1), out=target.view(read, len(own), heads, -1))
        return torch.bmm(moved, key[:, :read]).transpose(0, 1).flatten(1)

    def _normed(self, norm: T5LayerNorm, row: int, at: Any, slopes: Tensor) -> Tensor:
        scale, towards, back = (of[row][at] for of in self.norms[norm])
        along = (slopes * towards).sum(-1, keepdim=True)
        return (slopes * scale).addcmul_(along, back, value=-1)

    def _forward(self, layer: T5LayerFF, row: int, at: Any, slopes: Tensor) -> Tensor:
        flat = slopes.reshape(-1, slopes.shape[-1])
        inner = self._product(flat, self.turned[layer.DenseReluDense.wo]).view(*slopes.shape[:-1], -1)
        moved = [
            self._product((inner * bend[row][at]).flatten(0, -2), self.turned[into]) for into, bend in self.forwards[layer]
        ]
        return self._normed(layer.layer_norm, row, at, sum(moved[1:], moved[0]).view_as(slopes))

    def _attention(self, attention: T5Attention, row: int, slopes: Tensor, into: list[Tensor]) -> None:
        """dP = dO·Vᵀ,  dS = P ⊙ (dP − Σ dO ⊙ O),  dQ = dS·K,  dK = dSᵀ·Q,  dV = Pᵀ·dO, for each head."""
        places, count, _ = slopes.shape
        read, heads = len(into[1]), attention.n_heads
        query, out, key, value, weights = (of[row] for of in self.attended[attention])
        query, out, key, value = query[:, :places], out[:, :places], key[:, :read], value[:, :read]
        weights = weights[:, :places, :read]
        given = slopes.view(places, count, heads, -1).permute(2, 0, 1, 3).contiguous()
        moved = torch.bmm(given.view(heads, places * count, -1), value.transpose(1, 2)).view(heads, places, count, read)
        moved.sub_((given * out.unsqueeze(2)).sum(-1, keepdim=True)).mul_(weights.unsqueeze(2))
        dim = given.shape[-1]
        queries = torch.bmm(moved.view(heads, places * count, read), key).view(heads, places, count, dim)
        keys = torch.bmm(moved.view(heads, places, count * read).transpose(1, 2), query).view(heads, count, read, dim)
        values = torch.bmm(weights.transpose(1, 2), given.view(heads, places, count * dim)).view(heads, read, count, dim)
        into[0].view(places, count, heads, dim).copy_(queries.permute(1, 2, 0, 3))
        into[1].view(read, count, heads, dim).copy_(keys.permute(2, 1, 0, 3))
        into[2].view(read, count, heads, dim).copy_(values.permute(1, 2, 0, 3))


def _side_by_side(*maps: nn.Linear) -> Tensor:
    """One product back through maps that read the same: float[width, their widths]."""
    return torch.cat([m.weight.t() for m in maps], 1).contiguous()


def _by_head(attention: Any, noted: Noted) -> tuple[Tensor, ...]:
    """(queries, what was read, keys, values, weights), float[rows, heads, places, …]."""
    found = (noted.gave[attention.q], noted.given[attention.o], noted.gave[attention.k], noted.gave[attention.v])
    return *(x.unflatten(2, (attention.n_heads, -1)).transpose(1, 2) for x in found), noted.weights[attention]


def _norm(norm: T5LayerNorm, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """y = w·x·r with r = 1 / sqrt(mean x² + ε):  dx = dy·w·r − (dy · w·x·r) x·r² / width."""
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)
    return norm.weight * r, norm.weight * x * r, x * r.pow(2) / x.shape[-1]


def _bends(dense: Any, noted: Noted) -> list[tuple[nn.Linear, Tensor]]:
    """The maps into a feed-forward layer, and by what its inner slopes are multiplied on their way back through each."""
    gated = hasattr(dense, "wi_0")
    into = dense.wi_0 if gated else dense.wi
    with torch.enable_grad():
        x = noted.gave[into].detach().requires_grad_()
        bent = dense.act(x)
        [bend] = torch.autograd.grad(bent.sum(), x)
    return [(into, bend * noted.gave[dense.wi_1]), (dense.wi_1, bent.detach())] if gated else [(into, bend)]
