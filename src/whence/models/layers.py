"""Parts that our own architectures share. Padding never changes a number: softmaxes are masked, LSTMs end with the text."""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from whence.models.vectors import Vectors


class WordConfig(PreTrainedConfig):
    """What all our word-level models have in common."""

    def __init__(
        self, vocab_size: int = 1000, embedding_dim: int = 100, hidden_size: int = 128, dropout: float = 0.0,
        pad_token_id: int = 0, cls_token_id: int = 2, sep_token_id: int = 3, train_embeddings: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        self.train_embeddings = train_embeddings
        self.vocab_size, self.embedding_dim, self.hidden_size, self.dropout = vocab_size, embedding_dim, hidden_size, dropout
        self.cls_token_id, self.sep_token_id = cls_token_id, sep_token_id
        super().__init__(pad_token_id=pad_token_id, **kwargs)


class WordModel(PreTrainedModel):
    """Base of our architectures: an embedding table that can start from pretrained vectors.

    `interventions` names the fields beyond the input that the model takes as arguments of its forward call.
    """

    interventions: frozenset[str] = frozenset()
    reads_pairs: bool = False
    base_model_prefix = "whence"
    # Ours have no attention of transformers' kind: nothing to choose between.
    _supports_sdpa = True

    def __init__(self, config: WordConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_dim, padding_idx=config.pad_token_id)
        self.embeddings.weight.requires_grad_(config.train_embeddings)

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.embeddings = value

    def _init_weights(self, module: nn.Module) -> None:
        start_layer(module)

    def start_from(self, vectors: Vectors, vocabulary: dict[str, int]) -> int:
        """Copy pretrained vectors for the words that have one; returns how many."""
        found = [(row, vectors[word]) for word, row in vocabulary.items() if word in vectors]
        if found:
            rows = torch.tensor([row for row, _ in found])
            known = torch.stack([torch.from_numpy(vector) for _, vector in found])
            self.embeddings.weight.data *= known.std()  # words without a vector are drawn at the same spread
            self.embeddings.weight.data[rows] = known
        return len(found)


def start_layer(module: nn.Module) -> None:
    """The weights with which a layer of ours begins."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.LSTM):
        for name, parameter in module.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(parameter)
            elif "weight_ih" in name:
                nn.init.xavier_uniform_(parameter)
            else:  # gates are ordered input, forget, cell, output; b_ih and b_hh add up to a forget bias of 1
                nn.init.zeros_(parameter)
                if "bias_ih" in name:
                    parameter.data[module.hidden_size : 2 * module.hidden_size] = 1.0
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight)  # a small spread keeps co-attention models from learning which words differ
        if module.padding_idx is not None:
            module.weight.data[module.padding_idx] = 0.0
    elif isinstance(module, AttentionPool):
        for parameter in module.parameters(recurse=False):
            nn.init.normal_(parameter, std=parameter.shape[0] ** -0.5)


def masked_softmax(scores: Tensor, mask: Bool[Tensor, "..."], dim: int = -1) -> Tensor:
    """Softmax over true positions; all zeros where there is none (an empty text), never NaN."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim) * mask


class PackedLSTM(nn.Module):
    """A bidirectional LSTM that never reads padding.

    Each direction is one run of the plain kernel, which on a CPU is about three times as fast as packed sequences: forwards,
    padding comes after the text and is cut off; backwards, each text is turned round within its own length, so that padding
    comes last there too.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, bidirectional=True)

    def forward(self, x: Float[Tensor, "batch tokens dim"], lengths: Int[Tensor, " batch"]) -> Tensor:
        steps = torch.arange(x.shape[1], device=x.device)
        turned = lengths[:, None] - 1 - steps
        turned = torch.where(turned >= 0, turned, steps)  # padding stays where it is
        rows = torch.arange(len(x), device=x.device)[:, None]
        real = steps < lengths[:, None]
        both = torch.cat([self._run(x), self._run(x[rows, turned], "_reverse")[rows, turned]], -1)
        return both * real[..., None]

    def _run(self, x: Tensor, suffix: str = "") -> Tensor:
        start = x.new_zeros(1, len(x), self.lstm.hidden_size)
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        weights = [getattr(self.lstm, name + suffix) for name in names]
        return torch.lstm(x, (start, start), weights, True, 1, 0.0, self.training, False, True)[0]


PoolKind = Literal["additive", "dot", "uniform"]


class AttentionPool(nn.Module):
    """α over real tokens and the context Σ α h.

    additive: α = softmax(vᵀ tanh(W h + b)) (Bahdanau; no bias on v); dot: α = softmax(vᵀ h / √d); uniform: α = 1/n, frozen.
    """

    def __init__(self, size: int, kind: PoolKind) -> None:
        super().__init__()
        self.kind = kind
        if kind == "additive":
            self.project = nn.Linear(size, size // 2)
        if kind != "uniform":
            self.query = nn.Parameter(torch.randn(size // 2 if kind == "additive" else size))

    def forward(
        self, h: Float[Tensor, "batch tokens size"], mask: Bool[Tensor, "batch tokens"], imposed: Tensor | None = None
    ) -> tuple[Float[Tensor, "batch size"], Float[Tensor, "batch tokens"]]:
        if imposed is not None:
            weights = imposed.to(h.dtype)
        elif self.kind == "uniform":
            weights = masked_softmax(torch.zeros_like(h[..., 0]), mask)
        elif self.kind == "additive":
            weights = masked_softmax(torch.tanh(self.project(h)) @ self.query, mask)
        else:
            weights = masked_softmax(h @ self.query / h.shape[-1] ** 0.5, mask)
        return (weights[:, None] @ h).squeeze(1), weights


def real_tokens(config: WordConfig, input_ids: Tensor, attention_mask: Tensor) -> Bool[Tensor, "batch tokens"]:
    """True at words; false at start, end and padding, which get no attention (as in Jain & Wallace).

    The padding id under a true attention mask is a hidden word (hide="pad"): it keeps its place and can be attended to.
    """
    ends = (input_ids == config.cls_token_id) | (input_ids == config.sep_token_id)
    return attention_mask.bool() & ~ends
