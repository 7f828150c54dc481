"""How far apart two distributions are, in natural logarithms; over the last axis, padding holds zeros.

  TVD(p, q) = ½ Σ |p − q|                                   0 … 1; for two classes |Δp|
  KL(p ‖ q) = Σ p (log p − log q)                           0 … ∞
  JSD(p, q) = ½ KL(p ‖ m) + ½ KL(q ‖ m), m = ½ (p + q)      0 … ln 2

The code of "Attention is not not Explanation" halves the two-class TVD once more: `halved_tvd`, for comparing with its tables.
All work on numpy arrays and on tensors, with gradients; ε = 1e-10 inside logarithms keeps zeros finite.
"""

import math
from typing import TypeVar

import numpy as np
from torch import Tensor

EPSILON = 1e-10
LN2 = math.log(2)
Array = TypeVar("Array", np.ndarray, Tensor)


def tvd(p: Array, q: Array) -> Array:
    return abs(p - q).sum(-1) / 2


def halved_tvd(p: Array, q: Array) -> Array:
    """What the released code reports: ½ |p − q| of the positive class alone."""
    return tvd(p, q) / 2


def kl(p: Array, q: Array) -> Array:
    return (p * (_log(p) - _log(q))).sum(-1)


def jsd(p: Array, q: Array) -> Array:
    middle = (p + q) / 2
    return (kl(p, middle) + kl(q, middle)) / 2


def _log(p: Array) -> Array:
    return (p + EPSILON).log() if isinstance(p, Tensor) else np.log(p + EPSILON)
