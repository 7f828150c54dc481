"""Intervene, then look: the one value by which every test changes a forward pass.

An `Intervention` belongs to one example. Token arrays have the length of the encoded example, unpadded; the runner pads them.
A model that cannot honour a field refuses it with one clear error (`Port.check`); it never ignores it.

How a token is hidden is a named choice, because it changes the numbers:
  mask    its id becomes the tokenizer's mask token
  pad     its id becomes the padding token; it keeps its place and may still be attended to (SaLoss' released code)
  delete  it is taken out, and the text is shorter by one (Jain & Wallace)
"""

from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

Hide = Literal["mask", "pad", "delete"]
HIDE: tuple[Hide, ...] = get_args(Hide)


@dataclass(frozen=True, slots=True, eq=False)
class Intervention:
    keep: Bool[np.ndarray, " tokens"] | None = None
    """Tokens that the model may see; the others are hidden as `hide` says."""
    hide: Hide = "mask"
    embeddings: Float[np.ndarray, "tokens dim"] | None = None
    """Replaces the input embeddings."""
    scale: float | None = None
    """Multiplies what the first layer reads of the words (site `embedded`): a point on the path of integrated gradients."""
    noise: float | None = None
    """Variance of Gaussian noise on the input embeddings of all but special tokens (words of a prompt get it too), drawn from
    `seed`."""
    seed: int = 0
    attention: Float[np.ndarray, " tokens"] | None = None
    """Replaces the pooled attention: the one layer of a BiLSTM or MLP, the [CLS] row of a transformer's last layer."""
    alignment: Float[np.ndarray, "premise hypothesis"] | None = None
    """By word pair; multiplies co-attention after the softmax, without renormalising."""

    def changes(self) -> frozenset[str]:
        """The names of the fields that are set."""
        return frozenset([name for name in _CHANGES if getattr(self, name) is not None])


_CHANGES = tuple(f.name for f in fields(Intervention) if f.name not in ("hide", "seed"))
UNCHANGED = Intervention()
