"""The model-consistent adversary: the same predictions as a base model, from attention as different as can be.

  L = TVD(ŷ_a, ŷ_b) − λ · KL(α_a ‖ α_b)        TVD = ½ Σ_c |ŷ_a − ŷ_b|,  KL = Σ_i α_a (log α_a − log α_b)

(Wiegreffe & Pinter 2019, §4; α over the tokens of the text). Gold labels play no part. Two classes: TVD = |Δp|; the released
code takes half of that, so a λ of ours is twice a λ there. The paper sums over a batch, we take the mean: for Adam the same
direction. The code also multiplies each batch by its class weights; we follow the paper.

Cost: one pass of the base model over the corpus before training; nothing per step.
"""

import numpy as np
import torch
from torch import Tensor

from whence.errors import BadInput
from whence.models import Classifier
from whence.run import Request, Runner
from whence.teach.objectives.divergence import divergence as kl_divergence
from whence.teach.objectives.divergence import on_text
from whence.teach.objectives.objective import CorpusFacts, Objective, Step, Term


def adversary(facts: CorpusFacts, base: str, divergence: float) -> Term:
    """`base`: folder of the model to imitate, which must split texts into the same tokens; `divergence`: λ."""
    model = Classifier.load(base)
    encoded = model.encode(facts.examples)
    if any(not np.array_equal(theirs.ids, ours.ids) for theirs, ours in zip(encoded, facts.encoded, strict=True)):
        raise BadInput(f"the base model {base} reads other tokens than this one; expected the same vocabulary and data")
    results = Runner(model, remembered=0).run([Request(e, want=frozenset({"attention"})) for e in encoded])
    predictions = torch.from_numpy(np.stack([r.probabilities for r in results]))
    attentions = [torch.from_numpy(r.extras["attention"]) for r in results]

    def term(step: Step) -> Tensor:
        assert step.attention is not None
        here = step.attention.device
        gold = torch.nn.utils.rnn.pad_sequence([attentions[i] for i in step.rows], batch_first=True).to(here)
        tvd = (step.logits.softmax(-1) - predictions[list(step.rows)].to(here)).abs().sum(-1) / 2
        content = step.batch.content
        return tvd.mean() - divergence * kl_divergence(step.attention, on_text(gold, content), content)

    return term


OBJECTIVES = [
    Objective(
        "adversary",
        "Predict as the model `base` does, with attention as unlike its own as can be.",
        "Wiegreffe & Pinter 2019",
        adversary,
        {"base": None, "divergence": 0.001},
        reads=frozenset({"logits", "attention"}),
        select="loss",  # gold labels play no part
    ),
]
