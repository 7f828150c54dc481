"""AFiRe as its paper has it: a backward network Q(X | L, E) writes the input from label and explanation (Liu et al. 2022).

  Q       − log Q(X | L, E)  −  β · [ m(X | L', E') + m(X | L, E') ] / 2      m(·) = min(− log Q(·), − log Q(X | L, E) + margin)
  model   − log Q(X | L', E')

all per token of X. The paper's game is min_φ max_θ log Q(X|L',E') − log Q(X|L,E), with (true label, made explanation) as
further negatives. Left free, Q can win it by making −log Q of the negatives as large as it likes, and then rewards nothing; so
a negative counts only until it is `margin` nats less likely than the truth. β is `negatives`; with 0 it is the bound on mutual
information alone. Q is a small transformer: an encoder of label and explanation, a decoder of X.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from whence.teach.objectives.afire import HEADS, OPTIONS, Player, true_text
from whence.teach.objectives.objective import JointStep, Objective, Term, TextFacts


class Backward(Player):
    told = ("true_loss", "made_loss")
    """−log Q per token of X, from the true label and explanation and from the model's."""

    def __init__(self, facts: TextFacts, options: dict[str, Any]) -> None:
        super().__init__(facts, options)
        size, layers = int(options["size"]), int(options["layers"])
        encoder = nn.TransformerEncoderLayer(size, HEADS, 2 * size, 0.0, batch_first=True, norm_first=True)
        decoder = nn.TransformerDecoderLayer(size, HEADS, 2 * size, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(encoder, layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, layers, nn.LayerNorm(size))
        self.begin = nn.Parameter(torch.zeros(size))
        self.output = nn.Linear(size, self.words.num_embeddings)
        self.start()

    def lost(self, step: JointStep, label: Tensor, text: Tensor) -> Float[Tensor, " batch"]:
        """−log Q(X | L, E), mean over the tokens of each X."""
        said, there = self.spoken(step, label, text)
        ids, real = step.batch.input_ids, step.batch.attention_mask.bool()
        before = torch.cat([self.begin.expand(len(ids), 1, -1), self.words(ids[:, :-1])], 1)
        causal = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], device=ids.device)
        states = self.decoder(
            self.placed(before), self.encoder(said, src_key_padding_mask=~there), tgt_mask=causal, tgt_is_causal=True,
            memory_key_padding_mask=~there,
        )  # fmt: skip
        lost = nn.functional.cross_entropy(self.output(states).transpose(1, 2), ids, reduction="none")
        return (lost * real).sum(1) / real.sum(1)

    def loss(self, step: JointStep, label: Tensor, text: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        gold, real = true_text(step, text)
        true, made, mixed = (self.lost(step, *pair) for pair in ((gold, real), (label, text), (gold, text)))
        most = true.detach() + self.options["margin"]
        negatives = (torch.minimum(made, most) + torch.minimum(mixed, most)) / 2
        return (true - self.options["negatives"] * negatives).mean(), (true.mean(), made.mean())

    def reward(self, step: JointStep, label: Tensor, text: Tensor) -> Tensor:
        return -self.lost(step, label, text).mean()


def backward(facts: TextFacts, **options: Any) -> Term:
    if facts.training is not None:  # on dev the likelihood alone counts
        return lambda step: step.label_logits.sum() * 0
    return Backward(facts, options)


OBJECTIVES = [
    Objective(
        "backward",
        "AFiRe: label and explanation from which the input can be told again.",
        "Liu et al. 2022",
        backward,
        {**OPTIONS, "margin": 1.0, "negatives": 0.5},
        reads=frozenset({"token_logits", "label_states"}),
    ),
]
