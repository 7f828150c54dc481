"""Sequence-to-sequence models (T5, BART, our own) as label scorers and writers.

The encoder reads the source once; its output serves all candidates, or all steps of greedy writing with a cache. Interventions
on words act where the encoder reads them.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from whence.errors import BadInput
from whence.models.batch import Answers, Batch
from whence.models.generator import Generator
from whence.models.reading import Kept, evaluating


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

    def _writer(self, batch: Batch) -> Callable[[Tensor | None], Tensor]:
        source = BaseModelOutput(last_hidden_state=self._read(batch, frozenset(), Kept()))
        begin = torch.tensor([[self.start, *self.forced]], device=self.device).expand(len(batch.input_ids), -1)
        cache: Any = None

        def step(last: Tensor | None) -> Tensor:
            nonlocal cache
            output = self.model(
                encoder_outputs=source, attention_mask=batch.attention_mask, decoder_input_ids=begin if last is None else last,
                past_key_values=cache, use_cache=True,
            )  # fmt: skip
            cache = output.past_key_values
            return output.logits[:, -1]

        return step
