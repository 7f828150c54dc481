"""Co-attention between two sentences, shared by Decomposable Attention and ESIM.

A pair arrives as one row, `[CLS] premise [SEP] hypothesis [SEP]`, split here by token type: a = [CLS] premise [SEP], b =
hypothesis [SEP]. The special tokens stay in as places to align to when nothing fits; an alignment mask leaves them untouched.

  S_ij = φ(a_i)·φ(b_j);  A = softmax over j, B = softmax over i;  masked: A ⊙ Z and B ⊙ Z, not renormalised
  ã_i = Σ_j A_ij b_j;  b̃_j = Σ_i B_ij a_i

Explainers try many masks Z on the same pair. So both models are written in two halves, `before_alignment(inputs) → state` and
`after_alignment(attended, masks) → logits` for several masks of every pair at once; `forward` is the two in a row.
What comes after the co-attention and is linear is moved before it: a matrix W applied to ã_i = Σ_j A_ij Z_ij b_j is the same
sum over W b_j.
"""

from dataclasses import dataclass, fields
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers.modeling_outputs import SequenceClassifierOutput

from whence.models.layers import WordModel, masked_softmax


@dataclass
class Pair:
    """Both sentences of a batch, padded apart: values float[batch, tokens, dim], masks, and where each token came from."""

    a: Tensor
    b: Tensor
    a_mask: Bool[Tensor, "batch a_tokens"]
    b_mask: Bool[Tensor, "batch b_tokens"]
    a_at: Tensor
    b_at: Tensor


@dataclass
class Attended:
    """A batch of pairs up to its co-attention: all that an alignment mask cannot change.

    `own` is what a token brings to the layer after the co-attention by itself, `sent` what it gives to tokens aligned to it.
    """

    pair: Pair
    to_b: Float[Tensor, "batch a_tokens b_tokens"]
    to_a: Float[Tensor, "batch a_tokens b_tokens"]
    a_own: Float[Tensor, "batch a_tokens size"]
    b_own: Float[Tensor, "batch b_tokens size"]
    a_sent: Float[Tensor, "batch a_tokens sent"]
    b_sent: Float[Tensor, "batch b_tokens sent"]

    def take(self, rows: Int[Tensor, " rows"]) -> "Attended":
        """Some of the pairs, padded no further than they need."""
        a, b = (int(mask[rows].sum(1).max()) for mask in (self.pair.a_mask, self.pair.b_mask))
        pair = Pair(*(getattr(self.pair, f.name)[rows][:, : a if f.name.startswith("a") else b] for f in fields(Pair)))
        weights = (self.to_b[rows][:, :a, :b], self.to_a[rows][:, :a, :b])
        a_own, b_own, a_sent, b_sent = (x[rows] for x in (self.a_own, self.b_own, self.a_sent, self.b_sent))
        return Attended(pair, *weights, a_own[:, :a], b_own[:, :b], a_sent[:, :a], b_sent[:, :b])

    def aligned(
        self, masks: Float[Tensor, "batch masks a_tokens b_tokens"] | None
    ) -> tuple[Float[Tensor, "batch masks a_tokens sent"], Float[Tensor, "batch masks b_tokens sent"]]:
        """What each token of a, and each of b, receives under every mask; None is one mask of ones."""
        flipped = None if masks is None else masks.transpose(2, 3)
        return _received(self.to_b, masks, self.b_sent), _received(self.to_a.transpose(1, 2), flipped, self.a_sent)


def _received(weights: Tensor, masks: Tensor | None, sent: Tensor) -> Tensor:
    """Σ_j weights_ij mask_ij sent_j. Masks are folded into the rows of one product, so that `sent` is never repeated."""
    weighted = weights[:, None] if masks is None else weights[:, None] * masks.to(weights.dtype)
    return (weighted.flatten(1, 2) @ sent).unflatten(1, weighted.shape[1:3])


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


def block(by_token: Tensor, pair: Pair) -> Tensor:
    """The premise × hypothesis part of a token × token array: [batch, tokens, tokens] → [batch, a_tokens, b_tokens]."""
    rows = torch.arange(len(by_token), device=by_token.device)[:, None, None]
    return by_token[rows, pair.a_at[:, :, None], pair.b_at[:, None, :]]


def co_attention(scores: Float[Tensor, "batch a_tokens b_tokens"], pair: Pair) -> tuple[Tensor, Tensor]:
    """(A, B), both batch × a_tokens × b_tokens: A sums to 1 over b, B over a."""
    both = pair.a_mask[:, :, None] & pair.b_mask[:, None, :]
    return masked_softmax(scores, both, dim=2), masked_softmax(scores, both, dim=1)


class CoAttentionModel(WordModel):
    """A model in two halves, with the co-attention between them."""

    interventions = frozenset({"alignment"})
    reads_pairs = True

    def before_alignment(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Attended:
        raise NotImplementedError

    def after_alignment(
        self, state: Attended, masks: Float[Tensor, "batch masks a_tokens b_tokens"] | None
    ) -> Float[Tensor, "batch masks labels"]:
        raise NotImplementedError

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, alignment: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        state = self.before_alignment(input_ids, attention_mask, token_type_ids)
        mask = None if alignment is None else block(alignment, state.pair).to(state.to_b.dtype)
        logits = self.after_alignment(state, None if mask is None else mask[:, None])[:, 0]
        weights = (state.to_b, state.to_a) if mask is None else (state.to_b * mask, state.to_a * mask)
        return SequenceClassifierOutput(logits=logits, attentions=weights)
