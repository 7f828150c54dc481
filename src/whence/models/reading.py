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
    """What a pass keeps for its gradients."""

    embedded: list[Tensor] = field(default_factory=list)
    """What the first layer of each reader read, as leaves."""
    words: Tensor | None = None
    """The word vectors after the change, as a leaf, and before `scale`."""
    unscaled: Tensor | None = None

    def keep_embedded(self, _: int, tensor: Tensor) -> Tensor:
        self.embedded.append(tensor.detach().clone().requires_grad_())
        return self.embedded[-1]


@dataclass
class WordChange:
    """The change of a batch at the word table: made once, read by the encoder and, one place later, by a decoder that reads the
    same words."""

    batch: Batch
    kept: Kept
    as_leaf: bool

    def __call__(self, reader: int, output: Tensor) -> Tensor:
        if reader == 0:
            return self._changed(output)
        assert self.kept.words is not None
        return torch.cat([output[:, :1], self.kept.words[:, : output.shape[1] - 1]], 1)

    def _changed(self, output: Tensor) -> Tensor:
        batch, tokens = self.batch, self.batch.input_ids.shape[1]
        own = output[:, :tokens].detach()  # some models pad further than we do
        words = own if batch.embeddings is None else batch.embeddings.to(own.dtype)
        self.kept.unscaled = words
        if batch.scale is not None:
            factor = torch.where(batch.content, batch.scale[:, None], torch.ones_like(batch.scale)[:, None])
            words = words * factor[..., None].to(own.dtype)
        if batch.noise is not None:
            words = words + batch.noise.to(own.dtype)
        self.kept.words = words.clone().requires_grad_(self.as_leaf)
        return torch.cat([self.kept.words, output[:, tokens:].detach()], 1)


@dataclass
class Pooled:
    """Attention weights as the pass used them, and the row at which the model reads the text."""

    weights: Tensor
    """float[batch, tokens], or float[batch, heads, tokens, tokens] with `at`: int[batch]."""
    at: Tensor | None = None

    def row(self, values: Tensor | None = None) -> Float[Tensor, "batch tokens"]:
        """The pooled row of the weights, or of values like them, mean over heads."""
        values = self.weights if values is None else values
        return values if self.at is None else values.mean(1)[torch.arange(len(values), device=values.device), self.at]


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
