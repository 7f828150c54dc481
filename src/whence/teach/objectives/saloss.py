"""SaLoss: attention is drawn towards a salience that is known before training (Chrysostomou & Aletras 2021, eq. 2 and 3).

  L = cross-entropy + λ · KL(α‖σ),   KL(α‖σ) = Σ_i α_i (log α_i − log σ_i),   mean over the batch

α is the pooled attention (head-averaged [CLS] row of the last layer), σ a prior of teach/salience; both are distributions over
content tokens: special tokens and padding are left out on both sides, and α is renormalised. Inside logarithms stands + 1e-10,
so a token without salience costs 23 nats per unit of attention, not infinitely many.

`variant="released"` computes the term as the authors' code does, which is another loss (a λ means something else there):
  1. α over all real tokens, special ones included, goes through a second softmax, which makes it nearly uniform;
  2. σ is the softmax of raw TextRank scores, special tokens included at score 0;
  3. the sum runs over tokens *and* batch, without a mean, and
  4. is squared.
TextRank is then the code's own as well (`released`: window 8, order weights, two steps). The fifth difference, cross-entropy on
probabilities that are taken for logits, is an objective of its own: `cross_entropy_on_probabilities`. Not reproduced: dropout
that stays off after the first evaluation, texts that are never shuffled, selection of the seed on test.

The epoch is chosen by the loss on dev, as the authors do: macro-F1 is often best before attention has moved.

A prior that is fitted (tf-idf, χ²) is fitted on the training set, for dev too, where the loss on dev picks the epoch.
Cost: the prior once per corpus (cached); nothing per step but eager attention.
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from whence.errors import unknown
from whence.teach.objectives.divergence import EPSILON, Weights, divergence
from whence.teach.objectives.objective import CorpusFacts, Objective, Step, Term
from whence.teach.salience import Tokens
from whence.teach.salience.cache import salience

VARIANTS = ("paper", "released")
RELEASED = {"textrank": {"released": True, "window": 8}}
"""Options that turn a prior into the one of the released code."""


def saloss(facts: CorpusFacts, prior: str, prior_options: Mapping[str, Any], variant: str) -> Term:
    if variant not in VARIANTS:
        raise unknown("variant of saloss", variant, VARIANTS)
    released = variant == "released"
    tokens, fitted_on = (Tokens(f.encoded, f.labels.numpy()) for f in (facts, facts.training or facts))
    options = {**(RELEASED.get(prior, {}) if released else {}), **prior_options}
    known = [torch.tensor(s) for s in salience(prior, tokens, fitted_on, options, "softmaxed" if released else "normalised")]

    def term(step: Step) -> Tensor:
        assert step.attention is not None
        target = torch.zeros_like(step.attention)
        for place, row in enumerate(step.rows):
            target[place, : len(known[row])] = known[row]
        if released:
            return released_divergence(step.attention, target, step.batch.attention_mask.bool())
        return divergence(step.attention, target, step.batch.content)

    return term


def released_divergence(attention: Weights, target: Weights, real: Bool[Tensor, "batch tokens"]) -> Float[Tensor, ""]:
    weights = attention.masked_fill(~real, float("-inf")).softmax(-1)
    return (weights * ((weights + EPSILON).log() - (target + EPSILON).log())).sum() ** 2


def cross_entropy_on_probabilities(_: CorpusFacts) -> Term:
    return lambda step: nn.functional.cross_entropy(step.logits.softmax(-1), step.labels)


OBJECTIVES = [
    Objective(
        "saloss",
        "Attention close to a salience known before training.",
        "Chrysostomou & Aletras 2021",
        saloss,
        {"prior": "textrank", "prior_options": {}, "variant": "paper"},
        reads=frozenset({"attention"}),
        select="loss",
    ),
    Objective(
        "cross_entropy_on_probabilities",
        "Cross-entropy that takes probabilities for logits, a slip of SaLoss' released code; here to measure what it does.",
        "Chrysostomou & Aletras 2021 (code)",
        cross_entropy_on_probabilities,
    ),
]
