"""Feature-importance agreement beyond what any two models have in common: do label and rationale share a computation?

For each text x and each of a few draws d of a little noise on the input embeddings (explain/text/importance.py):

  l_d, r_d = log a(x + noise_d)_L, log a(x + noise_d)_R   over the words of x; mean over words taken off, then mean over draws
  c(x)     = Σ_d l_d · r_d / sqrt(Σ_d |l_d|² · Σ_d |r_d|²)   how alike label and rationale move;   shared = mean of c over texts
  p        = share of corpora with the draws of r shuffled within each text that share at least as much

Which words matter to anybody (the noun, the first word, the word that names the label) is a property of the text, the same in
every draw: it is taken off with the mean over draws. What is left is how this network's sensitivity moves when its input is
shaken. Two independent networks under the very same noise do not move alike; one that writes both does. Plain rank agreement
(agreement.py) lacks such a null. Tokens count as far as the text decides them (`text_shares`): where fewer than half of the
rationales have such a token, label and rationale are not associated, whatever gradients say.

`verdict`, a rule chosen on the control models of seeds 0–2 and confirmed on others (docs/association.md):
  associated      p < 0.01 and the interval of `shared` above 0.15
  not associated  rationales do not depend on the text, or the interval is below 0.15
  undecided       else: too few texts, or little in common. One network that writes about something else has about 0.12:
                  what its label and its rationale share is the encoder

Cost: none beyond `shaken_importances`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from whence.explain.text.importance import Importance
from whence.explain.text.rationale import Rationale
from whence.measure.measure import mean
from whence.measure.statistics import Estimate, bootstrap

PERMUTATIONS = 2000
LEVEL = 0.01
LITTLE = 0.15
Bond = Literal["associated", "not associated", "undecided"]


@dataclass(frozen=True)
class SharedImportance:
    value: Estimate | None
    """None where no text has a value: no text with 2 words whose label and rationale both depend on it."""
    p: float
    depends: float
    """Share of the written rationales that depend on the text."""
    examples: int
    left_out: int

    @property
    def verdict(self) -> Bond:
        if self.depends < 0.5:
            return "not associated"
        if self.value is None:
            return "undecided"
        if self.p < LEVEL and self.value.low > LITTLE:
            return "associated"
        return "not associated" if self.value.high < LITTLE else "undecided"


def shared_importance(shaken: Sequence[Sequence[Importance | None]], depends: float, seed: int = 0) -> SharedImportance:
    """`shaken` by draw and example."""
    products = [found for one in zip(*shaken, strict=True) if (found := _products(one)) is not None]
    left_out = (len(shaken[0]) if shaken else 0) - len(products)
    if not products:
        return SharedImportance(None, 1.0, depends, 0, left_out)
    values = np.array([np.trace(product) for product in products])
    draws, draw = np.arange(len(products[0])), np.random.default_rng(seed)
    shuffled = np.zeros(PERMUTATIONS)
    for product in products:
        orders = draw.permuted(np.tile(draws, (PERMUTATIONS, 1)), axis=1)
        shuffled += product[draws, orders].sum(1) / len(products)
    p = (1 + int((shuffled >= values.mean() - 1e-12).sum())) / (1 + PERMUTATIONS)
    return SharedImportance(bootstrap(values[:, None], mean, seed), p, depends, len(products), left_out)


def depending(rationales: Sequence[Rationale], shares: Sequence[Float[np.ndarray, " written"]]) -> float:
    """The share of the rationales that were written of which a token would be another after another text."""
    places = [np.array([part == "rationale" for part in r.parts], dtype=bool) for r in rationales]
    known = [bool((share[place] > 0).any()) for place, share in zip(places, shares, strict=True) if place.any()]
    return float(np.mean(known)) if known else 0.0


def _products(draws: Sequence[Importance | None]) -> Float[np.ndarray, "draws draws"] | None:
    """How l of each draw goes with r of each, so that the trace is c(x); None where either does not move."""
    there = [one for one in draws if one is not None]
    if len(there) < len(draws) or len(there) < 2 or len(there[0].words) < 2:
        return None
    label, rationale = (_moves(np.stack(several)) for several in ([o.label for o in there], [o.rationale for o in there]))
    scale = float(np.sqrt((label**2).sum() * (rationale**2).sum()))
    return label @ rationale.T / scale if scale > 1e-12 else None


def _moves(scores: Float[np.ndarray, "draws words"]) -> Float[np.ndarray, "draws words"]:
    logs = np.log(np.maximum(scores, 1e-9 * max(float(scores.max()), 1e-30)))
    logs = logs - logs.mean(1, keepdims=True)
    return logs - logs.mean(0)
