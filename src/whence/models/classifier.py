"""Any Hugging Face sequence classifier, as it is: encoder, decoder-only, encoder–decoder, or one of our own architectures.

Its candidates are its labels. Interventions on words go through hooks (sites.py), attention and alignment through transformers'
`AttentionInterface` (attention.py) or, in our own models, as arguments of the call.
"""

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import PreTrainedModel

from whence.data import Example
from whence.errors import BadInput
from whence.models.attention import Tap, tapped
from whence.models.batch import Batch
from whence.models.encoding import Encoded, encode
from whence.models.intervention import UNCHANGED, Hide
from whence.models.last_layer import first_token_only, leaving_attention
from whence.models.layers import AttentionPool
from whence.models.reading import Kept, Pooled, evaluating
from whence.models.torch_port import LONG, SHORT, TorchPort

WANTS_ATTENTION = frozenset({"attention", "attention_gradient", "readout"})


class Classifier(TorchPort):
    """A model that reads a text or a pair and gives one score per label."""

    def __init__(self, model: PreTrainedModel, tokenizer: Any) -> None:
        if model.config.num_labels < 2:
            raise BadInput(f"{type(model).__name__} has {model.config.num_labels} label; expected a classifier with at least 2")
        if model.config.problem_type == "regression":
            raise BadInput(f"{type(model).__name__} is a regression model (problem_type in its config); expected a classifier")
        super().__init__(model, tokenizer)
        self.labels = tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels))
        self.reads_twice = bool(model.config.is_encoder_decoder)

    @classmethod
    def load(cls, source: Any, tokenizer: Any = None) -> "Classifier":
        """From a hub id, a folder, a `transformers` pipeline, or a model object with its tokenizer."""
        from whence.models.load import load_classifier

        return load_classifier(source, tokenizer)

    def fit_labels(self, names: Sequence[str]) -> None:
        """Call the outputs by a corpus' label names. Matched by name; outputs without names (LABEL_0, …) take them in order.

        Only this wrapper's names change, never the model's config.
        """
        known = {label.lower() for label in self.labels}
        if all(name.lower() in known for name in names):
            return
        if len(names) != len(self.labels):
            raise BadInput(
                f"the data has {len(names)} labels ({', '.join(names)}) and the model {len(self.labels)} "
                f"({', '.join(self.labels)}); expected the same number, or labels that the model knows by name"
            )
        if not all(label.startswith("LABEL_") for label in self.labels):
            raise BadInput(
                f"the data has labels {', '.join(names)} and the model {', '.join(self.labels)}; "
                "expected the same names, or --labels to name the model's outputs in their order"
            )
        self.labels = tuple(names)

    @property
    def own(self) -> bool:
        """True for Whence's architectures, which take interventions as arguments; False for those of transformers."""
        return hasattr(self.model, "interventions")

    @property
    def hides(self) -> tuple[Hide, ...]:
        """The mask token first where it was pretrained to mean "some word"; our word models never saw a mask."""
        return ("delete", "mask", "pad") if self.own else super().hides

    @property
    def honours(self) -> frozenset[str]:
        return super().honours | self._inside

    @cached_property
    def _inside(self) -> frozenset[str]:
        if self.own:
            linear = isinstance(getattr(self.model, "pool", None), AttentionPool)
            return frozenset(self.model.interventions) | ({"readout"} if linear else frozenset())
        return frozenset({"attention", "alignment"}) if self._attention_can_be_reached() else frozenset()

    def _attention_can_be_reached(self) -> bool:
        """Tried out on one short text: what transformers says of a class is a guess (FNet has no attention and passes)."""
        if not getattr(self.model.config, "num_hidden_layers", 0):
            return False
        try:
            self._run(self.encode([self._probe("a")]), [UNCHANGED], frozenset({"attention"}), [None])
        except BadInput:
            return False
        return True

    @property
    def max_tokens(self) -> int | None:
        limits = [self.tokenizer.model_max_length]
        positions = getattr(self.model.config, "max_position_embeddings", None)
        if positions is not None and positions > 0:
            # RoBERTa-like models number positions from the padding id on, and so lose the first ones.
            table = getattr(getattr(self.model.base_model, "embeddings", None), "position_embeddings", None)
            padding = getattr(table, "padding_idx", None)
            limits.append(positions - (0 if padding is None else padding + 1))
        shortest = min(limits)
        return int(shortest) if shortest < 10**6 else None

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        encoded = encode(self.tokenizer, examples, self.max_tokens)
        if encoded and self.own and self.model.reads_pairs != (len(encoded[0].fields) == 2):
            kind = "pairs (premise, hypothesis)" if self.model.reads_pairs else "single texts"
            raise BadInput(f"{self.name} reads {kind}; example '{examples[0].id}' has {encoded[0].fields}")
        return encoded

    def training_pass(
        self, batch: Batch, read_attention: bool
    ) -> tuple[Float[Tensor, "batch labels"], Float[Tensor, "batch tokens"] | None]:
        """(logits, pooled attention if asked for) with their graph."""
        logits, attention = self._logits(batch, read_attention)
        return logits, None if attention is None else attention.row()

    def _forward(self, batch: Batch, want: frozenset[str], kept: Kept) -> tuple[Tensor, Pooled | None, dict[str, Tensor]]:
        with self._reading(batch, want, kept):
            logits, attention = self._logits(batch, bool(want & WANTS_ATTENTION))
            if "readout" not in want:
                return logits, attention, {}
            assert attention is not None
            assert attention.states is not None, "`honours` offers a readout of models that read their attention linearly"
            return logits, attention, {"readout": (attention.states @ self.model.classifier.weight.T).detach().float()}

    def _shortened(self) -> AbstractContextManager[None]:
        return nullcontext() if self._unread is None else first_token_only(self._unread)

    @cached_property
    def _unread(self) -> nn.Module | None:
        """Where the last layer can go on with the first token alone; None where that cannot be."""
        if self.own:
            return None
        batch = self._collate(self.encode([self._probe(SHORT), self._probe(LONG)]), [UNCHANGED] * 2, [None] * 2)

        @torch.no_grad()
        def probe() -> Tensor:
            with evaluating(self.model):
                return self._logits(batch, False)[0].float()

        return leaving_attention(self.model, probe)

    def _logits(self, batch: Batch, inside: bool) -> tuple[Tensor, Pooled | None]:
        model = self.model
        if self.own:
            extra = {name: getattr(batch, name) for name in ("attention", "alignment") if getattr(batch, name) is not None}
            output = model(**batch.inputs(), **extra)
            return output.logits, Pooled(output.attentions[0], states=output.hidden_states[0]) if inside else None
        if not inside and batch.attention is None and batch.alignment is None:
            return model(**batch.inputs()).logits, None
        tap = Tap(model.config.num_hidden_layers, pooled_row=batch.attention, pooled_at=self._pooled_positions(batch))
        tap.multiply = None if batch.alignment is None else batch.alignment[:, None]
        with tapped(model, tap):
            logits = model(**batch.inputs()).logits
        return logits, Pooled(tap.last[0], tap.pooled_at) if inside else None

    def _probable(self, scores: Tensor) -> Tensor:
        """Softmax, or a sigmoid for each label of a multi-label model."""
        multi = self.model.config.problem_type == "multi_label_classification"
        return scores.sigmoid() if multi else scores.softmax(-1)

    def _pooled_positions(self, batch: Batch) -> Tensor:
        """Where the classifier reads the sentence: at [CLS] wherever it stands, else at the last token (decoders)."""
        if self.tokenizer.cls_token_id is None:
            return batch.attention_mask.sum(1) - 1
        return (batch.input_ids == self.tokenizer.cls_token_id).int().argmax(1)

    def _row_kind(self, encoded: Encoded) -> Hashable:
        """Encoder–decoders read the text at its last end token and want as many of these in every row."""
        return int((encoded.ids == self.model.config.eos_token_id).sum()) if self.reads_twice else None

    def _probe(self, text: str) -> Example:
        pair = self.own and self.model.reads_pairs
        return Example("probe", {"premise": text, "hypothesis": text} if pair else {"text": text})
