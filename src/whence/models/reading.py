"""What happens to a model's words while it reads them: how they are changed, and what gradients are taken of."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from whence.models.batch import Batch


@dataclass
class Kept:
    """What a pass keeps for its gradients: what the first layer of each reader read, as leaves, and the same before `scale`."""

    leaves: list[Tensor] = field(default_factory=list)
    unscaled: list[Tensor] = field(default_factory=list)


@dataclass
class Reading:
    """The change of a batch at both sites. Reader 0 is the encoder, 1 a decoder that reads the same words one place later."""

    batch: Batch
    kept: Kept
    differentiate: bool
    _words: Tensor | None = None

    @property
    def at_words(self) -> bool:
        return self.batch.embeddings is not None or self.batch.noise is not None

    @property
    def at_first_layer(self) -> bool:
        return self.batch.scale is not None or self.differentiate

    def words(self, reader: int, output: Tensor) -> Tensor:
        """At the word table: replaced and noised once, for all readers."""
        tokens = self.batch.input_ids.shape[1]
        if reader == 0:
            own = output[:, :tokens]  # some models pad further than we do
            words = own if self.batch.embeddings is None else self.batch.embeddings.to(own.dtype)
            self._words = words if self.batch.noise is None else words + self.batch.noise.to(own.dtype)
            return torch.cat([self._words, output[:, tokens:]], 1)
        assert self._words is not None
        return torch.cat([output[:, :1], self._words[:, : output.shape[1] - 1]], 1)

    def first_layer(self, reader: int, read: Tensor) -> Tensor:
        """Where the first layer reads: scaled, and cut loose from what is below."""
        read = read.detach()
        self.kept.unscaled.append(read)
        if self.batch.scale is not None:
            content = nn.functional.pad(self.batch.content, (reader, max(0, read.shape[1] - self.batch.content.shape[1])))
            factor = torch.where(content[:, : read.shape[1]], self.batch.scale[:, None], 1.0)
            read = read * factor[..., None].to(read.dtype)
        if self.differentiate:
            read = read.clone().requires_grad_()
            self.kept.leaves.append(read)
        return read


@dataclass
class Pooled:
    """Attention weights as the pass used them, and the row at which the model reads the text."""

    weights: Tensor
    """float[batch, tokens], or float[batch, heads, tokens, tokens] with `at`: int[batch]."""
    at: Tensor | None = None
    states: Tensor | None = None
    """What the attention is spread over, float[batch, tokens, size], in models that read it linearly."""

    def row(self, values: Tensor | None = None) -> Float[Tensor, "batch tokens"]:
        """The pooled row of the weights, or of values like them, mean over heads."""
        values = self.weights if values is None else values
        return values if self.at is None else values.mean(1)[torch.arange(len(values), device=values.device), self.at]


@dataclass
class Looked(Pooled):
    """Cross-attention: where a decoder looks while it writes, mean over heads and over the places that count."""

    share: Tensor = field(default_factory=lambda: torch.empty(0))
    """float[batch, candidates, length]: what each place counts; it adds up to 1 for each row of the batch."""

    def row(self, values: Tensor | None = None) -> Float[Tensor, "batch tokens"]:
        values = (self.weights if values is None else values).mean(1)[:, -self.share.shape[2] :]
        share = self.share.to(values.dtype)
        return torch.einsum("bcl,bcls->bs", share, values.unflatten(0, share.shape[:2]))


def reduced(slopes: Sequence[Tensor], values: Sequence[Tensor], tokens: int) -> Float[Tensor, "batch tokens 4"]:
    """Gradients reduced over the width of all readers together: Σ x·g, Σ g, Σ |g|, sqrt Σ g²."""
    gradient, value = (_side_by_side(several, tokens).float() for several in (slopes, values))
    return torch.stack([(gradient * value).sum(-1), gradient.sum(-1), gradient.abs().sum(-1), gradient.norm(dim=-1)], dim=-1)


def _side_by_side(several: Sequence[Tensor], tokens: int) -> Tensor:
    """The encoder's values and, moved back one place, the decoder's."""
    first, *second = (tensor.detach() for tensor in several)
    moved = [nn.functional.pad(tensor[:, 1 : tokens + 1], (0, 0, 0, max(0, tokens + 1 - tensor.shape[1]))) for tensor in second]
    return torch.cat([first[:, :tokens], *moved], -1)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode for the time of a pass; every module's own mode is put back."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
