"""Text to text: a template makes source and target of an example; the model learns to write the target.

Seq2seq models read the source in the encoder; causal models read source and target as one text, and only the target is learned.
The end of text is part of every target. On dev the loss is that of all examples; label accuracy, BLEU and exact match are those
of greedy outputs for `settings.generated` of them, parsed by the template.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from whence.data import Example, Template
from whence.errors import BadInput
from whence.models import Causal, Seq2Seq, TorchPort
from whence.teach.objectives import TextFacts, TextStep
from whence.teach.settings import Settings
from whence.teach.tasks.task import LOSS, TRAIN_LOSS, Metric, Row, Scores, Task
from whence.teach.tasks.text_scores import exact_match, rationale_bleu
from whence.teach.tasks.written import Pair, encode_pairs, written_by

IGNORED = -100
"""In targets: padding, as torch's cross-entropy expects it."""


@dataclass
class TextSplit:
    facts: TextFacts
    chosen: list[int]
    """The examples for which the model is asked to write."""

    @property
    def lengths(self) -> list[tuple[int, ...]]:
        return [(len(pair.source), len(pair.target)) for pair in self.facts.pairs]

    @property
    def warnings(self) -> list[str]:
        cut = sum(pair.cut > 0 for pair in self.facts.pairs)
        said = f"{cut} of {len(self.facts.pairs)} texts are longer than the model's limit; their ends are not read"
        return [said] if cut else []

    def step(self, rows: Sequence[int], reads: frozenset[str]) -> TextStep:
        pairs, port = [self.facts.pairs[i] for i in rows], self.facts.port
        targets = padded([pair.target for pair in pairs], IGNORED, port)
        labels = padded([pair.label for pair in pairs], False, port)
        sources = [pair.source for pair in pairs]
        logits = seq2seq_logits(port, sources, targets) if isinstance(port, Seq2Seq) else causal_logits(port, sources, targets)
        return TextStep(rows, targets, labels, logits)


class Text2Text(Task):
    name = "text2text"
    objective = "token_cross_entropy"
    gives = frozenset({"token_logits"})
    metrics = (
        LOSS,
        Metric("accuracy", "the share of right labels in what the model writes"),
        Metric("exact_match", "the share of outputs that are the target, but for case and spaces"),
        Metric("bleu", "of the rationales against the first two that people wrote (sacrebleu, lower-cased, 0 to 100)"),
        TRAIN_LOSS,
    )
    select = "loss"
    always = frozenset({"loss"})

    def __init__(
        self, model: PreTrainedModel, tokenizer: Any, template: Template, labels: Sequence[str], generated: int | None
    ) -> None:
        kind: type[Seq2Seq | Causal] = Seq2Seq if model.config.is_encoder_decoder else Causal
        self.model, self.port = model, kind(model, tokenizer)
        self.template, self.labels, self.generated = template, labels, generated

    def prepare(self, examples: Sequence[Example]) -> TextSplit:
        pairs = self._pairs(examples)
        every = range(len(examples))
        chosen = every if self.generated is None else random.Random(0).sample(every, min(self.generated, len(every)))
        return self._split(TextFacts(examples, pairs, self.port), sorted(chosen))

    def _pairs(self, examples: Sequence[Example]) -> Sequence[Pair]:
        return encode_pairs(self.port, self.template, examples)

    def _split(self, facts: TextFacts, chosen: list[int]) -> TextSplit:
        return TextSplit(facts, chosen)

    def _outputs(self, split: TextSplit) -> list[str]:
        """What the model writes for the chosen examples."""
        examples, pairs = ([split.facts.examples[i] for i in split.chosen], [split.facts.pairs[i] for i in split.chosen])
        return written_by(self.port, examples, pairs)

    def groups(self, settings: Settings) -> list[dict[str, Any]]:
        """The encoder, word embeddings included, and the rest, which may learn faster."""
        if settings.decoder_learning_rate is None:
            return super().groups(settings)
        if not self.model.config.is_encoder_decoder:
            raise BadInput(f"{type(self.model).__name__} has no encoder; expected one learning rate for the whole model")
        encoder = {id(p) for p in self.model.get_encoder().parameters()}
        parts: tuple[list[Any], list[Any]] = ([], [])
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                parts[id(parameter) not in encoder].append(parameter)
        rates = (settings.learning_rate, settings.decoder_learning_rate)
        return [{"params": part, "lr": rate} for part, rate in zip(parts, rates, strict=True)]

    def evaluate(self, split: TextSplit) -> tuple[Scores, list[Row]]:
        outputs = self._outputs(split)
        rows = [self._row(split.facts.examples[i], output) for i, output in zip(split.chosen, outputs, strict=True)]
        scores: Scores = {"exact_match": exact_match([(row["output"], row["expected"]) for row in rows])}
        if self._names("label") or self._names("letter"):
            scores["accuracy"] = sum(row["predicted"] == row["label"] for row in rows) / len(rows)
        if self._names("rationale"):
            references = [split.facts.examples[i].explanations for i in split.chosen]
            scores["bleu"] = rationale_bleu([(row["rationale"], r) for row, r in zip(rows, references, strict=True)])
        cut = sum(pair.cut > 0 for pair in split.facts.pairs)
        return {**scores, "examples": len(split.facts.examples), "written": len(rows), "texts_cut": cut}, rows

    def _row(self, example: Example, output: str) -> Row:
        parsed = self.template.parse(output, self.template.candidates(example, self.labels))
        right = example.label if self._names("letter") else example.answer
        return {
            "id": example.id, "label": right, "predicted": parsed.label, "rationale": parsed.rationale, "output": output,
            "expected": self.template.render_target(example),
        }  # fmt: skip

    def _names(self, field: str) -> bool:
        return f"{{{field}}}" in self.template.target

    def save(self, path: Path) -> None:
        self.model.save_pretrained(path)
        self.port.tokenizer.save_pretrained(path)


def seq2seq_logits(port: Seq2Seq, sources: Sequence[Tensor], targets: Tensor) -> Tensor:
    """For each target token, given those before it → float[batch, tokens, vocabulary]."""
    return port.training_pass(_inputs(sources, port), targets)


def causal_logits(port: TorchPort, sources: Sequence[Tensor], targets: Tensor) -> Tensor:
    """The same of a model that reads source and target as one text."""
    whole = [torch.cat([s, t[t != IGNORED].cpu()]) for s, t in zip(sources, targets, strict=True)]
    logits = port.model(**_inputs(whole, port), use_cache=False).logits
    starts = torch.tensor([len(s) for s in sources], device=targets.device)
    places = starts[:, None] - 1 + torch.arange(targets.shape[1], device=targets.device)
    places = places.clamp(max=logits.shape[1] - 1)  # beyond a row's own end: padding of the targets
    return logits.gather(1, places[..., None].expand(-1, -1, logits.shape[2]))


def _inputs(rows: Sequence[Tensor], port: TorchPort) -> dict[str, Tensor]:
    mask = padded([torch.ones_like(row) for row in rows], 0, port)
    return {"input_ids": padded(rows, port.pad_id, port), "attention_mask": mask}


def padded(rows: Sequence[Tensor], fill: float, port: TorchPort) -> Tensor:
    return pad_sequence(list(rows), batch_first=True, padding_value=fill).to(port.device)
