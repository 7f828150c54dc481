"""Decomposable Attention (Parikh et al. 2016), without intra-sentence attention, as AREC explains it.

  attend    S_ij = F(a_i)·F(b_j), co-attention (pairs.py)
  compare   v1 = Σ_i G([a_i; ã_i]),  v2 = Σ_j G([b_j; b̃_j])
  aggregate ŷ = H([v1; v2])

F, G, H are two-layer ReLU networks with dropout before each linear map. It knows no word order. Sizes follow the faster public
recipe (projection and hidden 200, dropout 0.2): the AREC paper gives none (reference-facts 1.7).
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from whence.models.layers import WordConfig
from whence.models.pairs import Attended, CoAttentionModel, co_attention, split_pair


class DecomposableConfig(WordConfig):
    model_type = "whence-decomposable"

    def __init__(self, hidden_size: int = 200, dropout: float = 0.2, **kwargs: Any) -> None:
        super().__init__(hidden_size=hidden_size, dropout=dropout, **kwargs)


def _feed_forward(inputs: int, hidden: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Dropout(dropout), nn.Linear(inputs, hidden), nn.ReLU(),
        nn.Dropout(dropout), nn.Linear(hidden, hidden), nn.ReLU(),
    )  # fmt: skip


class DecomposableAttention(CoAttentionModel):
    config_class = DecomposableConfig

    def __init__(self, config: DecomposableConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.project = nn.Linear(config.embedding_dim, size, bias=False)
        self.attend = _feed_forward(size, size, config.dropout)
        self.compare = _feed_forward(2 * size, size, config.dropout)
        self.aggregate = _feed_forward(2 * size, size, config.dropout)
        self.classifier = nn.Linear(size, config.num_labels)
        self.post_init()

    def before_alignment(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Attended:
        """Attend, and both halves of G's first layer: W [a; ã] + c = (W₁ a + c) + W₂ ã."""
        pair = split_pair(self.project(self.embeddings(input_ids)), attention_mask, token_type_ids)
        to_b, to_a = co_attention(self.attend(pair.a) @ self.attend(pair.b).transpose(1, 2), pair)
        drop, first = list(self.compare)[:2]
        assert isinstance(first, nn.Linear)
        own, sent = first.weight.chunk(2, dim=1)
        a, b = drop(pair.a), drop(pair.b)
        return Attended(
            pair, to_b, to_a, linear(a, own, first.bias), linear(b, own, first.bias), linear(a, sent), linear(b, sent)
        )

    def after_alignment(
        self, state: Attended, masks: Float[Tensor, "batch masks a_tokens b_tokens"] | None
    ) -> Float[Tensor, "batch masks labels"]:
        to_a, to_b = state.aligned(masks)
        v1 = self._compared(state.a_own[:, None] + to_a, state.pair.a_mask)
        v2 = self._compared(state.b_own[:, None] + to_b, state.pair.b_mask)
        return self.classifier(self.aggregate(torch.cat([v1, v2], -1)))

    def _compared(self, first: Tensor, real: Tensor) -> Tensor:
        """The rest of G, summed over real tokens."""
        return (self.compare[2:](first) * real[:, None, :, None]).sum(2)
