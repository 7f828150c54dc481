"""A prediction as a function of attention alone, for models that pool by attention and then read linearly (BiLSTM, MLP).

  logits(α) = W (Σ_i α_i h_i) + b = Σ_i α_i V_i + b,   V_i = W h_i

The encoder runs once; after that a thousand attention distributions cost as much as a small matrix product. Equal to passing
the same attention as an `Intervention` (tested).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whence.models import Classifier, Encoded
from whence.run.runner import Request, Runner


@dataclass
class Readout:
    """Of many texts, padded on the right. `attention` is the model's own."""

    values: Float[Tensor, "texts tokens labels"]
    bias: Float[Tensor, " labels"]
    mask: Bool[Tensor, "texts tokens"]
    """True at the tokens that attention is spread over."""
    attention: Float[Tensor, "texts tokens"]

    def probabilities(self, attention: Float[Tensor, "texts *some tokens"]) -> Float[Tensor, "texts *some labels"]:
        """Of every text under one or several distributions."""
        if attention.ndim == 2:
            return self.probabilities(attention[:, None])[:, 0]
        return (attention @ self.values + self.bias).softmax(-1)

    def of(self, texts: slice | Sequence[int]) -> "Readout":
        """Some of the texts, cut to the longest of them."""
        mask = self.mask[texts]
        width = int(mask.any(0).nonzero().max()) + 1 if mask.any() else 1
        return Readout(self.values[texts][:, :width], self.bias, mask[:, :width], self.attention[texts][:, :width])


def read_out(runner: Runner, encoded: Sequence[Encoded]) -> Readout:
    """One pass of the encoder over all texts, through the runner like every other pass."""
    found = runner.run([Request(e, want=frozenset({"attention", "readout"})) for e in encoded])
    width = max(1, *(len(e) for e in encoded))
    values = torch.zeros(len(encoded), width, len(runner.classifier.labels))
    attention, mask = torch.zeros(len(encoded), width), torch.zeros(len(encoded), width, dtype=torch.bool)
    for i, (e, result) in enumerate(zip(encoded, found, strict=True)):
        values[i, : len(e)] = torch.from_numpy(result.extras["readout"])
        attention[i, : len(e)] = torch.from_numpy(result.extras["attention"])
        mask[i, : len(e)] = torch.from_numpy(e.field >= 0)
    assert isinstance(runner.classifier, Classifier)  # no other model offers a readout
    return Readout(values, runner.classifier.model.classifier.bias.detach().cpu(), mask, attention)
