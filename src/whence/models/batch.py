"""Padding: many encoded examples with their interventions as one set of tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whence.models.encoding import SPECIAL, Encoded
from whence.models.intervention import UNCHANGED, Intervention
from whence.models.target import Text


@dataclass
class Batch:
    """Tensors of one forward pass. `content` is true where a token belongs to a text: not special, not padding."""

    input_ids: Int[Tensor, "batch tokens"]
    attention_mask: Int[Tensor, "batch tokens"]
    token_type_ids: Int[Tensor, "batch tokens"] | None
    content: Bool[Tensor, "batch tokens"]
    embeddings: Float[Tensor, "batch tokens dim"] | None = None
    scale: Float[Tensor, " batch"] | None = None
    noise: Float[Tensor, "batch tokens dim"] | None = None
    attention: Float[Tensor, "batch tokens"] | None = None
    alignment: Float[Tensor, "batch tokens tokens"] | None = None
    answers: "Answers | None" = None

    def inputs(self) -> dict[str, Tensor]:
        """What every Hugging Face model takes."""
        inputs = {"input_ids": self.input_ids, "attention_mask": self.attention_mask}
        if self.token_type_ids is not None:
            inputs["token_type_ids"] = self.token_type_ids
        return inputs


@dataclass
class Answers:
    """Texts that a generator is to give scores to: the candidates of each row, or one text of its own."""

    ids: Int[Tensor, "batch candidates length"]
    asked: Bool[Tensor, "batch candidates length"]
    """Tokens that count."""
    texts: bool
    """One text for each row, of which some tokens are asked about."""
    most_asked: int
    """Of the rows."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[Text]], pad_id: int, device: torch.device, texts: bool) -> "Answers":
        several, length = max(map(len, rows)), max(len(text.ids) for row in rows for text in row)
        ids = np.full((len(rows), several, length), pad_id, dtype=np.int64)
        asked = np.zeros((len(rows), several, length), dtype=bool)
        for i, row in enumerate(rows):
            for j, text in enumerate(row):
                ids[i, j, : len(text.ids)] = text.ids
                asked[i, j, : len(text.ids)] = text.asked
        return cls(torch.from_numpy(ids).to(device), torch.from_numpy(asked).to(device), texts, int(asked.sum(-1).max()))


def collate(
    encoded: Sequence[Encoded], pad_id: int, device: torch.device, changes: Sequence[Intervention] = (), dim: int = 0
) -> Batch:
    """Pad on the right. `changes` must all set the same fields (the runner sees to it); `dim` is the embeddings' width.

    A row without any token (an empty text, or all words deleted, where the tokenizer adds no special tokens) reads one padding
    token: a model cannot read nothing, and what it says must not depend on the other rows.
    """
    width = max(1, *(len(e) for e in encoded))

    def stack(rows: Sequence[np.ndarray], fill: float, dtype: torch.dtype, token_axes: int = 1) -> Tensor:
        shape = (width,) * token_axes + rows[0].shape[token_axes:]
        out = np.full((len(rows), *shape), fill, dtype=np.float32 if dtype.is_floating_point else np.int64)
        for i, row in enumerate(rows):
            out[i][tuple(slice(0, n) for n in row.shape)] = row
        return torch.from_numpy(out).to(device=device, dtype=dtype)

    long = torch.int64
    batch = Batch(
        input_ids=stack([e.ids for e in encoded], pad_id, long),
        attention_mask=stack([np.ones(max(1, len(e))) for e in encoded], 0, long),
        token_type_ids=None if encoded[0].types is None else stack([e.types for e in encoded if e.types is not None], 0, long),
        content=stack([e.field >= 0 for e in encoded], 0, torch.bool),
    )
    set_fields = changes[0].changes() if changes else UNCHANGED.changes()
    real = torch.float32
    if "embeddings" in set_fields:
        batch.embeddings = stack([_as_array(c.embeddings) for c in changes], 0, real)
    if "scale" in set_fields:
        batch.scale = torch.tensor([c.scale for c in changes], dtype=real, device=device)
    if "noise" in set_fields:
        batch.noise = stack([_noise(e, c, dim) for e, c in zip(encoded, changes, strict=True)], 0, real)
    if "attention" in set_fields:
        batch.attention = stack([_as_array(c.attention) for c in changes], 0, real)
    if "alignment" in set_fields:
        pairs = [token_alignment(e, _as_array(c.alignment)) for e, c in zip(encoded, changes, strict=True)]
        batch.alignment = stack(pairs, 1, real, token_axes=2)
    return batch


def _as_array(values: np.ndarray | None) -> np.ndarray:
    assert values is not None, "the runner groups requests by the fields that they set"
    return values


def _noise(encoded: Encoded, change: Intervention, dim: int) -> np.ndarray:
    """Drawn per example from its own seed, so that neither batch nor padding changes it; none on special tokens."""
    drawn = np.random.default_rng(change.seed).standard_normal((len(encoded), dim), dtype=np.float32)
    return drawn * (encoded.field != SPECIAL)[:, None] * np.float32(change.noise or 0.0) ** 0.5


def token_alignment(encoded: Encoded, by_word: Float[np.ndarray, "premise hypothesis"]) -> Float[np.ndarray, "tokens tokens"]:
    """Spread a word-pair mask over token pairs, in both directions; 1 within a sentence and at special tokens."""
    premise, hypothesis = len(encoded.spans[0]), len(encoded.spans[1])
    if by_word.shape != (premise, hypothesis):
        raise ValueError(f"alignment has shape {by_word.shape}; expected words of both sentences, {(premise, hypothesis)}")
    words = np.ones((premise + hypothesis + 1,) * 2, dtype=np.float32)  # the last row and column: no word (-1)
    words[:premise, premise:-1] = by_word
    words[premise:-1, :premise] = by_word.T
    return words[encoded.word][:, encoded.word]
