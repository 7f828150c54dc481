"""How far attention is from a target: KL(α‖σ) = Σ_i α_i (log α_i − log σ_i) over the text's own tokens, mean over the batch."""

from jaxtyping import Bool, Float
from torch import Tensor

EPSILON = 1e-10
"""Inside logarithms: weights underflow to 0, and a target may be 0."""

Weights = Float[Tensor, "batch tokens"]
Content = Bool[Tensor, "batch tokens"]


def on_text(attention: Weights, content: Content) -> Weights:
    """As a distribution over content tokens (a transformer also attends to special ones); zeros for an empty text."""
    kept = attention * content
    return kept / kept.sum(-1, keepdim=True).clamp(min=EPSILON)


def divergence(attention: Weights, target: Weights, content: Content) -> Float[Tensor, ""]:
    """KL(α‖σ), σ a distribution over content tokens already; a text without any gives 0."""
    weights = on_text(attention, content)
    return (weights * ((weights + EPSILON).log() - (target + EPSILON).log())).sum(-1).mean()
