"""Decomposable Attention (Parikh et al. 2016), without intra-sentence attention, as AREC explains it.

  attend    S_ij = F(a_i)·F(b_j), co-attention (pairs.py)
  compare   v1 = Σ_i G([a_i; ã_i]),  v2 = Σ_j G([b_j; b̃_j])
  aggregate ŷ = H([v1; v2])

F, G, H are two-layer ReLU networks with dropout before each linear map. It knows no word order. Sizes follow the faster public
recipe (projection and hidden 200, dropout 0.2): the AREC paper gives none (reference-facts 1.7).
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from whence.models.layers import WordConfig, WordModel
from whence.models.pairs import co_attention, split_pair


class DecomposableConfig(WordConfig):
    model_type = "whence-decomposable"

    def __init__(self, hidden_size: int = 200, dropout: float = 0.2, **kwargs: Any) -> None:
        super().__init__(hidden_size=hidden_size, dropout=dropout, **kwargs)


def _feed_forward(inputs: int, hidden: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Dropout(dropout), nn.Linear(inputs, hidden), nn.ReLU(),
        nn.Dropout(dropout), nn.Linear(hidden, hidden), nn.ReLU(),
    )  # fmt: skip


class DecomposableAttention(WordModel):
    config_class = DecomposableConfig
    interventions = frozenset({"alignment"})
    reads_pairs = True

    def __init__(self, config: DecomposableConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.project = nn.Linear(config.embedding_dim, size, bias=False)
        self.attend = _feed_forward(size, size, config.dropout)
        self.compare = _feed_forward(2 * size, size, config.dropout)
        self.aggregate = _feed_forward(2 * size, size, config.dropout)
        self.classifier = nn.Linear(size, config.num_labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, alignment: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        pair = split_pair(self.project(self.embeddings(input_ids)), attention_mask, token_type_ids)
        scores = self.attend(pair.a) @ self.attend(pair.b).transpose(1, 2)
        to_b, to_a = co_attention(scores, pair, alignment)
        v1 = (self.compare(torch.cat([pair.a, to_b @ pair.b], -1)) * pair.a_mask[..., None]).sum(1)
        v2 = (self.compare(torch.cat([pair.b, to_a.transpose(1, 2) @ pair.a], -1)) * pair.b_mask[..., None]).sum(1)
        logits = self.classifier(self.aggregate(torch.cat([v1, v2], -1)))
        return SequenceClassifierOutput(logits=logits, attentions=(to_b, to_a))
