"""e-InferSent: the label from two sentence vectors, then an explanation that knows it (Camburu et al. 2018).

  u, v = max over words of BiLSTM(premise), BiLSTM(hypothesis)      f = [u; v; |u − v|; u ∘ v]
  l = W₂ W₁ f                                                       label first: it is known before the first word
  h_0 = tanh(W_h f),  input_t = [word_{t−1}; W_f f; e(l)]           LSTM decoder, p(word t) = softmax(W_o h_t)

e(l) = Σ_c softmax(l)_c · e_c. The published model writes the label as its first word, and is trained on the right one; here
the decoder reads the label's distribution, so that label and explanation are made by one port like those of a stepwise model
(sim_port.py); its label does not change while it explains. Loss: `label_and_text` with label_weight=1.5 (published: 0.6, 0.4).
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from whence.models.layers import PackedLSTM
from whence.models.sim import Decoding, SimOutput

PARTS = ("premise", "hypothesis")


class InferSentConfig(PreTrainedConfig):
    model_type = "whence-infersent"

    def __init__(
        self, vocab_size: int = 1000, embedding_dim: int = 64, hidden_size: int = 128, decoder_size: int = 128,
        classifier_size: int = 128, dropout: float = 0.0, longest: int = 60, template: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        self.vocab_size, self.embedding_dim, self.hidden_size, self.dropout = vocab_size, embedding_dim, hidden_size, dropout
        self.decoder_size, self.classifier_size, self.longest, self.template = decoder_size, classifier_size, longest, template
        self.choices, self.parts = False, list(PARTS)
        kwargs.pop("choices", None)
        kwargs.pop("parts", None)
        super().__init__(**{"is_encoder_decoder": True, "tie_word_embeddings": False, **kwargs})


class WordTable(nn.Module):
    """What the port takes for the encoder: it looks words up."""

    def __init__(self, words: nn.Embedding) -> None:
        super().__init__()
        self.words = words

    def get_input_embeddings(self) -> nn.Embedding:
        return self.words

    def forward(self, input_ids: Tensor, **_: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=self.words(input_ids))


class InferSent(PreTrainedModel):
    config_class = InferSentConfig
    base_model_prefix = "whence"
    _supports_sdpa = True
    recurrent = True
    """The decoder goes on from a state."""

    def __init__(self, config: InferSentConfig) -> None:
        super().__init__(config)
        width, size = config.embedding_dim, config.decoder_size
        self.table_of_words = WordTable(nn.Embedding(config.vocab_size, width))
        self.sentence = PackedLSTM(width, config.hidden_size)
        features = 8 * config.hidden_size
        self.classify = nn.Sequential(
            nn.Linear(features, config.classifier_size), nn.Linear(config.classifier_size, config.num_labels)
        )
        self.label = nn.Embedding(config.num_labels, width)
        self.told, self.first = nn.Linear(features, width), nn.Linear(features, size)
        self.decoder = nn.LSTM(3 * width, size, batch_first=True)
        self.drop, self.output = nn.Dropout(config.dropout), nn.Linear(size, config.vocab_size)
        self.generation_config = GenerationConfig(
            decoder_start_token_id=config.decoder_start_token_id, eos_token_id=config.eos_token_id,
            pad_token_id=config.pad_token_id,
        )  # fmt: skip
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """torch's own starts."""

    def get_encoder(self, *_: Any, **__: Any) -> nn.Module:
        return self.table_of_words

    def get_input_embeddings(self) -> nn.Module:
        return self.table_of_words.words

    def get_output_embeddings(self) -> nn.Module:
        return self.output

    def words(self, ids: Int[Tensor, "batch steps"]) -> Float[Tensor, "batch steps width"]:
        return self.table_of_words.words(ids)

    def read(self, input_ids: Tensor, _: Tensor) -> Tensor:
        return self.words(input_ids)

    def begin(
        self, source: Tensor, mask: Tensor, places: Bool[Tensor, "batch parts tokens"] | None = None, cached: bool = True
    ) -> Decoding:
        """`places`: which tokens are the premise's, and which the hypothesis'. There is always a state, `cached` or not."""
        assert places is not None
        u, v = (self._pooled(source, where) for where in places.unbind(1))
        features = torch.cat([u, v, (u - v).abs(), u * v], -1)
        now = Decoding(source, mask, features, [self.classify(features)], True)
        now.cache = (torch.tanh(self.first(features))[None], source.new_zeros(1, len(source), self.config.decoder_size))
        return now

    def _pooled(self, source: Tensor, where: Bool[Tensor, "batch tokens"]) -> Tensor:
        """A sentence is read on its own: nothing of the other, nor of the prompt, is near it."""
        order = (~where).int().argsort(dim=1, stable=True)[:, : max(1, int(where.sum(1).max()))]
        alone = source.gather(1, order[..., None].expand(-1, -1, source.shape[2]))
        lengths = where.sum(1)
        states = self.sentence(alone, lengths)
        real = torch.arange(states.shape[1], device=source.device) < lengths[:, None]
        return states.masked_fill(~real[..., None], -1e4).max(1).values * (lengths > 0)[:, None]

    def advance(self, now: Decoding, words: Float[Tensor, "batch steps width"]) -> Float[Tensor, "batch steps size"]:
        known = [self.told(now.choices), now.states[-1].softmax(-1) @ self.label.weight]
        several = torch.cat([words, *(part[:, None].expand_as(words) for part in known)], -1)
        outputs, now.cache = self.decoder(several, now.cache)
        now.states += now.states[-1:] * words.shape[1]
        return outputs

    def head(self, outputs: Tensor, _: Decoding) -> Tensor:
        return self.output(self.drop(outputs))

    def follow(self, now: Decoding, words: Tensor) -> SimOutput:
        return SimOutput(self.head(self.advance(now, words), now), torch.stack(now.states, 1))

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        places: Tensor | None = None,
        encoder_outputs: Any = None,
    ) -> SimOutput:
        assert attention_mask is not None
        assert decoder_input_ids is not None
        source = encoder_outputs[0] if encoder_outputs is not None else self.words(input_ids)  # type: ignore[arg-type]
        return self.follow(self.begin(source, attention_mask, places), self.words(decoder_input_ids))


AutoConfig.register(InferSentConfig.model_type, InferSentConfig, exist_ok=True)
AutoModelForSeq2SeqLM.register(InferSentConfig, InferSent, exist_ok=True)
