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

from whence.errors import BadInput
from whence.models.batch import collate
from whence.models.classifier import Classifier
from whence.models.encoding import Encoded
from whence.models.layers import AttentionPool

TOKEN_BUDGET = 8192


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


@torch.no_grad()
def read_out(classifier: Classifier, encoded: Sequence[Encoded]) -> Readout:
    """One pass of the encoder over all texts, in batches of like length."""
    model = classifier.model
    if not isinstance(getattr(model, "pool", None), AttentionPool):
        raise BadInput(f"{type(model).__name__} does not read its attention linearly; expected a bilstm or mlp of ours")
    model.eval()
    width = max(1, *(len(e) for e in encoded))
    labels = len(classifier.labels)
    values = torch.zeros(len(encoded), width, labels)
    mask = torch.zeros(len(encoded), width, dtype=torch.bool)
    attention = torch.zeros(len(encoded), width)
    order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i]))
    start = 0
    while start < len(order):
        rows = order[start : start + max(1, TOKEN_BUDGET // max(1, len(encoded[order[start]])))]
        batch = collate([encoded[i] for i in rows], classifier.pad_id, classifier.device)
        output = model(**batch.inputs())
        n = batch.input_ids.shape[1]
        values[rows, :n] = (output.hidden_states[0] @ model.classifier.weight.T).cpu()
        attention[rows, :n] = output.attentions[0].cpu()
        mask[rows, :n] = batch.content.cpu()
        start += len(rows)
    return Readout(values, model.classifier.bias.detach().cpu(), mask, attention)
