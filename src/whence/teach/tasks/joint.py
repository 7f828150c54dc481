"""Label and explanation together: a stepwise model (models/sim.py) learns to decide while it explains.

The template's target must be a label and then a rationale. The decoder learns the rationale alone, as it is tokenised inside
the whole target; the label is learned at the label state that follows it. On dev the loss is that of all examples; accuracy,
exact match and BLEU are those of the model's own greedy explanations and of the label that it has reached after them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from whence.data import Example, Template
from whence.errors import BadInput
from whence.models import Encoded, Sim, SimPort
from whence.models.encoding import storable
from whence.models.infersent import InferSent
from whence.run import Request, Runner
from whence.teach.objectives import JointStep, TextFacts
from whence.teach.tasks.task import LOSS, TRAIN_LOSS, Metric, Row, Scores
from whence.teach.tasks.text2text import IGNORED, Text2Text, TextSplit, padded
from whence.teach.tasks.text_scores import exact_match
from whence.teach.tasks.written import LONGEST, Pair


@dataclass(frozen=True)
class JointPair(Pair):
    """`target` is the rationale and the end; `gold` the right label's number."""

    encoded: Encoded
    gold: int


class JointSplit(TextSplit):
    def step(self, rows: Sequence[int], reads: frozenset[str]) -> JointStep:
        pairs, port = [self.facts.pairs[i] for i in rows], self.facts.port
        assert isinstance(port, SimPort)
        targets = padded([pair.target for pair in pairs], IGNORED, port)
        batch, source, output = port.training_pass([pair.encoded for pair in pairs], targets)
        lengths = (targets >= 0).sum(1)
        final = output.states[torch.arange(len(rows), device=lengths.device), lengths]
        gold = torch.tensor([pair.gold for pair in pairs], device=lengths.device)
        nothing = torch.zeros_like(targets, dtype=torch.bool)  # no token of the target says the label
        guess = output.states[:, 0] if output.guess is None else output.guess
        return JointStep(list(rows), targets, nothing, output.logits, output.states, guess, final, gold, batch, source)


class Joint(Text2Text):
    name = "joint"
    objective = "label_and_text"
    gives = frozenset({"token_logits", "label_states"})
    metrics = (
        LOSS,
        Metric("accuracy", "the share of right labels after the model's own explanations"),
        Metric("exact_match", "the share of explanations that are the first one that people wrote, but for case and spaces"),
        Metric("bleu", "of the rationales against the first two that people wrote (sacrebleu, lower-cased, 0 to 100)"),
        TRAIN_LOSS,
    )

    def __init__(
        self, model: Sim | InferSent, tokenizer: Any, template: Template, labels: Sequence[str], generated: int | None
    ) -> None:
        self.model, self.port = model, SimPort(model, tokenizer, template)
        self.template, self.labels, self.generated = template, labels, generated

    def may_be_kept(self, batches: int) -> bool:
        """Not before the last batch followed the recurrence, which is what the model does from then on."""
        return batches > getattr(self.model.config, "early_steps", 0)

    def _pairs(self, examples: Sequence[Example]) -> list[JointPair]:
        assert isinstance(self.port, SimPort)
        return joint_pairs(self.port, self.template, examples)

    def _split(self, facts: TextFacts, chosen: list[int]) -> JointSplit:
        return JointSplit(facts, chosen)

    def _outputs(self, split: TextSplit) -> list[str]:
        requests = [Request(split.facts.pairs[i].encoded, write=LONGEST) for i in split.chosen]
        return [result.written.text if result.written else "" for result in Runner(self.port, remembered=0).run(requests)]

    def evaluate(self, split: TextSplit) -> tuple[Scores, list[Row]]:
        scores, rows = super().evaluate(split)
        explained = [split.facts.examples[i].explanations[0] for i in split.chosen]
        said = [(row["rationale"] or "", why) for row, why in zip(rows, explained, strict=True)]
        return {**scores, "exact_match": exact_match(said)}, rows


def joint_pairs(port: SimPort, template: Template, examples: Sequence[Example]) -> list[JointPair]:
    targets = [template.answered(example) for example in examples]
    said = port.tokenizer([storable(target.text) for target in targets], add_special_tokens=False, return_offsets_mapping=True)
    found = []
    rows = zip(port.encode(examples), targets, said["input_ids"], said["offset_mapping"], strict=True)
    for encoded, target, ids, offsets in rows:
        first, last = target.fields["rationale"]
        inside = [i for i, (a, b) in zip(ids, offsets, strict=True) if a < last and b > first]
        whole = torch.tensor([*inside[: port.model.config.longest], port.ends[0]])
        found.append(
            JointPair(
                torch.from_numpy(encoded.ids), whole, torch.zeros(len(whole), dtype=torch.bool), encoded.unseen, encoded,
                _number(port, encoded.example),
            )
        )  # fmt: skip
    return found


def _number(port: SimPort, example: Example) -> int:
    """Of the right label, as the model numbers them."""
    names = [label.casefold() for label in port.labels]
    if example.label is None or example.label.casefold() not in names:
        raise BadInput(f"example '{example.id}' has label {example.label!r:.60}; the model knows {', '.join(port.labels)}")
    return names.index(example.label.casefold())
