"""Token-wise MLP: the diagnostic model that may use another model's attention, but no context of its own.

  h_i = tanh(W e_i + b);  ŷ = U Σ α_i h_i + c

If attention taken from an LSTM helps it, that attention carries meaning beyond the LSTM (Wiegreffe & Pinter 2019, §3.4). α is
learned (additive through 64 units), uniform, or imposed for each text as a guide (`forward(attention=…)`).
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from whence.models.layers import AttentionPool, PoolKind, WordConfig, WordModel, real_tokens


class TokenMLPConfig(WordConfig):
    model_type = "whence-mlp"

    def __init__(self, attention: PoolKind = "additive", **kwargs: Any) -> None:
        self.attention = attention
        super().__init__(**kwargs)


class TokenMLPClassifier(WordModel):
    config_class = TokenMLPConfig
    interventions = frozenset({"attention"})

    def __init__(self, config: TokenMLPConfig) -> None:
        super().__init__(config)
        self.project = nn.Linear(config.embedding_dim, config.hidden_size)
        self.pool = AttentionPool(config.hidden_size, config.attention)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None,
        attention: Tensor | None = None, **_: Any,
    ) -> SequenceClassifierOutput:  # fmt: skip
        h = torch.tanh(self.project(self.dropout(self.embeddings(input_ids))))
        context, weights = self.pool(h, real_tokens(self.config, input_ids, attention_mask), attention)
        return SequenceClassifierOutput(
            logits=self.classifier(self.dropout(context)), hidden_states=(h,), attentions=(weights,)
        )
