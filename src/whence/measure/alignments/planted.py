"""Planted scenes: does a mask keep the word pair that decides the label? Cost: none.

recall     |kept ∩ planted| / |planted|
precision  |kept ∩ planted| / |kept|, 0 for an empty mask
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool


@dataclass(frozen=True)
class PlantedFound:
    recall: float
    precision: float


def planted_found(
    kept: Bool[np.ndarray, "premise hypothesis"], planted: Bool[np.ndarray, "premise hypothesis"]
) -> PlantedFound | None:
    """None where nothing was planted. `planted` are the gold cells of the example."""
    if not planted.any():
        return None
    both = float((kept & planted).sum())
    return PlantedFound(both / float(planted.sum()), both / max(1.0, float(kept.sum())))
