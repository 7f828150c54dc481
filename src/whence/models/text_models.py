"""A new model that reads a text and writes one: small from scratch, warm-started from an encoder, or a pretrained one.

small_t5     T5 (encoder and decoder of 2 layers of 64) over a word-level tokenizer, for planted corpora and tests
copying_t5   the same, ready to compare two sentences and to name the words that differ (copying_t5.py)
aligning_t5  the same, and its encoder aligns the sentences of a text (aligning_t5.py)
small_gpt2   GPT-2 (3 layers of 128) over the same, for planted corpora and tests
warm         encoder–decoder that starts from a BERT encoder: --option encoder=FOLDER (warm_start.py)
NAME         folder or hub id of any Hugging Face sequence-to-sequence or causal model: t5-base, facebook/bart-base, …
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
)

from whence.errors import BadInput, unknown
from whence.models.aligning_t5 import aligning_t5
from whence.models.copying_t5 import copying_t5
from whence.models.small_t5 import small_t5
from whence.models.text_tokenizer import build_text_tokenizer
from whence.models.warm_start import readable, trimmed, warm_start

Built = tuple[PreTrainedModel, Any]


def build_text_model(name: str, texts: Iterable[str], options: dict[str, Any] | None = None) -> Built:
    """(model, tokenizer). `texts`, sources and targets, make or trim the vocabulary; `options` go into a new model's config."""
    given = options or {}
    if name not in BUILDERS:
        return _pretrained(name, given)
    for option in given:
        if option not in OPTIONS[name]:
            raise unknown(f"option of {name}", option, list(OPTIONS[name]))
    return BUILDERS[name](texts, given)


def _small_t5(texts: Iterable[str], options: dict[str, Any]) -> Built:
    tokenizer = build_text_tokenizer(texts, min_count=options.get("min_count", 1))
    size, layers, dropout = options.get("hidden_size", 64), options.get("layers", 2), options.get("dropout", 0.0)
    return small_t5(len(tokenizer), tokenizer.pad_token_id, tokenizer.eos_token_id, size, layers, dropout), tokenizer


def _copying_t5(texts: Iterable[str], options: dict[str, Any]) -> Built:
    tokenizer = build_text_tokenizer(texts, min_count=options.get("min_count", 1))
    size, layers, dropout = options.get("hidden_size", 128), options.get("layers", 2), options.get("dropout", 0.0)
    return copying_t5(tokenizer, size, layers, dropout), tokenizer


def _aligning_t5(texts: Iterable[str], options: dict[str, Any]) -> Built:
    tokenizer = build_text_tokenizer(texts, min_count=options.get("min_count", 1))
    size, layers, dropout = options.get("hidden_size", 128), options.get("layers", 2), options.get("dropout", 0.0)
    return aligning_t5(tokenizer, size, layers, dropout), tokenizer


def _small_gpt2(texts: Iterable[str], options: dict[str, Any]) -> Built:
    tokenizer = build_text_tokenizer(texts, ends=False, min_count=options.get("min_count", 1))
    dropout = options.get("dropout", 0.0)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=options.get("hidden_size", 128), n_layer=options.get("layers", 3), n_head=4,
        n_positions=512, resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return GPT2LMHeadModel(config), tokenizer


def _warm(texts: Iterable[str], options: dict[str, Any]) -> Built:
    name = options.get("encoder")
    if name is None:
        raise BadInput("warm starts from an encoder; expected --option encoder=FOLDER (a BERT model)")
    config = _opened(AutoConfig.from_pretrained, name)
    if config.model_type != "bert":
        raise BadInput(f"{name} is a {config.model_type} model; expected a BERT encoder to start from")
    encoder = _opened(BertModel.from_pretrained, name, add_pooling_layer=False)
    tokenizer = _opened(AutoTokenizer.from_pretrained, name)
    if options.get("trim", True):
        tokenizer = trimmed(encoder, tokenizer, texts)
    return warm_start(encoder, tokenizer, options.get("decoder_layers", 2)), readable(tokenizer)


def _pretrained(name: str, options: dict[str, Any]) -> Built:
    config = _opened(AutoConfig.from_pretrained, name)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model = _opened(kind.from_pretrained, name, **options)
    tokenizer = _opened(AutoTokenizer.from_pretrained, name)
    if tokenizer.eos_token_id is None and tokenizer.sep_token_id is None:
        raise BadInput(f"the tokenizer of {name} has no end-of-text token; expected one, so that the model can learn to stop")
    return model, tokenizer


def _opened(load: Callable[..., Any], name: str, **options: Any) -> Any:
    try:
        return load(name, trust_remote_code=False, **options)
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        if Path(name).is_dir():
            raise BadInput(f"{name}: not a model folder ({first})") from error
        known = f"one of {', '.join(BUILDERS)}, a folder, or a hub id where a hub is reachable"
        raise BadInput(f"cannot load '{name}' ({first}); expected {known}") from error


_SMALL: dict[str, Any] = {"hidden_size": int, "layers": int, "dropout": float, "min_count": int}
OPTIONS: dict[str, dict[str, Any]] = {
    "small_t5": _SMALL,
    "copying_t5": _SMALL,
    "aligning_t5": _SMALL,
    "small_gpt2": _SMALL,
    "warm": {"encoder": str, "decoder_layers": int, "trim": bool},
}
BUILDERS: dict[str, Callable[[Iterable[str], dict[str, Any]], Built]] = {
    "small_t5": _small_t5,
    "copying_t5": _copying_t5,
    "aligning_t5": _aligning_t5,
    "small_gpt2": _small_gpt2,
    "warm": _warm,
}
