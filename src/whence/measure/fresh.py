"""FRESH: is a rationale enough to predict from? (Jain et al. 2020; tables 3 and 7 of Chrysostomou & Aletras 2021)

1. A support model reads full texts; any token explainer scores their words, for the label that the model predicts (gold labels
   play no part).
2. Of the n words that it read, k = ⌈ratio · n⌉ are kept, in the order of the text: `topk`, the highest scores (ties: the
   earlier word), or `contiguous`, the window with the largest sum (the first such).
3. A fresh classifier is trained and tested on the kept words alone. Of a pair the first text is cut, the second stays whole.

A rationale is a new text of its words with single spaces between; nothing else of the example goes along, so the classifier is
faithful to it by construction. Its macro-F1 is the measure: higher is better, full text is the ceiling, random words the floor.

Cost: the explainer on every text (cached by model, method and texts), then a training on short texts.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Float

from whence.data import Corpus, Example, word_spans
from whence.errors import unknown
from whence.explain import Method, explain
from whence.explain.rationale import best_window, check_share, top_k
from whence.models import Classifier
from whence.run import Runner, Tick, cache_folder, digest, read_json, whole, write_atomically
from whence.teach import Job, cached_job
from whence.teach.loop import Say

How = Literal["topk", "contiguous"]
HOW: tuple[How, ...] = get_args(How)
Scores = Sequence[Float[np.ndarray, " words"]]
"""For each example the words of its first text; -inf where the support model did not read a word."""


def rationale_words(scores: Float[np.ndarray, " words"], ratio: float, how: How) -> Bool[np.ndarray, " words"]:
    if how not in HOW:
        raise unknown("way to extract a rationale", how, HOW)
    read = scores > -np.inf
    k = math.ceil(Fraction(str(check_share(ratio))) * int(read.sum()))  # exact: 0.2 of 15 words are 3, whatever floats say
    return (top_k if how == "topk" else best_window)(scores, k, read)


def rationale_example(example: Example, scores: Float[np.ndarray, " words"], ratio: float, how: How) -> Example:
    """The example with nothing but its rationale, its second text if it has one, and its label."""
    first, *others = example.texts
    text, spans = example.texts[first], word_spans(example.texts[first])
    if len(spans) != len(scores):
        raise ValueError(f"'{example.id}': {len(scores)} scores; expected one for each of {len(spans)} words of '{first}'")
    chosen = rationale_words(scores, ratio, how)
    words = " ".join(text[a:b] for (a, b), keep in zip(spans, chosen, strict=True) if keep)
    return Example(example.id, {first: words, **{name: example.texts[name] for name in others}}, example.label)


def rationale_corpus(name: str, corpus: Corpus, scores: Mapping[str, Scores], ratio: float, how: How) -> Corpus:
    """A corpus of rationales, with the splits that `scores` has."""

    def split(of: str) -> Callable[[], Iterator[Example]]:
        return lambda: (rationale_example(e, s, ratio, how) for e, s in zip(corpus.load(of), scores[of], strict=True))

    about = f"{how} rationales of {ratio:.0%} of the words of {corpus.name}"
    return Corpus(name, corpus.task, corpus.labels, {of: split(of) for of in scores}, about)


def support_scores(
    support: Classifier, examples: Sequence[Example], method: Method, seed: int = 0,
    parameters: Mapping[str, Any] | None = None, tick: Tick | None = None,
) -> Scores:  # fmt: skip
    """What the support model says of each word; computed once for a model, method and set of texts."""
    key = {"model": support.fingerprint, "method": method.name, "seed": seed, "texts": digest(examples),
           "parameters": {**method.parameters, **(parameters or {})}}  # fmt: skip
    file = cache_folder("scores", key) / "scores.parquet"
    if not file.exists():
        encoded = support.encode(examples)
        explained = explain(Runner(support, remembered=0), encoded, method, seed=seed, parameters=parameters, tick=tick)
        rows = []
        for e, x in zip(encoded, explained, strict=True):
            scores = np.where(e.seen, np.array(x.scores), -np.inf)
            rows.append(scores[: len(e.spans[0])])
        table = pa.table({"scores": pa.array(rows, type=pa.list_(pa.float64()))})
        write_atomically(file, lambda path: pq.write_table(table, path))
    with whole(file, "remove it and run the same command again"):
        return [np.array(row, dtype=float) for row in pq.read_table(file)["scores"].to_pylist()]


def fresh(
    job: Job, corpus: Corpus, support: Classifier, method: Method, ratio: float, how: How, seed: int = 0,
    parameters: Mapping[str, Any] | None = None, say: Say = print,
) -> dict[str, Any]:  # fmt: skip
    """Train `job` on rationales of `corpus` instead of its texts; results as `run_job` gives them, and its `folder`."""
    splits = [split for split in ("train", "dev", "test") if split in corpus.splits]
    scores = {split: support_scores(support, corpus.load(split), method, seed, parameters) for split in splits}
    rationales = rationale_corpus(f"{corpus.name}/{method.name}-{how}-{ratio:g}", corpus, scores, ratio, how)
    folder = cached_job(job.model_copy(update={"data": rationales.name}), rationales, say)
    return {**read_json(folder / "results.json"), "folder": str(folder)}
