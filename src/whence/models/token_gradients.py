"""How much each word moves each written token: one gradient for every token of a text, from one forward pass.

  a[i, k] = Σ_d |∂ logit of token k / ∂ x_id|,   x the encoder's (a causal model's) input at the site `embedded`

Norms are taken for each token before anything is summed, so one backward pass of summed logits would be another quantity
(Wiegreffe et al. 2021). Rows of a batch do not see each other: the k-th asked tokens of all rows share a backward pass, and
`TOGETHER` such passes are one batched vector–Jacobian product.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from whence.models.batch import Answers

TOGETHER = 8
"""Backward passes that run as one: with more, what they hold no longer fits into a processor's cache."""


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
