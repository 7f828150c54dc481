"""Points at the edit: does an explanation find the words whose change changed the label?

A counterfactual pair is two texts that differ in a few words and in their label (Kaushik et al. 2020). Here nobody had to say
which words matter: the label turned with them. Of a text with k edited words in n,

  edit = |top k words by score ∩ edited words| / k        chance: k / n

All texts of an example count together, so the premise of a pair competes with the hypothesis. Words that the model never read
cannot be chosen, and stay among the edited. Not defined for a text from which words were only taken away. A model may still
decide by other words: the edit is why the label of the data changed, not why the model says what it says. Cost: none.
"""

import numpy as np

from whence.explain.rationale import top_k
from whence.measure.measure import Judged, Measure, Value
from whence.run import Rounds


def edit_rounds(judged: Judged) -> Rounds[Value]:
    yield []
    encoded = judged.encoded
    edited = np.concatenate([encoded.example.edited_words(name) for name in encoded.fields])
    if not edited.any():
        return None
    chosen = top_k(judged.scores, int(edited.sum()), encoded.seen)
    return (float((chosen & edited).sum() / edited.sum()),)


MEASURES = [
    Measure(
        "edit",
        "Points at the edit",
        "Of as many top words as were edited to turn the label, the share that are the edited ones.",
        "Kaushik et al. 2020",
        "higher",
        0.0,
        1.0,
        "the share of edited words",
        edit_rounds,
        family="counterfactual",
    ),
]
