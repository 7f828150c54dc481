"""What all adapters of Hugging Face models share: how a pass is changed, differentiated and padded.

The user's text, tokenizer, device, training mode and weights stay as they were: the tokenizer is copied (calling one changes
its padding state), evaluation mode is put back after every pass, and gradients are taken with respect to inputs only.

Padding must not change a number. That is tried out once per model: where rows of other lengths change each other (a model that
ignores the mask, or has no padding id), a row shares a batch only with rows of its own length, or with none.
"""

import copy
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from whence.errors import BadInput
from whence.models.batch import Batch, collate
from whence.models.encoding import Encoded, hide_tokens
from whence.models.fingerprint import fingerprint, weights_key
from whence.models.intervention import UNCHANGED, Hide, Intervention
from whence.models.port import BACKWARD, Port
from whence.models.products import fast_products
from whence.models.reading import Kept, Pooled, Reading, evaluating, reduced
from whence.models.sites import Sites, changed, find_sites, try_sites
from whence.models.target import Label, Target

Company = Literal["any", "same length", "none"]
ON_WORDS = frozenset({"embeddings", "scale", "noise"})
SHORT, LONG = "a b", "a b c d a b c d e"
"""Texts on which a model is tried out."""


class TorchPort(Port):
    """A Hugging Face model with its tokenizer."""

    reads_twice = False
    """True where a decoder reads the source again."""

    def __init__(self, model: PreTrainedModel, tokenizer: Any) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise BadInput(f"{type(tokenizer).__name__} gives no character offsets; expected a fast tokenizer (tokenizer.json)")
        self.model = model
        self.tokenizer = copy.deepcopy(tokenizer)
        rows = int(model.get_input_embeddings().weight.shape[0])
        largest = max(self.tokenizer.get_vocab().values(), default=-1)
        if largest >= rows:
            raise BadInput(
                f"the tokenizer has ids up to {largest}, but {self.name} has {rows} embeddings; expected one for each id"
            )
        # a model that looks for its last token goes by its own config, whatever the tokenizer says
        named = (getattr(model.config, "pad_token_id", None), tokenizer.pad_token_id, 0)
        self.pad_id: int = next(i for i in named if i is not None and 0 <= i < rows)
        self._fingerprint: tuple[int, str] | None = None

    @property
    def name(self) -> str:
        return type(self.model).__name__

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def device_kind(self) -> str:
        return self.device.type

    @property
    def state(self) -> int:
        return weights_key(self.model)

    @property
    def fingerprint(self) -> str:
        state = self.state
        if self._fingerprint is None or self._fingerprint[0] != state:
            self._fingerprint = (state, fingerprint(self.model, self.tokenizer))
        return self._fingerprint[1]

    @property
    def hides(self) -> tuple[Hide, ...]:
        return ("mask", "delete", "pad") if self.tokenizer.mask_token_id is not None else ("delete", "pad")

    @cached_property
    def embedding_dim(self) -> int:
        return int(self.model.get_input_embeddings().weight.shape[1])

    @property
    def embedding_variance(self) -> float:
        """Of the numbers in the word table: the unit in which noise on embeddings means something."""
        return float(self.model.get_input_embeddings().weight.detach().float().var())

    @cached_property
    def sites(self) -> Sites | None:
        """Where words are read; None where that was not found."""
        [long] = self.encode([self._probe(LONG)])
        batch = self._collate([long], [UNCHANGED], [self._probe_target])
        try:
            return try_sites(find_sites(self.model, self.reads_twice), lambda: self._tried(batch), len(long))
        except (BadInput, AttributeError, KeyError):
            return None

    @property
    def honours(self) -> frozenset[str]:
        return frozenset({"keep"}) | (ON_WORDS | {"gradient"} if self.sites is not None else frozenset())

    @cached_property
    def company(self) -> Company:
        """With which rows a row may share a batch, tried out."""
        short, long = self.encode([self._probe(SHORT), self._probe(LONG)])

        def short_among(rows: list[Encoded]) -> Tensor:
            return self._scored(self._collate(rows, [UNCHANGED] * len(rows), [self._probe_target] * len(rows)))[0]

        alone = short_among([short])
        allowed = (1e-4 if self.model.dtype in (torch.float32, torch.float64) else 2e-2) * (1 + float(alone.abs().max()))
        kinds: tuple[tuple[Company, list[Encoded]], ...] = (("any", [short, long]), ("same length", [short, short]))
        for kind, rows in kinds:
            try:
                if float((short_among(rows) - alone).abs().max()) <= allowed:
                    return kind
            except (ValueError, AssertionError):  # without a padding id some models refuse more than one row
                continue
        return "none"

    def run(
        self,
        encoded: Sequence[Encoded],
        changes: Sequence[Intervention],
        want: frozenset[str],
        targets: Sequence[Target | None],
    ) -> dict[str, np.ndarray]:
        hidden = self.hidden(encoded, changes)
        parts = self._parts(hidden)
        found = [
            self._run([hidden[i] for i in rows], [changes[i] for i in rows], want, [targets[i] for i in rows]) for rows in parts
        ]
        return found[0] if len(parts) == 1 else {name: _joined([f[name] for f in found], parts) for name in found[0]}

    def hidden(self, encoded: Sequence[Encoded], changes: Sequence[Intervention]) -> list[Encoded]:
        """The examples without what the changes hide."""
        mask_id = self.tokenizer.mask_token_id  # which a tokenizer looks up anew each time
        return [
            e if c.keep is None else hide_tokens(e, c.keep, c.hide, mask_id, self.pad_id)
            for e, c in zip(encoded, changes, strict=True)
        ]

    def _parts(self, encoded: Sequence[Encoded]) -> list[list[int]]:
        """Rows that may share a batch."""
        if len(encoded) == 1:
            return [[0]]
        parts: dict[Hashable, list[int]] = {}
        for i, e in enumerate(encoded):
            parts.setdefault(({"any": 0, "same length": len(e), "none": i}[self.company], self._row_kind(e)), []).append(i)
        return list(parts.values())

    def _row_kind(self, encoded: Encoded) -> Hashable:
        """Rows of different kinds never share a batch."""
        return None

    def _run(
        self,
        encoded: Sequence[Encoded],
        changes: Sequence[Intervention],
        want: frozenset[str],
        targets: Sequence[Target | None],
    ) -> dict[str, np.ndarray]:
        batch, kept = self._collate(encoded, changes, targets), Kept()
        backward = bool(want & BACKWARD)
        with evaluating(self.model), torch.set_grad_enabled(backward), fast_products():
            with self._naming_wordless(encoded), self._shortened():
                scores, attention, more = self._forward(batch, want, kept)
            found = {"scores": scores.detach().float(), **more}
            if attention is not None:
                found["attention"] = attention.row().detach().float()
            if backward:
                inside = [attention.weights] if attention is not None and "attention_gradient" in want else []
                slopes = list(torch.autograd.grad(self._asked(scores, targets), [*kept.leaves, *inside]))
                if attention is not None and inside:
                    found["attention_gradient"] = attention.row(slopes.pop()).float()
                if "gradient" in want:
                    found["gradient"] = reduced(slopes, kept.unscaled, batch.input_ids.shape[1])
        return {name: tensor.cpu().numpy() for name, tensor in found.items()}

    def _shortened(self) -> AbstractContextManager[None]:
        """For the time of a pass: leave out what the model computes and nobody reads."""
        return nullcontext()

    @contextmanager
    def _naming_wordless(self, encoded: Sequence[Encoded]) -> Iterator[None]:
        """A model that fails on a text without words says which one."""
        try:
            yield
        except Exception as error:
            wordless = [e.example.id for e in encoded if not (e.field >= 0).any()]
            if not wordless or isinstance(error, BadInput):
                raise
            raise BadInput(
                f"{self.name} cannot read example '{wordless[0]}', which shows it no words ({error!s:.80})"
            ) from error

    def _asked(self, scores: Tensor, targets: Sequence[Target | None]) -> Tensor:
        """What is differentiated: the targets' scores, summed over rows."""
        if not isinstance(targets[0], Label):
            return scores.sum()
        index = torch.tensor([t.index for t in targets if isinstance(t, Label)], device=scores.device)
        return self._probable(scores).gather(1, index[:, None]).sum()

    def _probable(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def probabilities(self, scores: Float[np.ndarray, "*rows candidates"]) -> Float[np.ndarray, "*rows candidates"]:
        return self._probable(torch.from_numpy(np.asarray(scores, dtype=np.float32))).numpy()

    def _collate(self, encoded: Sequence[Encoded], changes: Sequence[Intervention], targets: Sequence[Target | None]) -> Batch:
        return collate(encoded, self.pad_id, self.device, changes, self.embedding_dim)

    @abstractmethod
    def _forward(
        self, batch: Batch, want: frozenset[str], kept: Kept
    ) -> tuple[Float[Tensor, "batch candidates"], Pooled | None, dict[str, Tensor]]:
        """(scores, attention if wanted, more results); the source is read inside `self._reading`."""

    @abstractmethod
    def _probe(self, text: str) -> Any:
        """An example of the kind that this model reads, made of `text`."""

    @property
    def _probe_target(self) -> Target | None:
        """What is asked of a model while it is tried out."""
        return None

    @torch.no_grad()
    def _tried(self, batch: Batch) -> Tensor:
        """What reading the source gives, for a look at whether a change of its words moves it."""
        return self._scored(batch)

    def _scored(self, batch: Batch) -> Float[Tensor, "batch candidates"]:
        with evaluating(self.model), torch.no_grad():
            return self._forward(batch, frozenset(), Kept())[0].float()

    @contextmanager
    def _reading(self, batch: Batch, want: frozenset[str], kept: Kept) -> Iterator[None]:
        """While the model reads its words: replace, scale or noise them; keep what gradients are taken of."""
        reading = Reading(batch, kept, "gradient" in want)
        with ExitStack() as stack:
            if reading.at_words or reading.at_first_layer:
                assert self.sites is not None, "the runner refuses this before (`Port.check`, `Port.check_want`)"
                if reading.at_words:
                    stack.enter_context(changed(self.sites.embeddings, reading.words, self.sites.time_first))
                if reading.at_first_layer:
                    stack.enter_context(changed(self.sites.embedded, reading.first_layer, self.sites.time_first))
            yield


def _joined(parts: Sequence[np.ndarray], rows: Sequence[Sequence[int]]) -> np.ndarray:
    """The parts of a batch as one array, padded with zeros to the longest."""
    shape = np.max([part.shape[1:] for part in parts], axis=0)
    out = np.zeros((sum(map(len, rows)), *shape), dtype=parts[0].dtype)
    for part, numbers in zip(parts, rows, strict=True):
        for i, row in zip(numbers, part, strict=True):
            out[i][tuple(slice(0, n) for n in row.shape)] = row
    return out
