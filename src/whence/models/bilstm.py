"""BiLSTM with attention: the classifier that "Attention is not Explanation" and "… not not …" argue about.

  h = BiLSTM(e);  α = attention over real tokens;  ŷ = W Σ α h + b

Defaults as in the released code (Wiegreffe & Pinter 2019, §3; Jain & Wallace 2019): hidden 128 per direction, additive
attention through 128 units, no dropout. The paper's code has one sigmoid output; ours has one logit per label, which for two
classes is the same model. `forward(attention=…)` imposes α (uniform, a guide, an adversary, a permutation).
"""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from whence.models.layers import AttentionPool, PackedLSTM, PoolKind, WordConfig, WordModel, real_tokens


class BiLSTMConfig(WordConfig):
    model_type = "whence-bilstm"

    def __init__(self, attention: PoolKind = "additive", **kwargs: Any) -> None:
        self.attention = attention
        super().__init__(**kwargs)


class BiLSTMClassifier(WordModel):
    config_class = BiLSTMConfig
    interventions = frozenset({"attention"})

    def __init__(self, config: BiLSTMConfig) -> None:
        super().__init__(config)
        self.encoder = PackedLSTM(config.embedding_dim, config.hidden_size)
        self.pool = AttentionPool(2 * config.hidden_size, config.attention)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(2 * config.hidden_size, config.num_labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None,
        attention: Tensor | None = None, **_: Any,
    ) -> SequenceClassifierOutput:  # fmt: skip
        h = self.encoder(self.dropout(self.embeddings(input_ids)), attention_mask.sum(1))
        context, weights = self.pool(h, real_tokens(self.config, input_ids, attention_mask), attention)
        return SequenceClassifierOutput(
            logits=self.classifier(self.dropout(context)), hidden_states=(h,), attentions=(weights,)
        )
