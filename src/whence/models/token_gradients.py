"""How much each word moves each written token: one gradient for every token of a text, from one forward pass.

  a[i, k] = Σ_d |∂ logit of token k / ∂ x_id|,   x the encoder's (a causal model's) input at the site `embedded`

Norms are taken for each token before anything is summed, so one backward pass of summed logits would be another quantity
(Wiegreffe et al. 2021). Rows of a batch do not see each other: the k-th asked tokens of all rows share a backward pass, and
`TOGETHER` such passes are one batched vector–Jacobian product.

The last step back, from all logits to the state below them, is left out: a logit is the state times the token's own row of the
output table, so its slope there is that row. (In T5 the table has 32,128 rows, of which 32,127 would be multiplied by zero.)

This is the way of every model but T5, whose backward pass is written out by hand (t5_slopes.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel

from whence.models.batch import Answers

TOGETHER = 8
"""Backward passes that run as one: with more, what they hold no longer fits into a processor's cache."""


@contextmanager
def below_the_head(model: PreTrainedModel) -> Iterator[list[Tensor]]:
    """While the model runs: what its output table is given, if it has a plain one."""
    seen: list[Tensor] = []
    head = model.get_output_embeddings()
    if not isinstance(head, nn.Linear):
        yield seen
        return
    handle = head.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    try:
        yield seen
    finally:
        handle.remove()


def own_logits(
    model: PreTrainedModel, seen: list[Tensor], ids: Int[Tensor, "rows length"], logits: Float[Tensor, "rows length"]
) -> Float[Tensor, "rows length"]:
    """`logits` by way of the tokens' own rows; as they are where that gives other numbers (a model may cap or shift them)."""
    if not seen:
        return logits
    head, states = model.get_output_embeddings(), seen[-1][:, -ids.shape[1] :]
    if states.shape[:2] != ids.shape:
        return logits
    found = (states * head.weight[ids]).sum(-1)
    found = found if head.bias is None else found + head.bias[ids]
    near = torch.allclose(found, logits, rtol=1e-3, atol=1e-3 * float(logits.detach().abs().max()))
    return found if near else logits


def token_gradients(
    logits: Float[Tensor, "rows length"], answers: Answers, leaf: Float[Tensor, "rows tokens dim"]
) -> Float[Tensor, "rows tokens asked"]:
    """`logits` of the texts' own tokens. Zeros behind a row's last asked token."""
    asked = answers.asked[:, 0]
    places = (~asked).int().argsort(dim=1, stable=True)[:, : int(asked.sum(1).max())]  # of the asked tokens, in order
    real = asked.gather(1, places).to(logits.dtype)
    chosen = logits.gather(1, places) * real
    per_token = chosen.sum(0)  # rows are independent: the gradient at a row is that of its own token
    directions = torch.eye(len(per_token), dtype=logits.dtype, device=logits.device)
    norms = []
    for several in directions.split(TOGETHER):
        [slopes] = torch.autograd.grad(per_token, leaf, several, is_grads_batched=True, retain_graph=True)
        norms.append(slopes.detach().abs().sum(-1).float())
    return torch.cat(norms).permute(1, 2, 0)
