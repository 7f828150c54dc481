"""The likelihood of label and explanation together (Liu et al. 2022; the released code's loss of the forward network).

  L = Σ_k CE_ε(token k) / number of tokens  +  λ · CE(l_T, label)  +  λ₀ · CE(guess, label)  +  λ₁ · mean_t CE(l_t, label)

CE_ε is smoothed by `label_smoothing`, l_T is the label state after the end of the explanation, the guess what the encoder
says (l_0, unless the label begins undecided). The paper's own: λ = 1, λ₀ = λ₁ = 0, ε = 0.1 (the released code has a switch for
λ₀, and names one for λ₁ that it does not use). While the true explanation is read, l_T is soon right whatever the input says;
λ₀ and λ₁ make the model decide by the input.
"""

import torch
from torch import Tensor, nn

from whence.teach.objectives.objective import JointStep, Objective, Term, TextFacts


def label_and_text(
    _: TextFacts, label_weight: float, first_label_weight: float, every_label_weight: float, label_smoothing: float
) -> Term:
    def term(step: JointStep) -> Tensor:
        loss = nn.functional.cross_entropy(
            step.token_logits.transpose(1, 2), step.targets, label_smoothing=label_smoothing
        ) + label_weight * nn.functional.cross_entropy(step.label_logits, step.labels)
        if first_label_weight:
            loss = loss + first_label_weight * nn.functional.cross_entropy(step.guess, step.labels)
        if every_label_weight:
            loss = loss + every_label_weight * _every(step)
        return loss

    return term


def _every(step: JointStep) -> Tensor:
    """Of all states of a batch, but for those behind the end of an explanation."""
    states = step.label_states
    lost = nn.functional.cross_entropy(states.transpose(1, 2), step.labels[:, None].expand(states.shape[:2]), reduction="none")
    there = torch.arange(states.shape[1], device=states.device) <= (step.targets >= 0).sum(1, keepdim=True)
    return lost[there].mean()


OBJECTIVES = [
    Objective(
        "label_and_text",
        "Write the explanation and reach the right label by its end.",
        "Liu et al. 2022",
        label_and_text,
        {"label_weight": 1.0, "first_label_weight": 0.0, "every_label_weight": 0.0, "label_smoothing": 0.0},
        reads=frozenset({"token_logits", "label_states"}),
    ),
]
