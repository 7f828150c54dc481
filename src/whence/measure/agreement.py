"""Feature-importance agreement without retraining: do label and rationale come from the same words?

  ρ(x) = Spearman's rank correlation of a(x)_L and a(x)_R over the words of x;   agreement = mean of ρ over examples
  p    = share of corpora in which the words of a(x)_R are shuffled within each example that agree at least as much

After Wiegreffe et al. 2021, who retrain on occluded texts instead. The null says: no more than if
the rationale's importance were spread over the same words at random. So no agreement speaks against a bond, but agreement alone
does not prove one: words that matter to everything raise it for any two models. Independent networks, and a rationale that is
the same for every text, come out above chance, too (docs/association.md has the numbers). Whether label and rationale hang
together is for `shared_importance` and `robustness` to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from whence.explain.text.importance import Importance
from whence.measure.measure import mean
from whence.measure.statistics import Estimate, bootstrap

PERMUTATIONS = 2000
LEVEL = 0.05


@dataclass(frozen=True)
class Agreement:
    """`examples` have a rank correlation; `left_out` lack a label or rationale, have fewer than 3 words, or constant scores."""

    value: Estimate
    p: float
    null: float
    """The mean agreement of shuffled words."""
    examples: int
    left_out: int

    @property
    def above_chance(self) -> bool:
        """Needed for a bond, and not enough for one."""
        return self.p < LEVEL and self.value.low > 0


def rank_agreement(label: np.ndarray, rationale: np.ndarray) -> float | None:
    """Spearman's ρ of two scores of the same words; None where it is not defined."""
    ranked = _standard_ranks(label), _standard_ranks(rationale)
    return None if len(label) < 3 or ranked[0] is None or ranked[1] is None else float(ranked[0] @ ranked[1])


def agreement(found: Sequence[Importance | None], seed: int = 0) -> Agreement | None:
    """Of a corpus; None where no example has a rank correlation."""
    ranks = [
        (label, rationale)
        for one in found
        if one is not None and len(one.words) >= 3
        for label, rationale in [(_standard_ranks(one.label), _standard_ranks(one.rationale))]
        if label is not None and rationale is not None
    ]
    if not ranks:
        return None
    values = np.array([label @ rationale for label, rationale in ranks])
    draw = np.random.default_rng(seed)
    shuffled = np.zeros(PERMUTATIONS)
    for label, rationale in ranks:
        shuffled += draw.permuted(np.tile(rationale, (PERMUTATIONS, 1)), axis=1) @ label / len(ranks)
    p = (1 + int((shuffled >= values.mean() - 1e-12).sum())) / (1 + PERMUTATIONS)
    return Agreement(bootstrap(values[:, None], mean, seed), p, float(shuffled.mean()), len(ranks), len(found) - len(ranks))


def _standard_ranks(scores: np.ndarray) -> np.ndarray | None:
    """Ranks of mean 0 and length 1, so that a dot product is Spearman's ρ; None for constant scores."""
    ranks = rankdata(scores) - (len(scores) + 1) / 2
    length = float(np.linalg.norm(ranks))
    return ranks / length if length > 0 else None
