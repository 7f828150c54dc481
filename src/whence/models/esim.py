"""ESIM (Chen et al. 2017): sequential inference with co-attention between BiLSTM states.

  encode   a, b = BiLSTM(e)                      enhance  m = relu(W [x; x̃; x − x̃; x ⊙ x̃])
  attend   S_ij = a_i·b_j, co-attention          compose  v = BiLSTM(m), mean and max over tokens
  predict  ŷ = U tanh(V [mean a; max a; mean b; max b])

Follows the widely used PyTorch version in shape (shared BiLSTMs, same-mask dropout on embeddings and enhanced states) but masks
padding out of the softmax exactly, where that code gives it a score of 0. The hidden size is configurable; published: 300.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from whence.models.layers import PackedLSTM, WordConfig
from whence.models.pairs import Attended, CoAttentionModel, co_attention, split_pair


class ESIMConfig(WordConfig):
    model_type = "whence-esim"

    def __init__(self, hidden_size: int = 100, dropout: float = 0.2, **kwargs: Any) -> None:
        super().__init__(hidden_size=hidden_size, dropout=dropout, **kwargs)


class ESIM(CoAttentionModel):
    config_class = ESIMConfig

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

    def before_alignment(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Attended:
        """Encode, attend, and enhance as far as it is linear in x or in x̃ alone:

        W [x; x̃; x − x̃; x ⊙ x̃] = (W₁ + W₃) x + (W₂ − W₃) x̃ + W₄ (x ⊙ x̃)
        """
        pair = split_pair(self._drop_features(self.embeddings(input_ids)), attention_mask, token_type_ids)
        lengths = torch.cat([pair.a_mask.sum(1), pair.b_mask.sum(1)])
        pair.a, pair.b = a, b = self._both(self.encoder, pair.a, pair.b, lengths)
        to_b, to_a = co_attention(a @ b.transpose(1, 2), pair)
        w1, w2, w3, _ = self.enhance.weight.chunk(4, dim=1)
        own, sent = w1 + w3, w2 - w3
        return Attended(
            pair, to_b, to_a, linear(a, own, self.enhance.bias), linear(b, own, self.enhance.bias),
            torch.cat([a, linear(a, sent)], -1), torch.cat([b, linear(b, sent)], -1),
        )  # fmt: skip

    def after_alignment(
        self, state: Attended, masks: Float[Tensor, "batch masks a_tokens b_tokens"] | None
    ) -> Float[Tensor, "batch masks labels"]:
        to_a, to_b = state.aligned(masks)
        pair, count = state.pair, to_a.shape[1]
        a, b = self._enhanced(pair.a, state.a_own, to_a), self._enhanced(pair.b, state.b_own, to_b)
        lengths = torch.cat([m.sum(1).repeat_interleave(count) for m in (pair.a_mask, pair.b_mask)])
        a, b = (x.unflatten(0, (-1, count)) for x in self._both(self.composer, a.flatten(0, 1), b.flatten(0, 1), lengths))
        summary = torch.cat([_pooled(a, pair.a_mask), _pooled(b, pair.b_mask)], -1)
        return self.classifier(self.dropout(torch.tanh(self.hidden(self.dropout(summary)))))

    def _both(self, lstm: PackedLSTM, a: Tensor, b: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """One call for both sentences: an LSTM's time goes with the number of steps, hardly with the number of rows."""
        width = max(a.shape[1], b.shape[1])
        rows = torch.cat([nn.functional.pad(x, (0, 0, 0, width - x.shape[1])) for x in (a, b)])
        out = lstm(rows, lengths)
        return out[: len(a), : a.shape[1]], out[len(a) :, : b.shape[1]]

    def _enhanced(self, x: Tensor, own: Tensor, received: Tensor) -> Tensor:
        """float[batch, masks, tokens, size]"""
        aligned, sent = received.split([x.shape[-1], own.shape[-1]], dim=-1)
        product = linear(x[:, None] * aligned, self.enhance.weight.chunk(4, dim=1)[3])
        return self._drop_features(torch.relu(own[:, None] + sent + product))

    def _drop_features(self, x: Tensor) -> Tensor:
        """Dropout with one mask for all tokens of a text."""
        return x * self.dropout(torch.ones_like(x[..., :1, :]))


def _pooled(v: Float[Tensor, "batch masks tokens size"], real: Tensor) -> Tensor:
    """Mean and maximum over real tokens: float[batch, masks, 2 × size]."""
    real = real[:, None, :, None]
    mean = (v * real).sum(2) / real.sum(2).clamp(min=1)
    return torch.cat([mean, v.masked_fill(~real, torch.finfo(v.dtype).min).amax(2)], -1)
