"""HardConcrete (Louizos et al. 2018): a distribution on [0, 1] with mass at both ends, and gradients in its parameter log α.

  Ẑ = σ((log α + log U − log(1 − U)) / τ),  U uniform;   Z = min(1, max(0, γ + (ζ − γ) Ẑ))
  P(Z = 0) = σ(τ log(−γ/ζ) − log α)        P(Z = 1) = σ(log α − τ log((1 − γ)/(ζ − 1)))

P(Z = 1) follows from Ẑ's distribution function; AREC's paper prints log((1 − γ)/(ζ − γ)), which Monte Carlo refutes. For its
constants, γ = −0.1, ζ = 1.1, τ = 0.2, the two logarithms are ± log 11, so P(Z = 1) > P(Z = 0) exactly if log α > 0.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

EDGE = 1e-6
"""U stays this far from 0 and 1, so that its logit is finite."""


@dataclass(frozen=True)
class HardConcrete:
    low: float = -0.1
    high: float = 1.1
    temperature: float = 0.2

    def sample(self, log_alpha: Tensor, uniform: Tensor) -> Tensor:
        """Z for uniform draws U, elementwise; differentiable in log α where 0 < Z < 1."""
        noise = torch.logit(uniform, eps=EDGE)
        stretched = self.low + (self.high - self.low) * torch.sigmoid((log_alpha + noise) / self.temperature)
        return stretched.clamp(0.0, 1.0)

    def log_p_zero(self, log_alpha: Tensor) -> Tensor:
        return logsigmoid(self.temperature * math.log(-self.low / self.high) - log_alpha)

    def log_p_one(self, log_alpha: Tensor) -> Tensor:
        return logsigmoid(log_alpha - self.temperature * math.log((1 - self.low) / (self.high - 1)))

    def log_p_nonzero(self, log_alpha: Tensor) -> Tensor:
        return logsigmoid(log_alpha - self.temperature * math.log(-self.low / self.high))

    def p_zero(self, log_alpha: Tensor) -> Tensor:
        return self.log_p_zero(log_alpha).exp()

    def p_one(self, log_alpha: Tensor) -> Tensor:
        return self.log_p_one(log_alpha).exp()

    def p_nonzero(self, log_alpha: Tensor) -> Tensor:
        return self.log_p_nonzero(log_alpha).exp()

    def more_often_one(self, log_alpha: Tensor) -> Tensor:
        """Where Z = 1 is more probable than Z = 0: bool, elementwise."""
        return self.log_p_one(log_alpha) > self.log_p_zero(log_alpha)
