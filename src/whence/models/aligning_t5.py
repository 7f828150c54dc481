"""A copying T5 whose encoder also aligns the sentences of a text, so that it can learn who does what to whom.

  h  = BiLSTM(s)                                  s: the states of T5's encoder
  h̃_i = Σ_j softmax_j(κ cos(x_i, x_j)) h_j        over the words j of the other sentences, x: the word table's rows
  s' = s + U BiLSTM(relu(W [h; h̃; h − h̃; h ∘ h̃]))

What follows T5's encoder is ESIM's comparison (Chen et al. 2017; esim.py), written back into every word's state. Two sentences
with the same words say the same if each word finds its partner in the same role. ESIM looks for partners by h_i · h_j, which
must first learn to find the same word; here it is found from the first step on (κ starts at 8), and what remains to be learned
is the comparison. A small T5 from scratch does not learn it; how far this one does is in docs/mpii.md. All else starts as in
copying_t5.py. A sentence ends with one of `stops`.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, T5Config, T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5Stack

from whence.models.copying_t5 import SENTENCE_ENDS, copying_t5
from whence.models.layers import PackedLSTM, masked_softmax, start_layer

PEAK = 8.0
"""Where κ starts: the same word weighs e⁸ times as much as an unlike one."""


class AligningT5Config(T5Config):
    model_type = "whence-aligning-t5"
    stops: list[int] | None = None
    """Tokens that end a sentence."""


class Aligner(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.reader, self.composer = PackedLSTM(size, size), PackedLSTM(size, size)
        self.compare, self.write = nn.Linear(8 * size, size), nn.Linear(2 * size, size)
        self.peak = nn.Parameter(torch.tensor(PEAK))

    def forward(
        self, words: Float[Tensor, "batch tokens size"], states: Float[Tensor, "batch tokens size"],
        sentence: Int[Tensor, "batch tokens"], mask: Int[Tensor, "batch tokens"],
    ) -> Float[Tensor, "batch tokens size"]:  # fmt: skip
        lengths, real = mask.sum(1), mask.bool()
        read, directions = self.reader(states, lengths), nn.functional.normalize(words, dim=-1)
        elsewhere = (sentence[:, :, None] != sentence[:, None, :]) & real[:, None, :]
        partner = masked_softmax(self.peak * directions @ directions.transpose(1, 2), elsewhere) @ read
        compared = self.compare(torch.cat([read, partner, read - partner, read * partner], -1)).relu()
        return self.write(self.composer(compared, lengths))


class AligningStack(T5Stack):
    """T5's encoder, then the comparison."""

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.embeddings = nn.Identity()  # the site `embedded` (sites.py): what is changed here, T5 and the aligner both read
        self.aligner = Aligner(config.d_model)
        self.register_buffer("stops", torch.tensor(config.stops or [], dtype=torch.long))

    def forward(self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, **more: Any) -> Any:
        assert input_ids is not None, "sentences are told by their tokens, not by vectors"
        words = self.embeddings(self.get_input_embeddings()(input_ids))
        found = super().forward(inputs_embeds=words, attention_mask=attention_mask, **more)
        ends = torch.isin(input_ids, self.stops).long()
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        states = found.last_hidden_state
        found.last_hidden_state = states + self.aligner(words, states, ends.cumsum(1) - ends, mask)
        return found


class AligningT5(T5ForConditionalGeneration):
    config_class = AligningT5Config

    def __init__(self, config: AligningT5Config) -> None:
        super().__init__(config)
        self.encoder = AligningStack(self.get_encoder().config)
        self.post_init()


def aligning_t5(tokenizer: Any, size: int, layers: int, dropout: float) -> AligningT5:
    vocabulary = tokenizer.get_vocab()
    stops = [vocabulary[stop] for stop in SENTENCE_ENDS if stop in vocabulary]
    plain = copying_t5(tokenizer, size, layers, dropout)
    sizes = {name: value for name, value in plain.config.to_dict().items() if name != "model_type"}
    model = AligningT5(AligningT5Config(**sizes, stops=stops))
    model.load_state_dict(plain.state_dict(), strict=False)
    model.encoder.aligner.apply(start_layer)
    return model


AutoConfig.register(AligningT5Config.model_type, AligningT5Config, exist_ok=True)
AutoModelForSeq2SeqLM.register(AligningT5Config, AligningT5, exist_ok=True)
