"""Cross-entropy of the tokens of a target text.

  L = Σ_k w_k · ((1 − ε) · −log p(y_k) + ε · mean_v −log p(v)) / Σ_k w_k     over all target tokens of the batch, ends included

w_k is `label_weight` for tokens that say the label and 1 for the others: the label is one word of a dozen, so without a weight
it is a small share of the loss. ε is `label_smoothing`. With w = 1 and ε = 0 it is the loss of Wiegreffe et al. 2021.
"""

from torch import Tensor, nn

from whence.teach.objectives.objective import Objective, Term, TextFacts, TextStep


def token_cross_entropy(_: TextFacts, label_weight: float, label_smoothing: float) -> Term:
    def term(step: TextStep) -> Tensor:
        tokens = nn.functional.cross_entropy(
            step.token_logits.transpose(1, 2), step.targets, reduction="none", label_smoothing=label_smoothing
        )  # 0 where a text has ended
        weights = (step.targets >= 0).float() * (1 + (label_weight - 1) * step.label_tokens)
        return (weights * tokens).sum() / weights.sum()

    return term


OBJECTIVES = [
    Objective(
        "token_cross_entropy",
        "Write the target text.",
        "",
        token_cross_entropy,
        {"label_weight": 1.0, "label_smoothing": 0.0},
        reads=frozenset({"token_logits"}),
    ),
]
