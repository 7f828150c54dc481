"""A new model: one of our architectures from scratch, or a pretrained Hugging Face model with a fresh head."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedModel,
)

from whence.errors import BadInput, unknown
from whence.models import ARCHITECTURES, WordModel
from whence.models.vectors import read_vectors, vector_words
from whence.models.word_tokenizer import build_word_tokenizer

ENCODER = "encoder"
"""A small transformer (BERT, 2 layers of 128) over our word-level tokenizer, for planted corpora and tests."""
NAMES = (*ARCHITECTURES, ENCODER)


def build_model(
    name: str, labels: tuple[str, ...], texts: Iterable[str], vectors: Path | None = None, options: dict[str, Any] | None = None
) -> tuple[PreTrainedModel, Any]:
    """(model, tokenizer). `texts` make the vocabulary of a model from scratch; `options` go into its config.

    Three options are of the vocabulary: `min_count`; `more_words`: so many of the first words of `vectors` belong to it besides
    those of `texts`, so that a word that training never shows still has its vector; `unit_vectors`: vectors start at length 1.
    """
    names = {"num_labels": len(labels), "id2label": dict(enumerate(labels)), "label2id": {n: i for i, n in enumerate(labels)}}
    if name not in NAMES:
        if vectors is not None:
            raise BadInput(f"--vectors goes with an architecture of ours ({', '.join(ARCHITECTURES)}); '{name}' has its own")
        return _pretrained(name, names, options or {})
    options = {"min_count": 1, "more_words": 0, "unit_vectors": False, **(options or {})}
    more = vector_words(vectors, options["more_words"]) if vectors is not None else []
    if options.pop("more_words") and not more:
        raise BadInput("more_words are taken from a file of vectors; expected one (--vectors)")
    tokenizer = build_word_tokenizer(texts, min_count=options.pop("min_count"), more=more)
    unit_vectors = options.pop("unit_vectors")
    if name == ENCODER:
        size = options.pop("hidden_size", 128)
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=size, num_hidden_layers=options.pop("layers", 2), num_attention_heads=4,
            intermediate_size=2 * size, max_position_embeddings=512, pad_token_id=tokenizer.pad_token_id, **names, **options,
        )  # fmt: skip
        return BertForSequenceClassification(config), tokenizer
    found = read_vectors(vectors, tokenizer.get_vocab()) if vectors is not None else {}
    if unit_vectors:
        found = {word: vector / max(float(np.linalg.norm(vector)), 1e-12) for word, vector in found.items()}
    if found:
        options["embedding_dim"] = len(next(iter(found.values())))
    architecture = ARCHITECTURES[name]
    model = architecture(architecture.config_class(vocab_size=len(tokenizer), **names, **options))
    if found:
        model.start_from(found, tokenizer.get_vocab())
    return model, tokenizer


def _pretrained(name: str, names: dict[str, Any], options: dict[str, Any]) -> tuple[PreTrainedModel, Any]:
    try:
        # ignore_mismatched_sizes: a classifier for other labels lends its encoder and gets a new head
        model = AutoModelForSequenceClassification.from_pretrained(
            name, trust_remote_code=False, ignore_mismatched_sizes=True, **names, **options
        )
        if isinstance(model, WordModel):  # loading makes every weight trainable
            model.embeddings.weight.requires_grad_(model.config.train_embeddings)
        return model, AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except Exception as error:  # transformers, safetensors and the hub raise dozens of kinds
        if Path(name).is_dir():
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise BadInput(f"{name}: not a model folder ({first})") from error
        if not isinstance(error, OSError | ValueError):
            raise
        known = unknown("architecture", name, NAMES)
        raise BadInput(f"{known}, or the folder or hub id of a Hugging Face model") from error
