"""AFiRe as its code has it: a WGAN-GP critic f(X, L, E) scores how true a label and an explanation look (Liu et al. 2022).

  critic   mean f(X, L', E') − mean f(X, L, E) + penalty · mean_k (‖∂f/∂ê_k‖₂ − 1)²
  model    − mean f(X, L', E')

ê is a random point between the true explanation (one-hot) and the model's, with the true label; the norm is taken over the
vocabulary for each token k of the text (Gulrajani et al. 2017, per token as the released code does). f is a small transformer
over the words of X, the label and the explanation, read at the first word. Soft words against one-hot ones can be told apart by
their entropy alone, whatever they say: `straight_through` shows the critic one-hot words on both sides.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from whence.teach.objectives.afire import HEADS, OPTIONS, Player, true_text
from whence.teach.objectives.objective import JointStep, Objective, Term, TextFacts

Texts = Float[Tensor, "batch tokens vocabulary"]


class Critic(Player):
    told = ("gap", "penalty")
    """mean f(true) − mean f(made), and the penalty before its weight."""

    def __init__(self, facts: TextFacts, options: dict[str, Any]) -> None:
        super().__init__(facts, options)
        size = int(options["size"])
        layer = nn.TransformerEncoderLayer(size, HEADS, 2 * size, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, int(options["layers"]), enable_nested_tensor=False)
        self.score = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1))
        self.start()

    def scored(self, step: JointStep, label: Tensor, text: Texts) -> Float[Tensor, " batch"]:
        """f."""
        read = self.placed(self.words(step.batch.input_ids)) + self.kinds.weight[0]
        said, there = self.spoken(step, label, text)
        real = torch.cat([step.batch.attention_mask.bool(), there], 1)
        with sdpa_kernel(SDPBackend.MATH):  # the penalty differentiates twice, which the other kernels cannot
            return self.score(self.encoder(torch.cat([read, said], 1), src_key_padding_mask=~real)[:, 0])[:, 0]

    def loss(self, step: JointStep, label: Tensor, text: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        gold, true = true_text(step, text)
        gap = self.scored(step, gold, true).mean() - self.scored(step, label, text).mean()
        share = torch.rand(len(text), 1, 1, device=text.device)
        penalty = gradient_penalty(lambda e: self.scored(step, gold, e), true, text, share, step.targets >= 0)
        return self.options["penalty"] * penalty - gap, (gap, penalty)

    def reward(self, step: JointStep, label: Tensor, text: Tensor) -> Tensor:
        return self.scored(step, label, text).mean()


def gradient_penalty(
    score: Callable[[Texts], Float[Tensor, " batch"]], true: Texts, made: Texts, share: Float[Tensor, "batch 1 1"],
    there: Bool[Tensor, "batch tokens"],
) -> Float[Tensor, ""]:  # fmt: skip
    """Mean over the tokens that are there of (‖∂ score / ∂ token‖ − 1)², at share · true + (1 − share) · made."""
    between = (share * true + (1 - share) * made).detach().requires_grad_()
    [slopes] = torch.autograd.grad(score(between).sum(), between, create_graph=True)
    norms = (slopes.square().sum(-1) + 1e-12).sqrt()  # a root has no slope at 0
    return ((norms - 1) ** 2)[there].mean()


def critic(facts: TextFacts, **options: Any) -> Term:
    if facts.training is not None:  # on dev the likelihood alone counts
        return lambda step: step.label_logits.sum() * 0
    return Critic(facts, options)


OBJECTIVES = [
    Objective(
        "critic",
        "AFiRe: label and explanation that a critic takes for true ones.",
        "Liu et al. 2022 (code)",
        critic,
        {**OPTIONS, "penalty": 10.0},
        reads=frozenset({"token_logits", "label_states"}),
    ),
]
