"""Does it matter which word has which weight? The prediction under shuffled attention (Jain & Wallace 2019, §4.2.1).

  median over 100 permutations π of TVD(ŷ(π(α)), ŷ(α)), with the encoder's states as they are; 0 means that α is arbitrary

Cost: one pass of the encoder, then 100 small matrix products for all texts at once.
"""

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from whence.measure.divergence import tvd
from whence.run.readout import Readout


def permuted_change(
    readout: Readout, ids: Sequence[str], seed: int = 0, permutations: int = 100
) -> Float[np.ndarray, " texts"]:
    """The median change of each text; each draws from (seed, id)."""
    prediction = readout.probabilities(readout.attention)
    changes = []
    for i, name in enumerate(ids):  # arrays only: the model has already read the texts
        draw = np.random.default_rng([seed, zlib.crc32(name.encode("utf-8", "surrogatepass"))])
        own = readout.attention[i][readout.mask[i]].numpy()
        shuffled = torch.from_numpy(draw.permuted(np.tile(own, (permutations, 1)), axis=1))
        logits = shuffled @ readout.values[i][readout.mask[i]] + readout.bias
        changes.append(float(tvd(logits.softmax(-1), prediction[i]).median()))
    return np.array(changes)
