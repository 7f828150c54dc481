"""A small T5 from scratch that learns to compare two sentences in minutes, where one with random weights takes far longer.

To tell which word of a hypothesis the premise lacks, a model needs heads that look for the same word elsewhere. Pretrained
models have them; from random weights they take long to appear. So three of the four heads of the first encoder layer start so:

  query = key = √(s/k)·P,  value = P,  output = −Pᵀ,  and no attention to the own place (relative bias −2s at distance 0)

P are k orthonormal rows for each head, and s = 8 is the score of a word with itself. A word that stands elsewhere too is taken
away from its own state; one that is new stays. Everything is trained from there on, and all else starts as T5 does.
"""

import torch
from transformers import T5Config, T5ForConditionalGeneration

HEADS, LOOKING = 4, 3
SAME = 8.0


def small_t5(vocabulary: int, pad: int, end: int, size: int, layers: int, dropout: float) -> T5ForConditionalGeneration:
    model = plain_t5(vocabulary, pad, end, size, layers, dropout)
    look_for_the_same_word(model)
    return model


def plain_t5(vocabulary: int, pad: int, end: int, size: int, layers: int, dropout: float) -> T5ForConditionalGeneration:
    """As T5 starts."""
    config = T5Config(
        vocab_size=vocabulary, d_model=size, d_kv=size // HEADS, d_ff=2 * size, num_layers=layers, num_decoder_layers=layers,
        num_heads=HEADS, dropout_rate=dropout, pad_token_id=pad, eos_token_id=end, decoder_start_token_id=pad,
    )  # fmt: skip
    return T5ForConditionalGeneration(config)


@torch.no_grad()
def look_for_the_same_word(model: T5ForConditionalGeneration) -> None:
    attention = model.encoder.block[0].layer[0].SelfAttention
    rows = LOOKING * model.config.d_kv
    basis = torch.linalg.qr(torch.randn(model.config.d_model, model.config.d_model))[0][:rows]
    attention.q.weight[:rows] = attention.k.weight[:rows] = basis * (SAME / model.config.d_kv) ** 0.5
    attention.v.weight[:rows] = basis
    attention.o.weight[:, :rows] = -basis.T
    attention.relative_attention_bias.weight[:, :LOOKING] = 0.0
    attention.relative_attention_bias.weight[0, :LOOKING] = -2 * SAME
