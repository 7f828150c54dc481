"""AREC's objective: L0 + λ (L1 + L2), for masks and, in expectation, for HardConcrete cells (Jiang et al. 2021).

  fidelity L0     ‖M(x) − M(x, Z)‖₂ of the logits, not squared
  compactness L1  Σ z_ij;                          expected: at most Σ P(Z_ij ≠ 0)
  contiguity L2   number of 2 × 2 windows with exactly three ones; expected, cells being independent, in closed form:
                  Σ over windows Σ_{c in window} P(Z_c = 0) Π_{c' ≠ c} P(Z_c' ≠ 0)

λ = 0.15 × the share of sampled masks under which the label is kept: only a mask that explains the prediction is made small.
"""

from jaxtyping import Float
from torch import Tensor

from whence.explain.alignments.hard_concrete import HardConcrete

WEIGHT = 0.15
"""λ of a mask that keeps the label (the paper's)."""

GATES = HardConcrete()


def fidelity(logits: Float[Tensor, "*batch labels"], base: Float[Tensor, "*batch labels"]) -> Float[Tensor, " *batch"]:
    """The tiny constant keeps the gradient finite where nothing has changed."""
    return ((logits - base).square().sum(-1) + 1e-12).sqrt()


def bad_windows(nonzero: Float[Tensor, "*batch premise hypothesis"]) -> Float[Tensor, " *batch"]:
    """L2, expected, from each cell's P(Z ≠ 0); for a 0/1 mask it is the count itself."""
    top, bottom = nonzero[..., :-1, :], nonzero[..., 1:, :]
    a, b, c, d = top[..., :-1], top[..., 1:], bottom[..., :-1], bottom[..., 1:]
    left, right = a * c, b * d
    three = ((1 - a) * c + a * (1 - c)) * right + left * ((1 - b) * d + b * (1 - d))
    return three.sum((-2, -1))


def size(
    log_alpha: Float[Tensor, "*batch premise hypothesis"], read: Float[Tensor, "*batch premise hypothesis"]
) -> Float[Tensor, " *batch"]:
    """L1 + L2, expected; cells outside `read` (padding, words that the model did not read) are never there.

    Because `read` is a product of rows and columns, a window that sticks out has at most two ones and counts nothing.
    """
    nonzero = GATES.p_nonzero(log_alpha) * read
    return nonzero.sum((-2, -1)) + bad_windows(nonzero)


def mask_size(mask: Float[Tensor, "*batch premise hypothesis"]) -> Float[Tensor, " *batch"]:
    """L1 + L2 of a 0/1 mask."""
    return mask.sum((-2, -1)) + bad_windows(mask)
