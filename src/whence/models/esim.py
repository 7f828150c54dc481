"""ESIM (Chen et al. 2017): sequential inference with co-attention between BiLSTM states.

  encode   a, b = BiLSTM(e)                      enhance  m = relu(W [x; x̃; x − x̃; x ⊙ x̃])
  attend   S_ij = a_i·b_j, co-attention          compose  v = BiLSTM(m), mean and max over tokens
  predict  ŷ = U tanh(V [mean a; max a; mean b; max b])

Follows the widely used PyTorch version in shape (shared BiLSTMs, same-mask dropout on embeddings and enhanced states) but masks
padding out of the softmax exactly, where that code gives it a score of 0. The hidden size is configurable; published: 300.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from whence.models.layers import PackedLSTM, WordConfig, WordModel
from whence.models.pairs import Pair, co_attention, split_pair


class ESIMConfig(WordConfig):
    model_type = "whence-esim"

    def __init__(self, hidden_size: int = 100, dropout: float = 0.2, **kwargs: Any) -> None:
        super().__init__(hidden_size=hidden_size, dropout=dropout, **kwargs)


class ESIM(WordModel):
    config_class = ESIMConfig
    interventions = frozenset({"alignment"})
    reads_pairs = True

    def __init__(self, config: ESIMConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.encoder = PackedLSTM(config.embedding_dim, size)
        self.enhance = nn.Linear(8 * size, size)
        self.composer = PackedLSTM(size, size)
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = nn.Linear(8 * size, size)
        self.classifier = nn.Linear(size, config.num_labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, alignment: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        pair = split_pair(self._drop_features(self.embeddings(input_ids)), attention_mask, token_type_ids)
        pair.a, pair.b = self._both(self.encoder, pair.a, pair.b, pair)
        to_b, to_a = co_attention(pair.a @ pair.b.transpose(1, 2), pair, alignment)
        a, b = self._enhanced(pair.a, to_b @ pair.b), self._enhanced(pair.b, to_a.transpose(1, 2) @ pair.a)
        a, b = self._both(self.composer, a, b, pair)
        summary = torch.cat([_pooled(a, pair.a_mask), _pooled(b, pair.b_mask)], -1)
        logits = self.classifier(self.dropout(torch.tanh(self.hidden(self.dropout(summary)))))
        return SequenceClassifierOutput(logits=logits, attentions=(to_b, to_a))

    def _both(self, lstm: PackedLSTM, a: Tensor, b: Tensor, pair: Pair) -> tuple[Tensor, Tensor]:
        """One call for both sentences: an LSTM's time goes with the number of steps, hardly with the number of rows."""
        width = max(a.shape[1], b.shape[1])
        rows = torch.cat([nn.functional.pad(x, (0, 0, 0, width - x.shape[1])) for x in (a, b)])
        out = lstm(rows, torch.cat([pair.a_mask.sum(1), pair.b_mask.sum(1)]))
        return out[: len(a), : a.shape[1]], out[len(a) :, : b.shape[1]]

    def _enhanced(self, x: Tensor, aligned: Tensor) -> Tensor:
        return self._drop_features(torch.relu(self.enhance(torch.cat([x, aligned, x - aligned, x * aligned], -1))))

    def _drop_features(self, x: Tensor) -> Tensor:
        """Dropout with one mask for all tokens of a text."""
        return x * self.dropout(torch.ones_like(x[:, :1]))


def _pooled(v: Tensor, mask: Tensor) -> Tensor:
    """Mean and maximum over real tokens: float[batch, 2 × size]."""
    mean = (v * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
    return torch.cat([mean, v.masked_fill(~mask[..., None], torch.finfo(v.dtype).min).amax(1)], -1)
