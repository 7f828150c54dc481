"""An encoder–decoder that starts from an encoder (Rothe et al. 2020): what to train where no pretrained T5 or BART is at hand.

The encoder is BERT as it was. Each of the few decoder layers starts from an encoder layer (the first, the last, and evenly
between), its cross-attention from that layer's self-attention. Word embeddings of encoder, decoder and output are one matrix.
The head's dense layer starts as the identity. Trimming keeps of the vocabulary what the corpus uses, and all single characters,
so that every word of the corpus is split as before and no other word becomes unknown; on e-SNLI it makes a training step of
MiniLM a third faster.
"""

import json
from collections.abc import Iterable
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    BertConfig,
    BertLMHeadModel,
    BertModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    PreTrainedTokenizerFast,
)

_WORDS = "encoder.embeddings.word_embeddings.weight"


class WarmStartConfig(EncoderDecoderConfig):
    model_type = "whence-warm-start"


class WarmStart(EncoderDecoderModel):
    config_class = WarmStartConfig
    _tied_weights_keys = {  # noqa: RUF012, an attribute of PreTrainedModel
        "decoder.bert.embeddings.word_embeddings.weight": _WORDS,
        "decoder.cls.predictions.decoder.weight": _WORDS,
        "decoder.cls.predictions.decoder.bias": "decoder.cls.predictions.bias",
    }

    def __init__(self, config: WarmStartConfig) -> None:
        super().__init__(config, BertModel(config.encoder, add_pooling_layer=False), BertLMHeadModel(config.decoder))


AutoConfig.register(WarmStartConfig.model_type, WarmStartConfig, exist_ok=True)
AutoModelForSeq2SeqLM.register(WarmStartConfig, WarmStart, exist_ok=True)


def warm_start(encoder: BertModel, tokenizer: Any, decoder_layers: int = 2) -> WarmStart:
    """A model whose weights are copies of the encoder's, but for the output's bias."""
    same = {name: value for name, value in encoder.config.to_dict().items() if not name.startswith("_")}
    decodes = {"num_hidden_layers": decoder_layers, "is_decoder": True, "add_cross_attention": True}
    decoder_config = BertConfig(**{**same, **decodes})
    config = WarmStartConfig.from_encoder_decoder_configs(
        BertConfig(**same), decoder_config, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.cls_token_id, tie_word_embeddings=True,
    )  # fmt: skip
    model = WarmStart(config)
    decoder = model.decoder
    model.encoder.load_state_dict(encoder.state_dict())
    decoder.bert.embeddings.load_state_dict(encoder.embeddings.state_dict())
    starts = torch.linspace(0, len(encoder.encoder.layer) - 1, decoder_layers).round().int().tolist()
    for ours, number in zip(decoder.bert.encoder.layer, starts, strict=True):
        theirs = encoder.encoder.layer[number]
        ours.load_state_dict(theirs.state_dict(), strict=False)  # the layer's cross-attention is not in there
        ours.crossattention.load_state_dict(theirs.attention.state_dict())
    nn.init.eye_(decoder.cls.predictions.transform.dense.weight)
    nn.init.zeros_(decoder.cls.predictions.transform.dense.bias)
    model.tie_weights()
    model.generation_config.update(
        decoder_start_token_id=tokenizer.cls_token_id, eos_token_id=tokenizer.sep_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model


def trimmed(encoder: BertModel, tokenizer: PreTrainedTokenizerFast, texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """The tokenizer with the word pieces that `texts` use; the rows of the encoder's embeddings go with them."""
    used: set[int] = set(tokenizer.all_special_ids)
    for text in texts:
        used.update(tokenizer(text)["input_ids"])
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    kept = [(piece, old) for piece, old in pieces if old in used or len(piece.removeprefix("##")) == 1]
    new = {piece: i for i, (piece, _) in enumerate(kept)}
    facts = json.loads(tokenizer.backend_tokenizer.to_str())
    facts["model"]["vocab"] = new
    added = [token for token in facts["added_tokens"] if token["content"] in new]
    facts["added_tokens"] = [{**token, "id": new[token["content"]]} for token in added]
    _renumber(facts["post_processor"], new)
    rows = torch.tensor([old for _, old in kept])
    embeddings = encoder.embeddings.word_embeddings
    encoder.set_input_embeddings(nn.Embedding.from_pretrained(embeddings.weight[rows].clone(), freeze=False, padding_idx=0))
    encoder.config.vocab_size = len(rows)
    names = {name: getattr(tokenizer, name) for name in ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(facts)), model_input_names=tokenizer.model_input_names,
        model_max_length=tokenizer.model_max_length, **names,
    )  # fmt: skip


def _renumber(processor: dict[str, Any], new: dict[str, int]) -> None:
    """The ids of [CLS] and [SEP] in either of the two ways in which a post-processor writes them."""
    for name in ("cls", "sep"):
        if name in processor:
            processor[name] = [processor[name][0], new[processor[name][0]]]
    for token, facts in processor.get("special_tokens", {}).items():
        facts["ids"] = [new[token]]


def readable(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """Decodes to text as people write it: "explanation: it's (not)" where BERT's own says "explanation : it ' s ( not )"."""
    tokenizer.backend_tokenizer.decoder = decoders.Sequence([
        decoders.WordPiece(prefix="##", cleanup=True),
        decoders.Fuse(),
        decoders.Replace(Regex(r" (?=[:;)\]}%])|(?<=[(\[{$#]) "), ""),
        decoders.Replace(Regex(r" ' (?=(?:s|t|m|d|re|ve|ll)\b)"), "'"),
        decoders.Replace(Regex(r"(?<=\w) - (?=\w)"), "-"),
    ])  # fmt: skip
    return tokenizer
