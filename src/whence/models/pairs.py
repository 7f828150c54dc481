"""Co-attention between two sentences, shared by Decomposable Attention and ESIM.

A pair arrives as one row, `[CLS] premise [SEP] hypothesis [SEP]`, split here by token type: a = [CLS] premise [SEP], b =
hypothesis [SEP]. The special tokens stay in as places to align to when nothing fits; an alignment mask leaves them untouched.

  S_ij = φ(a_i)·φ(b_j);  A = softmax over j, B = softmax over i;  masked: A ⊙ Z and B ⊙ Z, not renormalised
  ã_i = Σ_j A_ij b_j;  b̃_j = Σ_i B_ij a_i
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whence.models.layers import masked_softmax


@dataclass
class Pair:
    """Both sentences of a batch, padded apart: values float[batch, tokens, dim], masks, and where each token came from."""

    a: Tensor
    b: Tensor
    a_mask: Bool[Tensor, "batch a_tokens"]
    b_mask: Bool[Tensor, "batch b_tokens"]
    a_at: Tensor
    b_at: Tensor


def split_pair(x: Float[Tensor, "batch tokens dim"], attention_mask: Tensor, token_type_ids: Tensor) -> Pair:
    """Sentences stand one after the other, so each is a slice that starts where the first one ends."""
    n_a = (attention_mask * (token_type_ids == 0)).sum(1)
    n_b = attention_mask.sum(1) - n_a
    steps = torch.arange(x.shape[1], device=x.device)
    a_at = steps[: int(n_a.max())].expand(len(x), -1)
    b_at = (n_a[:, None] + steps[None, : int(n_b.max())]).clamp(max=x.shape[1] - 1)
    a_mask, b_mask = a_at < n_a[:, None], steps[None, : int(n_b.max())] < n_b[:, None]
    rows = torch.arange(len(x), device=x.device)[:, None]
    return Pair(x[rows, a_at] * a_mask[..., None], x[rows, b_at] * b_mask[..., None], a_mask, b_mask, a_at, b_at)


def block(alignment: Float[Tensor, "batch tokens tokens"], pair: Pair) -> Float[Tensor, "batch a_tokens b_tokens"]:
    """The premise × hypothesis part of a token × token mask."""
    rows = torch.arange(len(alignment), device=alignment.device)[:, None, None]
    return alignment[rows, pair.a_at[:, :, None], pair.b_at[:, None, :]]


def co_attention(
    scores: Float[Tensor, "batch a_tokens b_tokens"], pair: Pair, alignment: Tensor | None
) -> tuple[Tensor, Tensor]:
    """(A, B), both batch × a_tokens × b_tokens: A sums to 1 over b, B over a, before the mask."""
    both = pair.a_mask[:, :, None] & pair.b_mask[:, None, :]
    to_b, to_a = masked_softmax(scores, both, dim=2), masked_softmax(scores, both, dim=1)
    if alignment is None:
        return to_b, to_a
    mask = block(alignment, pair).to(scores.dtype)
    return to_b * mask, to_a * mask
