"""A classifier with a closed form, for oracles: p = f(s) of label "yes", where s = Σ w(word), w(word) = v · e(word)."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from whence.models import Classifier
from whence.models.word_tokenizer import SPECIAL, build_word_tokenizer

DIRECTION = (1.0, -2.0, 0.5)
"""v, the same for all."""
Shape = Literal["sigmoid", "square", "cube"]


class BagConfig(PreTrainedConfig):
    model_type = "test-bag"

    def __init__(self, vocab_size: int = 8, dim: int = 3, shape: Shape = "sigmoid", **kwargs: Any) -> None:
        self.vocab_size, self.dim, self.shape = vocab_size, dim, shape
        super().__init__(num_labels=2, id2label={0: "no", 1: "yes"}, label2id={"no": 0, "yes": 1}, **kwargs)


class Bag(PreTrainedModel):
    config_class = BagConfig

    def __init__(self, config: BagConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.dim)
        self.direction = nn.Parameter(torch.ones(config.dim))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> SequenceClassifierOutput:
        s = ((self.embeddings(input_ids) @ self.direction) * attention_mask).sum(1)
        if self.config.shape != "sigmoid":  # softmax of (0, log p/(1−p)) gives back p
            p = s**2 if self.config.shape == "square" else s**3
            s = torch.logit(p)
        return SequenceClassifierOutput(logits=torch.stack([torch.zeros_like(s), s], dim=1))


def bag_classifier(weights: dict[str, float], shape: Shape = "sigmoid") -> Classifier:
    """w(word) as given; special tokens, unknown words and the mask weigh nothing."""
    tokenizer = build_word_tokenizer(weights)
    v = torch.tensor(DIRECTION)
    model = Bag(BagConfig(len(tokenizer), len(DIRECTION), shape)).eval()
    with torch.no_grad():
        model.direction.copy_(v)
        model.embeddings.weight.zero_()
        for word, weight in weights.items():
            assert word not in SPECIAL
            model.embeddings.weight[tokenizer.get_vocab()[word]] = weight * v / (v @ v)
    return Classifier(model, tokenizer)
