"""Points at the edit, for alignments: do the best word pairs hold the words whose change changed the label? Cost: none.

Of a pair of sentences with k edited words (in both together) the k best cells are taken, so that all methods have equal size.

  edit = |best k cells that touch an edited word| / k      chance: the share of cells that touch one

A cell touches the words of its row and of its column. Equal scores: in reading order. Cells that the model did not read cannot
be chosen. Not defined without edits. As for token scores (`measure/edit.py`), the edit is why the data's label changed.
"""

import numpy as np
from jaxtyping import Bool, Float

from whence.data import Example
from whence.explain.rationale import top_k


def touching_edit(example: Example) -> Bool[np.ndarray, "premise hypothesis"]:
    """The cells in the row or column of an edited word."""
    premise, hypothesis = (example.edited_words(name) for name in ("premise", "hypothesis"))
    return premise[:, None] | hypothesis[None, :]


def edit_found(
    example: Example,
    scores: Float[np.ndarray, "premise hypothesis"],
    read: Bool[np.ndarray, "premise hypothesis"] | None = None,
) -> float | None:
    """`read` are the cells that the model reads; default: all of them."""
    k = sum(int(example.edited_words(name).sum()) for name in ("premise", "hypothesis"))
    if not k:
        return None
    best = top_k(scores.ravel(), k, None if read is None else read.ravel())
    return float((best & touching_edit(example).ravel()).sum() / k)
