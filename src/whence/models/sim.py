"""SIM, the Stepwise Integration Mechanism: label and explanation in one decoding, each step of one reading the other.

  in_t = g_t · v_{t−1} + (1 − g_t) · tok_{t−1}     g_t = σ(MLP([v_{t−1}; tok_{t−1}]))     v: the label state as a vector
  o_t  = decoder(in_1 … in_t, source)              p(token t) = softmax(head(o_t))
  l_t  = l_{t−1} + c_t · Δ_t                       c_t = σ(MLP([v_{t−1}; MLP(o_t)]))      Δ_t: sim_labels.py

(Liu et al. 2022, eq. 1–9, with the depths of the released code.) l_t are logits; the prediction is the last one, after the step
that writes the end. Any Hugging Face encoder–decoder can be the base. Its decoder adds positions itself, so here they come
after the fusion, in the released code before it.

Step t needs l_{t−1}, so training goes step by step as well, with a cache; the head runs once, over all steps (about 1.4 times
the time of the plain decoder where the vocabulary is large: benchmarks/sim_speed.py).

  label_to_text=False   the decoder reads tokens alone ("w/o inference in SIM")
  text_to_label=False   l_t = l_0 ("w/o interpretation in SIM"); with both off: a shared encoder with a label head and a decoder

In both cases nothing recurs through the decoder, and all steps run at once. `own_words` is the share of training batches in
which the decoder is fed the expected embedding of its own last token instead of the right token (scheduled feeding). In the
first `early_steps` training batches every step reads l_0 in place of l_{t−1}, so that all run at once (`sweep`); later batches,
and everything but training, follow the recurrence. `label_heads`: how l_0 reads the encoder's states (sim_labels.py).
`label_from_input=False` (ours): l_0 = 0, so that all of the label comes from the steps of the explanation; what would have
been l_0 is then a guess, which training may ask for so that the encoder learns (`first_label_weight`), and which nothing reads.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPastAndCrossAttentions

from whence.models.sim_labels import ChoiceLabels, FixedLabels, LabelSpace, States, choice_states, perceptron

GATE_BIAS = -2.0
"""Where the input gate starts: a share of 0.12 for the label, so that the decoder first reads what its base would read."""


class SimConfig(PreTrainedConfig):
    """`base` is the config of the encoder–decoder; `choices`: labels are the choices of a question, whose tokens the model must
    know (`parts`)."""

    model_type = "whence-sim"

    def __init__(
        self, base: dict[str, Any] | None = None, choices: bool = False, label_to_text: bool = True, text_to_label: bool = True,
        label_from_input: bool = True, label_heads: int = 0, own_words: float = 0.0, early_steps: int = 0, longest: int = 60,
        template: dict[str, str] | None = None, parts: Sequence[str] = (), **kwargs: Any,
    ) -> None:  # fmt: skip
        self.base, self.choices, self.label_to_text, self.text_to_label = base or {}, choices, label_to_text, text_to_label
        self.early_steps, self.own_words, self.longest, self.template = early_steps, own_words, longest, template
        self.label_from_input, self.label_heads, self.parts = label_from_input, label_heads, list(parts)
        super().__init__(**{"is_encoder_decoder": True, **kwargs})


@dataclass
class Decoding:
    """What a decoding knows between two steps."""

    source: Float[Tensor, "batch tokens size"]
    mask: Int[Tensor, "batch tokens"]
    choices: States | None
    states: list[Float[Tensor, "batch labels"]]
    """The label state: from the encoder, then after each step."""
    cached: bool
    guess: Float[Tensor, "batch labels"] | None = None
    """What the encoder says, where the label state does not begin there."""
    cache: Any = None


@dataclass
class SimOutput:
    logits: Float[Tensor, "batch steps vocabulary"]
    states: Float[Tensor, "batch steps+1 labels"] = field(repr=False)
    guess: Float[Tensor, "batch labels"] | None = None
    """As in `Decoding`."""


class Sim(PreTrainedModel):
    config_class = SimConfig
    base_model_prefix = "whence"
    _supports_sdpa = True

    def __init__(self, config: SimConfig, base: PreTrainedModel | None = None) -> None:
        super().__init__(config)
        self.base = base or AutoModelForSeq2SeqLM.from_config(_opened(config.base))
        size = int(self._stack.get_input_embeddings().weight.shape[1])
        self.labels: LabelSpace = (
            ChoiceLabels(size) if config.choices else FixedLabels(config.num_labels, size, config.label_heads)
        )
        self.gate = perceptron(2 * size, 1, size, GATE_BIAS) if config.label_to_text else None
        self.fused = perceptron(size, size, size) if config.text_to_label else None
        self.contribution = perceptron(2 * size, 1, size) if config.text_to_label else None
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))
        """Training batches so far, up to `early_steps`."""
        self.generation_config = GenerationConfig(
            decoder_start_token_id=config.decoder_start_token_id, eos_token_id=config.eos_token_id,
            pad_token_id=config.pad_token_id,
        )  # fmt: skip
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing is left to do: `perceptron` and the base start their own."""

    @property
    def _stack(self) -> PreTrainedModel:
        """The decoder without its head."""
        return self.base.get_decoder().base_model

    @property
    def recurrent(self) -> bool:
        """The label state of one step is in the decoder's input of the next."""
        return self.gate is not None and self.fused is not None

    def get_encoder(self, *_: Any, **__: Any) -> PreTrainedModel:
        return self.base.get_encoder()

    def get_input_embeddings(self) -> nn.Module:
        return self.base.get_encoder().get_input_embeddings()

    def get_output_embeddings(self) -> nn.Module:
        return self.base.get_output_embeddings()

    def words(self, ids: Int[Tensor, "batch steps"]) -> Float[Tensor, "batch steps size"]:
        """Tokens as the decoder reads them (scaled, where it scales them)."""
        return self._stack.get_input_embeddings()(ids)

    def table(self) -> Float[Tensor, "vocabulary size"]:
        """All of them: the expected embedding of a distribution p over tokens is p @ table."""
        return self.words(torch.arange(self._stack.get_input_embeddings().weight.shape[0], device=self.device))

    def begin(
        self, source: Tensor, mask: Tensor, places: Bool[Tensor, "batch choices tokens"] | None = None, cached: bool = True
    ) -> Decoding:
        """From the encoder's states. `places`: which tokens belong to which choice."""
        choices = choice_states(source, places)
        first = self.labels.start(source, mask.bool(), choices)
        if self.config.label_from_input:
            return Decoding(source, mask, choices, [first], cached)
        return Decoding(source, mask, choices, [torch.zeros_like(first)], cached, first)

    def advance(self, now: Decoding, words: Float[Tensor, "batch steps size"]) -> Float[Tensor, "batch steps size"]:
        """Reads the next tokens; more than one only where nothing recurs."""
        if self.gate is not None:
            words = self._fused(self.labels.vector(now.states[-1], now.choices)[:, None].expand_as(words), words)
        found = self._stack(
            inputs_embeds=words, encoder_hidden_states=now.source, encoder_attention_mask=now.mask, past_key_values=now.cache,
            use_cache=now.cached,
        )  # fmt: skip
        now.cache = found.past_key_values if now.cached else None
        for output in found.last_hidden_state.unbind(1):
            now.states.append(self._updated(now, output))
        return found.last_hidden_state

    def _fused(self, label: Tensor, words: Tensor) -> Tensor:
        if self.gate is None:
            return words
        share = self.gate(torch.cat([label, words], -1)).sigmoid()
        return share * label + (1 - share) * words

    def _updated(self, now: Decoding, output: Tensor) -> Tensor:
        before = now.states[-1]
        if self.fused is None or self.contribution is None:
            return before
        label = self.labels.vector(before, now.choices)
        share = self.contribution(torch.cat([label, self.fused(output)], -1)).sigmoid()
        return before + share * self.labels.change(output, now.choices)

    def head(self, outputs: Float[Tensor, "batch steps size"], now: Decoding) -> Float[Tensor, "batch steps vocabulary"]:
        """Token logits, by the base's own forward pass with its decoder's output given: right for every architecture."""
        with _answering(self._stack, outputs):
            return self.base(
                encoder_outputs=BaseModelOutput(last_hidden_state=now.source), attention_mask=now.mask,
                decoder_inputs_embeds=outputs, use_cache=False,
            ).logits  # fmt: skip

    def follow(self, now: Decoding, words: Float[Tensor, "batch steps size"]) -> SimOutput:
        """The tokens are known: label state and token logits of all steps."""
        parts = words.split(1 if self.recurrent else words.shape[1], 1)
        outputs = torch.cat([self.advance(now, part) for part in parts], 1)
        return SimOutput(self.head(outputs, now), torch.stack(now.states, 1), now.guess)

    def sweep(self, now: Decoding, words: Float[Tensor, "batch steps size"]) -> SimOutput:
        """All steps at once, each reading l_0 in place of l_{t−1}: the first sweep towards the recurrence's fixed point."""
        first, steps = now.states[0], words.shape[1]
        label = self.labels.vector(first, now.choices)[:, None].expand_as(words)
        outputs = self._stack(
            inputs_embeds=self._fused(label, words), encoder_hidden_states=now.source, encoder_attention_mask=now.mask,
            use_cache=False,
        ).last_hidden_state  # fmt: skip
        states = first[:, None].expand(-1, steps + 1, -1)
        if self.fused is not None and self.contribution is not None:
            share = self.contribution(torch.cat([label, self.fused(outputs)], -1)).sigmoid()
            several = None if now.choices is None else now.choices.repeat_interleave(steps, 0)
            added = share * self.labels.change(outputs.flatten(0, 1), several).unflatten(0, outputs.shape[:2])
            states = torch.cat([first[:, None], first[:, None] + added.cumsum(1)], 1)
        return SimOutput(self.head(outputs, now), states, now.guess)

    def wander(self, now: Decoding, start: Float[Tensor, "batch 1 size"], steps: int, hard: bool = False) -> SimOutput:
        """Fed the expected embedding of its own last token, or with `hard` that of the best one (straight-through)."""
        table, words, found = self.table(), start, []
        for _ in range(steps):
            found.append(self.head(self.advance(now, words), now))
            words = own_distribution(found[-1], hard) @ table
        return SimOutput(torch.cat(found, 1), torch.stack(now.states, 1), now.guess)

    def forward(
        self,
        input_ids: Int[Tensor, "batch tokens"] | None = None,
        attention_mask: Int[Tensor, "batch tokens"] | None = None,
        decoder_input_ids: Int[Tensor, "batch steps"] | None = None,
        places: Bool[Tensor, "batch choices tokens"] | None = None,
        encoder_outputs: Any = None,
    ) -> SimOutput:
        assert decoder_input_ids is not None
        assert attention_mask is not None
        source = encoder_outputs[0] if encoder_outputs is not None else self.read(input_ids, attention_mask)
        if self.training and int(self.seen) < self.config.early_steps:
            self.seen += 1
            return self.sweep(self.begin(source, attention_mask, places, False), self.words(decoder_input_ids))
        own = self.training and self.config.own_words > 0 and bool(torch.rand(()) < self.config.own_words)
        now, words = self.begin(source, attention_mask, places, own or self.recurrent), self.words(decoder_input_ids)
        return self.wander(now, words[:, :1], words.shape[1]) if own else self.follow(now, words)

    def read(self, input_ids: Tensor | None, attention_mask: Tensor) -> Tensor:
        return self.get_encoder()(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def own_distribution(logits: Tensor, hard: bool) -> Tensor:
    """softmax; with `hard` one-hot at the best token, with the gradient of the softmax."""
    soft = logits.softmax(-1)
    if not hard:
        return soft
    best = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
    return best + soft - soft.detach()


@contextmanager
def _answering(stack: nn.Module, outputs: Tensor) -> Iterator[None]:
    """For a while the decoder answers with `outputs`, whatever it is given."""
    given = BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=outputs)
    stack.forward = lambda *_, **__: given
    try:
        yield
    finally:
        del stack.forward


def _opened(base: dict[str, Any]) -> PreTrainedConfig:
    return AutoConfig.for_model(**base)


def sim_over(base: PreTrainedModel, labels: tuple[str, ...], start: int, end: int, pad: int, **options: Any) -> Sim:
    """A SIM whose encoder and decoder are those of `base`; `options` go into the config."""
    parts = [f"choice {i}" for i in range(len(labels))] if options.get("choices") else []
    config = SimConfig(
        base=base.config.to_dict(), parts=parts, num_labels=len(labels), id2label=dict(enumerate(labels)),
        label2id={name: i for i, name in enumerate(labels)}, decoder_start_token_id=start, eos_token_id=end, pad_token_id=pad,
        vocab_size=int(base.get_output_embeddings().weight.shape[0]), tie_word_embeddings=False,
        max_position_embeddings=getattr(base.config, "max_position_embeddings", None), **options,
    )  # fmt: skip
    return Sim(config, base)


AutoConfig.register(SimConfig.model_type, SimConfig, exist_ok=True)
AutoModelForSeq2SeqLM.register(SimConfig, Sim, exist_ok=True)
