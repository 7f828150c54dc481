"""Sources and targets of models that write, as token ids.

encoder–decoder   the encoder reads the source as the tokenizer closes it; the target is what the decoder is to say after its
                  start token: BART's `<s>` first, then the text, then the end of text
causal            one text: the source without an end, then the target and the end of text
"""

from typing import Any

from transformers import PreTrainedModel


def end_id(tokenizer: Any) -> int:
    """The token that ends a text."""
    return tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id


def source_ids(model: PreTrainedModel, tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """Sources as the model reads them."""
    read = tokenizer(texts)["input_ids"]
    if model.config.is_encoder_decoder:
        return read
    end = end_id(tokenizer)
    return [ids[:-1] if ids and ids[-1] == end else ids for ids in read]


def opening_ids(model: PreTrainedModel, tokenizer: Any) -> list[int]:
    """What every target begins with, besides the decoder's start token."""
    if not model.config.is_encoder_decoder:
        return []
    around = [i for i in tokenizer("")["input_ids"] if i != end_id(tokenizer)]
    return [i for i in around if i != model.config.decoder_start_token_id]


def source_limit(model: PreTrainedModel, tokenizer: Any) -> int | None:
    """The most tokens that the model reads at once; None for no limit (T5's positions are relative)."""
    config = getattr(model.config, "encoder", model.config)
    named = ("max_position_embeddings", "n_positions") if config.model_type != "t5" else ()
    limits = [tokenizer.model_max_length, *(getattr(config, name, None) for name in named)]
    shortest = min(limit for limit in limits if limit is not None)
    return int(shortest) if shortest < 10**6 else None
