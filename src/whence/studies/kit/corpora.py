"""Corpora as studies use them: by name, in parts, with the titles that tables show."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from whence.data import Corpus, open_corpus, word_spans

TITLES = {
    "ag_news": "AG News", "ag_news_wb": "AG News", "breaking_nli": "Breaking NLI", "choices": "planted choices",
    "cose_v1.0": "CoS-E v1.0", "cose_v1.11": "CoS-E v1.11", "esnli": "SNLI",
    "evidence_inference": "Evidence Inference", "hans": "HANS", "imdb": "IMDb", "mimic_anemia": "Anemia",
    "mimic_diabetes": "Diabetes", "mnli": "MultiNLI", "multirc": "MultiRC", "newsgroups": "20 Newsgroups",
    "reviews": "planted reviews", "scenes": "planted scenes", "semeval": "SemEval", "sick": "SICK", "sst": "SST",
}  # fmt: skip
SUBSET_SEED = 0
"""Every model learns from the same examples and is tried on the same ones, whatever its own seed."""
Item = TypeVar("Item")


@lru_cache(maxsize=8)
def opened(
    name: str, root: str | None, train: int | None = None, dev: int | None = None, test: int | None = None,
    longest: int | None = None, whole: bool = False,
) -> Corpus:  # fmt: skip
    """A part of a corpus, read once and kept while the process lives, or the `whole` of it, split by split as it is asked for.

    `train`, `dev`, `test`: how many examples (None: all); `longest`: texts of more words are left out.
    """
    corpus = open_corpus(name, Path(root) if root else None)
    return corpus if whole else corpus.part({"train": train, "dev": dev, "test": test}, SUBSET_SEED, longest)


def held_out_dev(corpus: Corpus, count: int) -> Corpus:
    """The published dev set becomes the test set, where that has no labels; `count` training rows that nothing learns from are
    dev."""
    rows = corpus.load("train")
    held = set(random.Random(SUBSET_SEED).sample(range(len(rows)), count))
    splits = {
        "train": [row for i, row in enumerate(rows) if i not in held],
        "dev": [row for i, row in enumerate(rows) if i in held],
        "test": corpus.load("dev"),
    }
    return replace(corpus, splits={split: partial(iter, examples) for split, examples in splits.items()})


def corpus_size(corpus: Corpus, split: str) -> dict[str, Any]:
    """How many examples of each label, and their mean number of words, all texts together."""
    examples = corpus.load(split)
    words = [sum(len(word_spans(text)) for text in example.texts.values()) for example in examples]
    return {"length": float(np.mean(words)), "counts": [sum(e.label == label for e in examples) for label in corpus.labels]}


def sizes(subject: Any, splits: Sequence[str]) -> list[dict[str, Any]]:
    """A piece of work: what the corpus of a model is, a row for each split."""
    return [{"split": split, **corpus_size(subject.open(), split)} for split in splits]


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """So many of them, evenly spread, so that files sorted by label do no harm."""
    if count >= len(items):
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, count).round().astype(int)]
