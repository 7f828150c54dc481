"""Any Hugging Face sequence classifier, as it is.

`Classifier` wraps a model and its tokenizer and runs batches with interventions. It leaves the user's text, tokenizer, device,
training mode and weights as it found them: the tokenizer is copied (calling one changes its padding state), evaluation mode and
the attention implementation are put back after every pass, and gradients are taken with respect to inputs only.
"""

import copy
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from whence.data import Example
from whence.errors import BadInput
from whence.models.attention import Tap, tapped
from whence.models.batch import Batch, collate
from whence.models.encoding import Encoded, encode

EVERY_MODEL = frozenset({"keep", "embeddings", "scale", "noise"})
"""Interventions on the input, which any model honours; attention and alignment depend on what is inside."""


class Classifier:
    """A model that reads a text or a pair and gives one score per label."""

    def __init__(self, model: PreTrainedModel, tokenizer: Any) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise BadInput(f"{type(tokenizer).__name__} gives no character offsets; expected a fast tokenizer (tokenizer.json)")
        if model.config.num_labels < 2:
            raise BadInput(f"{type(model).__name__} has {model.config.num_labels} label; expected a classifier with at least 2")
        self.model = model
        self.tokenizer = copy.deepcopy(tokenizer)
        self.labels = tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels))
        named = getattr(model.config, "pad_token_id", None)  # not every config has one
        self.pad_id = next(i for i in (tokenizer.pad_token_id, named, 0) if i is not None)

    @classmethod
    def load(cls, source: Any, tokenizer: Any = None) -> "Classifier":
        """From a hub id, a folder, a `transformers` pipeline, or a model object with its tokenizer."""
        if isinstance(source, cls):
            return source
        if hasattr(source, "model") and hasattr(source, "tokenizer"):  # a pipeline
            return cls(source.model, source.tokenizer)
        if isinstance(source, PreTrainedModel):
            if tokenizer is None:
                raise BadInput("a model object was given without its tokenizer; expected load(model, tokenizer)")
            return cls(source, tokenizer)
        name = str(source)
        if (Path(name) / "model" / "config.json").exists():  # a run folder of `whence train`
            name = str(Path(name) / "model")
        if Path(name).is_dir() and not (Path(name) / "config.json").exists():
            raise BadInput(f"{name} is a folder without config.json; expected a folder that save_pretrained wrote")
        try:
            model = AutoModelForSequenceClassification.from_pretrained(name)
            return cls(model.eval(), tokenizer or AutoTokenizer.from_pretrained(name))
        except (OSError, ValueError) as error:
            if isinstance(error, BadInput):
                raise
            first = str(error).strip().splitlines()[0]
            raise BadInput(f"cannot load model '{name}' ({first}); expected a folder or a hub id of a classifier") from error

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
    def device(self) -> torch.device:
        return self.model.device

    @property
    def own(self) -> bool:
        """True for Whence's architectures, which take interventions as arguments; False for those of transformers."""
        return hasattr(self.model, "interventions")

    @cached_property
    def honours(self) -> frozenset[str]:
        """The intervention fields that this model can honour."""
        if self.own:
            return EVERY_MODEL | frozenset(self.model.interventions)
        return EVERY_MODEL | {"attention", "alignment"} if self._attention_can_be_reached() else EVERY_MODEL

    def _attention_can_be_reached(self) -> bool:
        """Tried out on one short text: what transformers says of a class is a guess (FNet has no attention and passes)."""
        if not getattr(self.model.config, "num_hidden_layers", 0):
            return False
        [encoded] = encode(self.tokenizer, [Example("", {"text": "a"})], None)
        try:
            self.run(collate([encoded], self.pad_id, self.device), frozenset({"attention"}))
        except BadInput:
            return False
        return True

    @property
    def max_tokens(self) -> int | None:
        """The longest input that the model takes, special tokens included; None for no limit."""
        limits = [self.tokenizer.model_max_length]
        positions = getattr(self.model.config, "max_position_embeddings", None)
        if positions is not None:
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
            raise BadInput(f"{type(self.model).__name__} reads {kind}; example '{examples[0].id}' has {encoded[0].fields}")
        return encoded

    def check(self, fields: frozenset[str]) -> None:
        refused = sorted(fields - self.honours)
        if refused:
            raise BadInput(f"{type(self.model).__name__} cannot honour an intervention on {', '.join(refused)}")

    @cached_property
    def embedding_dim(self) -> int:
        return int(self.model.get_input_embeddings().weight.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of architecture and weights: which model an explanation belongs to."""
        digest = hashlib.sha256(repr(sorted(self.model.config.to_diff_dict().items(), key=lambda kv: kv[0])).encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
        return digest.hexdigest()[:16]

    def probabilities(self, logits: np.ndarray) -> np.ndarray:
        """Softmax, or a sigmoid for each label of a multi-label model; float[..., labels]."""
        tensor = torch.from_numpy(np.asarray(logits, dtype=np.float32))
        multi = self.model.config.problem_type == "multi_label_classification"
        return (tensor.sigmoid() if multi else tensor.softmax(-1)).numpy()

    def run(self, batch: Batch, want: frozenset[str] = frozenset(), target: Tensor | None = None) -> dict[str, Tensor]:
        """One forward pass (and one backward pass if gradients are wanted).

        want: any of
          attention           float[batch, tokens]  the pooled attention, mean over heads
          gradient            float[batch, tokens, 4]  of the target's probability at the input embeddings e, reduced over
                              their width: Σ e·g, Σ g, Σ |g|, sqrt Σ g² (e before `scale`)
          attention_gradient  float[batch, tokens]  of the target's probability at the pooled attention, mean over heads
        """
        backward = bool(want & {"gradient", "attention_gradient"})
        inside = bool(want & {"attention", "attention_gradient"})
        with _evaluating(self.model), torch.set_grad_enabled(backward), self._embeddings_changed(batch, backward) as leaf:
            logits, weights, at = self._pass(self.model, batch, inside)
            found = {"logits": logits.detach().float()}
            if inside:
                found["attention"] = _pooled(weights, at).detach().float()
            if backward:
                assert target is not None, "a gradient needs a target label"
                wrt = [leaf["out"]] if "gradient" in want else []
                wrt += [weights] if "attention_gradient" in want else []
                chosen = self._score(logits).gather(1, target[:, None]).sum()
                gradients = list(torch.autograd.grad(chosen, wrt))
                if "gradient" in want:
                    found["gradient"] = _reduced(gradients.pop(0).float(), leaf["in"].detach().float())
                if "attention_gradient" in want:
                    found["attention_gradient"] = _pooled(gradients[0], at).float()
        return found

    def training_pass(
        self, model: torch.nn.Module, batch: Batch, read_attention: bool
    ) -> tuple[Float[Tensor, "batch labels"], Float[Tensor, "batch tokens"] | None]:
        """(logits, pooled attention if asked for) with their graph; `model` is this one as `accelerate` wrapped it."""
        logits, weights, at = self._pass(model, batch, read_attention)
        return logits, _pooled(weights, at) if read_attention else None

    def _pass(self, model: torch.nn.Module, batch: Batch, inside: bool) -> tuple[Tensor, Any, Tensor | None]:
        """(logits, attention weights if `inside`, the position whose row is pooled or None where there is but one row)."""
        if self.own:
            extra = {name: getattr(batch, name) for name in ("attention", "alignment") if getattr(batch, name) is not None}
            output = model(**batch.inputs(), **extra)
            return output.logits, output.attentions[0] if inside else None, None
        if not inside and batch.attention is None and batch.alignment is None:
            return model(**batch.inputs()).logits, None, None
        tap = Tap(self.model.config.num_hidden_layers, pooled_row=batch.attention, pooled_at=self._pooled_positions(batch))
        tap.multiply = None if batch.alignment is None else batch.alignment[:, None]
        with tapped(self.model, tap):
            logits = model(**batch.inputs()).logits
        return logits, tap.last[0], tap.pooled_at

    def _score(self, logits: Tensor) -> Tensor:
        multi = self.model.config.problem_type == "multi_label_classification"
        return logits.sigmoid() if multi else logits.softmax(-1)

    def _pooled_positions(self, batch: Batch) -> Tensor:
        """Where the classifier reads the sentence: at [CLS] wherever it stands, else at the last token (decoders)."""
        if self.tokenizer.cls_token_id is None:
            return batch.attention_mask.sum(1) - 1
        return (batch.input_ids == self.tokenizer.cls_token_id).int().argmax(1)

    @contextmanager
    def _embeddings_changed(self, batch: Batch, backward: bool) -> Iterator[dict[str, Tensor]]:
        """Replace, scale or noise the word embeddings on their way into the model; keep them where gradients are wanted."""
        kept: dict[str, Tensor] = {}
        if not backward and batch.embeddings is None and batch.scale is None and batch.noise is None:
            yield kept
            return

        def change(_: Any, __: Any, output: Tensor) -> Tensor:
            kept["in"] = output = output.detach() if batch.embeddings is None else batch.embeddings.to(output.dtype)
            if batch.scale is not None:
                factor = torch.where(batch.content, batch.scale[:, None], torch.ones_like(batch.scale)[:, None])
                output = output * factor[..., None].to(output.dtype)
            if batch.noise is not None:
                output = output + (batch.noise * batch.content[..., None]).to(output.dtype)
            kept["out"] = output.clone().requires_grad_(backward)
            return kept["out"]

        hook = self.model.get_input_embeddings().register_forward_hook(change)
        try:
            yield kept
        finally:
            hook.remove()


def _pooled(weights: Tensor, at: Tensor | None) -> Float[Tensor, "batch tokens"]:
    """The pooled row, head-averaged where there are heads."""
    return weights if at is None else weights.mean(1)[torch.arange(len(weights), device=weights.device), at]


def _reduced(gradient: Tensor, embedding: Tensor) -> Tensor:
    return torch.stack(
        [(gradient * embedding).sum(-1), gradient.sum(-1), gradient.abs().sum(-1), gradient.norm(dim=-1)], dim=-1
    )


@contextmanager
def _evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode for the time of a pass; every module's own mode is put back."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
