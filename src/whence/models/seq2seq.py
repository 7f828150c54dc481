"""Sequence-to-sequence models (T5, BART, our own) as label scorers and writers.

The encoder reads the source once; its output serves all candidates, or all steps of greedy writing with a cache. Interventions
on words act where the encoder reads them. Attention is the last decoder layer's to the source, at the places from which the
tokens of the text that is asked about, or of the best candidate, are written; an intervention replaces it at every place.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from whence.errors import BadInput
from whence.models.attention import Tap, tapped
from whence.models.batch import Answers, Batch
from whence.models.generator import Generator
from whence.models.intervention import UNCHANGED, Intervention
from whence.models.products import fast_products
from whence.models.reading import Kept, Looked, Pooled, evaluating
from whence.models.sites import cross_attention
from whence.models.t5_slopes import noting, token_slopes
from whence.models.token_gradients import below_the_head, own_logits
from whence.models.torch_port import LONG


class Seq2Seq(Generator):
    usual_templates: ClassVar = {("text",): "text", ("premise", "hypothesis"): "pair", ("question",): "choice"}

    @property
    def start(self) -> int:
        """The token with which the decoder begins."""
        for config in (self.model.generation_config, self.model.config):
            for name in ("decoder_start_token_id", "bos_token_id"):
                found = getattr(config, name, None)
                if found is not None:
                    return int(found)
        raise BadInput(f"{self.name} does not say with which token its decoder begins (decoder_start_token_id)")

    @property
    def forced(self) -> tuple[int, ...]:
        """BART writes its start token a second time, whatever the source says."""
        found = getattr(self.model.generation_config, "forced_bos_token_id", None)
        return () if found is None else (int(found),)

    @property
    def honours(self) -> frozenset[str]:
        return super().honours | ({"attention"} if self._looks else frozenset())

    @cached_property
    def cross_attention(self) -> tuple[nn.Module, ...]:
        """Found on one short text, whose target has another length."""
        [long] = self.encode([self._probe(LONG)])
        batch = self._collate([long], [UNCHANGED], [self._probe_target])
        assert batch.answers is not None
        source, written = batch.input_ids.shape[1], self._fed(batch.answers.ids[:, 0]).shape[1]
        return cross_attention(self.model, lambda: self._scored(batch), source, written) if source != written else ()

    @cached_property
    def _looks(self) -> bool:
        """Whether cross-attention can be read and changed, tried out: what is imposed must be read back and move the scores."""
        if len(self.cross_attention) < 1:
            return False
        [long] = self.encode([self._probe(LONG)])
        imposed = np.eye(1, len(long), dtype=np.float32)[0]
        try:
            plain, moved = (
                self._run([long], [change], frozenset({"attention"}), [self._probe_target])
                for change in (UNCHANGED, Intervention(attention=imposed))
            )
        except (BadInput, AttributeError, KeyError, RuntimeError):
            return False
        read = moved.get("attention")
        return (
            read is not None and np.allclose(read, imposed, atol=1e-3) and not np.array_equal(plain["scores"], moved["scores"])
        )

    def training_pass(self, inputs: dict[str, Tensor], targets: Tensor) -> Tensor:
        """Token scores with their graph, float[batch, length, vocabulary]; `targets` are padded with −100."""
        known = targets.masked_fill(targets < 0, self.pad_id)
        return self.model(**inputs, decoder_input_ids=self._fed(known), use_cache=False).logits[:, len(self.forced) :]

    def _fed(self, targets: Tensor) -> Tensor:
        """What the decoder reads to give a score to every target token: start tokens, then the targets but the last."""
        begin = torch.tensor([self.start, *self.forced], device=targets.device).expand(len(targets), -1)
        return torch.cat([begin, targets[:, :-1]], 1)

    def _read(self, batch: Batch, want: frozenset[str], kept: Kept) -> Tensor:
        with self._reading(batch, want, kept):
            return self.model.get_encoder()(**batch.inputs()).last_hidden_state

    @torch.no_grad()
    def _tried(self, batch: Batch) -> Tensor:
        with evaluating(self.model):
            return self._read(batch, frozenset(), Kept())

    def _forward(self, batch: Batch, want: frozenset[str], kept: Kept) -> tuple[Tensor, Pooled | None, dict[str, Tensor]]:
        answers, inside = batch.answers, bool(want & {"attention", "attention_gradient"})
        assert answers is not None
        with self._looking(batch, answers.ids.shape[1], inside) as tap:
            scores, _, more = super()._forward(batch, want, kept)
        if tap is None or not inside:
            return scores, None, more
        best = nn.functional.one_hot(scores.detach().argmax(1), scores.shape[1])[..., None]
        counted = (answers.asked & (best == 1)).float()
        share = counted / counted.sum((1, 2), keepdim=True).clamp(min=1)
        return scores, Looked(tap.last[0], share=share), more

    @contextmanager
    def _looking(self, batch: Batch, several: int = 1, read: bool = False) -> Iterator[Tap | None]:
        """While the decoder writes: its attention to the source is what the batch says, and is kept if it is to be `read`."""
        if batch.attention is None and not read:
            yield None
            return
        row = None if batch.attention is None else batch.attention.repeat_interleave(several, 0)
        with tapped(self.model, Tap(len(self.cross_attention), pooled_row=row, only=self.cross_attention)) as tap:
            yield tap

    def _answered(self, batch: Batch, answers: Answers, want: frozenset[str], kept: Kept) -> Tensor:
        several, length = answers.ids.shape[1:]
        source = self._read(batch, want, kept).repeat_interleave(several, 0)
        mask = batch.attention_mask.repeat_interleave(several, 0)
        fed = self._fed(answers.ids.flatten(0, 1))
        output = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=source),
            attention_mask=mask,
            decoder_input_ids=fed,
            use_cache=False,
        )
        return output.logits[:, -length:]

    @cached_property
    def by_hand(self) -> bool:
        """Whether gradients of written tokens that are worked out by hand are the model's own, tried out."""
        if type(self.model) is not T5ForConditionalGeneration or self.model.dtype != torch.float32:
            return False
        [long] = self.encode([self._probe(LONG)])
        batch = self._collate([long], [UNCHANGED], [self._probe_target])
        assert batch.answers is not None
        with evaluating(self.model):
            expected, found = super()._token_slopes(batch, batch.answers)[2], self._slopes_by_hand(batch, batch.answers)
        return found is not None and torch.allclose(found[2], expected, rtol=1e-3, atol=1e-3 * float(expected.max()))

    def _token_slopes(self, batch: Batch, answers: Answers) -> tuple[Tensor, Tensor, Tensor]:
        found = self._slopes_by_hand(batch, answers) if not _hooked(self.model) and self.by_hand else None
        return found or super()._token_slopes(batch, answers)

    @torch.no_grad()
    def _slopes_by_hand(self, batch: Batch, answers: Answers) -> tuple[Tensor, Tensor, Tensor] | None:
        """None where a logit is not its state times the token's own row of the output table."""
        ids, asked, head = answers.ids[:, 0], answers.asked[:, 0], self.model.get_output_embeddings()
        with noting(self.model) as noted, below_the_head(self.model) as seen, fast_products():
            logits = self._answered(batch, answers, frozenset(), Kept())
        plain = logits.gather(2, ids[..., None])[..., 0]
        own = own_logits(self.model, seen, ids, plain)
        if own is plain:
            return None
        scale = self.model.config.d_model**-0.5 if self.model.config.scale_decoder_outputs else 1.0
        before = len(self.forced)  # places of the decoder from which no token of the text is written
        starts = nn.functional.pad(head.weight[ids] * scale, (0, 0, before, 0))
        places = [torch.nonzero(row)[:, 0] + before for row in asked]
        lengths = batch.attention_mask.sum(1).tolist()
        slopes = token_slopes(self.model, noted, starts, lengths, places, batch.input_ids.shape[1])
        return own.float() - logits.float().logsumexp(-1), logits.argmax(-1), slopes

    def _writer(self, batch: Batch) -> Callable[[Tensor | None], Tensor]:
        source = BaseModelOutput(last_hidden_state=self._read(batch, frozenset(), Kept()))
        begin = torch.tensor([[self.start, *self.forced]], device=self.device).expand(len(batch.input_ids), -1)
        cache: Any = None

        def step(last: Tensor | None) -> Tensor:
            nonlocal cache
            with self._looking(batch):
                output = self.model(
                    encoder_outputs=source, attention_mask=batch.attention_mask,
                    decoder_input_ids=begin if last is None else last, past_key_values=cache, use_cache=True,
                )  # fmt: skip
            cache = output.past_key_values
            return output.logits[:, -1]

        return step


def _hooked(model: nn.Module) -> bool:
    """Whether somebody changes what its layers compute."""
    return any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
