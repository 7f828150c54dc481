"""A model that needs the word pair on which the label turns: a subject of which we know the right alignment.

  L = cross-entropy + λ · ½ [ CE(ŷ | Z ∪ G, y) + CE(ŷ | Z ∖ G, y₀) ]

G are the known word pairs of an example (`Example.pairs`), Z word pairs drawn anew at every step, each kept with a probability
that is itself drawn from [0, 1]; ŷ | Z is the prediction with only the alignments Z, y₀ the label that is right when nothing is
known of G (neutral). With G the rest must not matter, without G nothing else may replace it: so for this model G is a complete
reason and the smallest one, and a method that explains it faithfully must find G. Trained for labels alone, a model is free to
decide by unaligned words instead, and then not finding G is no fault of the explanation.

Ours, not a published objective. Cost: two more passes for each step.
"""

import torch
from torch import Tensor, nn

from whence.errors import BadInput, unknown
from whence.models import Intervention, collate
from whence.models.alignment import known_cells
from whence.teach.objectives.objective import CorpusFacts, Objective, Step, Term


def known_alignment(facts: CorpusFacts, without: str) -> Term:
    """`without`: the label that is right when the known word pairs are not aligned."""
    classifier = facts.classifier
    classifier.check(frozenset({"alignment"}))
    if without not in classifier.labels:
        raise unknown("label of known_alignment.without", without, classifier.labels)
    known = [torch.from_numpy(known_cells(encoded)) for encoded in facts.encoded]
    if not any(cells.any() for cells in known):
        raise BadInput("known_alignment: no example has known word pairs; expected a corpus with `pairs`, like scenes")
    fallback = classifier.labels.index(without)

    def term(step: Step) -> Tensor:
        rows = [(place, row) for place, row in enumerate(step.rows) if known[row].any()]
        if not rows:
            return step.logits.sum() * 0
        drawn = [torch.rand(known[row].shape) < torch.rand(()) for _, row in rows]
        masks = [z | known[row] for z, (_, row) in zip(drawn, rows, strict=True)]
        masks += [z & ~known[row] for z, (_, row) in zip(drawn, rows, strict=True)]
        encoded = 2 * [facts.encoded[row] for _, row in rows]
        changes = [Intervention(alignment=mask.float().numpy()) for mask in masks]
        batch = collate(encoded, classifier.pad_id, classifier.device, changes)
        logits, _ = classifier.training_pass(batch, False)
        labels = step.labels[[place for place, _ in rows]]
        return nn.functional.cross_entropy(logits, torch.cat([labels, torch.full_like(labels, fallback)]))

    return term


OBJECTIVES = [
    Objective(
        "known_alignment",
        "Decide by the known word pairs of an example: with them the label, without them `without`.",
        "",
        known_alignment,
        {"without": "neutral"},
        select="loss",  # labels are right long before the pair is needed
    ),
]
