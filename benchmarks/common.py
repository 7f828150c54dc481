"""What the benchmarks share: the model and texts under test, and plain tables."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import captum
import torch
import transformers

from whence.api import usual_split
from whence.data import Corpus, Example, open_corpus
from whence.models import Classifier
from whence.models.word_tokenizer import build_word_tokenizer

transformers.utils.logging.disable_progress_bar()

PLANTED = "reviews"
"""The corpus of every default: generated from a seed, so that nothing is downloaded."""


def corpus_and_texts(data: str, limit: int | None, seed: int = 0) -> tuple[Corpus, list[Example]]:
    corpus = open_corpus(data)
    return corpus, corpus.load(usual_split(corpus), limit, seed)


def untrained_minilm(corpus: Corpus, seed: int = 0) -> Classifier:
    """MiniLM's size (6 layers of 384, 12 heads) with random weights, large enough that words matter: right for speed alone."""
    torch.manual_seed(seed)
    tokenizer = build_word_tokenizer(e.texts["text"] for e in corpus.load("train", 2000, seed))
    config = transformers.BertConfig(
        vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
        num_labels=len(corpus.labels), pad_token_id=tokenizer.pad_token_id, initializer_range=0.1,
    )  # fmt: skip
    return Classifier(transformers.BertForSequenceClassification(config).eval(), tokenizer)


def settings(classifier: Classifier, model: str | None, default: str, data: str) -> dict[str, Any]:
    """What a figure depends on, to be printed with it. A folder is named by its last part only."""
    config = classifier.model.config
    return {
        "model": default if model is None else Path(model).name,
        "parameters": sum(p.numel() for p in classifier.model.parameters()),
        "layers": getattr(config, "num_hidden_layers", None), "width": getattr(config, "hidden_size", None), "data": data,
        "threads": torch.get_num_threads(), "device": classifier.device.type, "python": platform.python_version(),
        "torch": torch.__version__, "transformers": transformers.__version__, "captum": captum.__version__,
    }  # fmt: skip


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown: the first column to the left, numbers to the right."""
    width = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(cells, width, strict=True))]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(width)) + "|"
    return "\n".join([line(head), rule, *(line(row) for row in rows)])
