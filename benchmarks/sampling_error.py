"""How many samples do Kernel SHAP and LIME need? Their error against sample count, with what each count costs.

Two sets of texts. Short ones (10 to 12 words): Kernel SHAP against exact Shapley values, from all 2ⁿ coalitions through the
same function. Long ones (more than 12 words), and LIME on both: against the same method with very many samples and another
seed. Such a reference has an error of its own; the last line of each block is a second one, so that it can be seen.

  error   Σ |score − reference| / Σ |reference|, over all words of all texts and seeds
  size    Σ |score| / Σ |reference|: below 1 the scores are too small, as a penalty makes them
  τ       Kendall's τ_b of the words' ranking with the reference's, mean over texts and seeds
  top     share of texts whose highest word is the reference's
  passes  distinct forward passes for each text
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from common import PLANTED, corpus_and_texts, settings, table
from scipy.stats import kendalltau

from whence.data import Corpus, Example
from whence.data.words import word_spans
from whence.explain import METHODS, explain
from whence.models import Classifier, Encoded
from whence.run import Runner
from whence.studies.planted_model import planted_model

COUNTS = (64, 128, 256, 512, 1024, 2048)
SHORT = (10, 12)
REFERENCE_SEED, SECOND_SEED = 1_000_001, 1_000_002


def short_and_long(classifier: Classifier, examples: Sequence[Example], n: int) -> tuple[list[Encoded], list[Encoded]]:
    """The first n of each kind; where a corpus has too few short texts, long ones cut after their 12th word."""
    encoded = classifier.encode(examples)
    longer = [e for e in encoded if e.seen.sum() > SHORT[1]]
    short = [e for e in encoded if SHORT[0] <= e.seen.sum() <= SHORT[1]][:n]
    if len(short) < n and longer and longer[0].fields == ("text",):
        short += classifier.encode([_cut(e.example) for e in longer[: n - len(short)]])
    return short, longer[:n]


def _cut(example: Example) -> Example:
    text = example.texts["text"]
    return Example(f"{example.id}-cut", {"text": text[: word_spans(text)[SHORT[1] - 1][1]]}, example.label)


def scores_of(runner: Runner, text: Encoded, method: str, n_samples: int, seed: int) -> tuple[np.ndarray, int]:
    """(float[words], passes)."""
    with runner.ledger() as needed:
        [made] = explain(runner, [text], METHODS[method], hide="mask", seed=seed, parameters={"n_samples": n_samples})
        return np.array(made.scores), needed()[0]


def line(found: Sequence[np.ndarray], truth: Sequence[np.ndarray], passes: Sequence[int]) -> dict[str, float]:
    error, size, true = (sum(float(np.abs(v).sum()) for v in several) for several in (
        [f - t for f, t in zip(found, truth, strict=True)], found, truth))  # fmt: skip
    pairs = list(zip(found, truth, strict=True))
    return {
        "error": error / true, "size": size / true, "tau": float(np.mean([kendalltau(f, t).statistic for f, t in pairs])),
        "top": float(np.mean([f.argmax() == t.argmax() for f, t in pairs])), "passes": float(np.mean(passes)),
    }  # fmt: skip


def block(classifier: Classifier, texts: Sequence[Encoded], method: str, seeds: int, reference: int) -> list[dict[str, Any]]:
    """One line for each sample count, then the second reference; text by text, so that memory stays small."""
    exact = method == "kernel_shap" and max(int(t.seen.sum()) for t in texts) <= SHORT[1]
    asked = [(n, seed) for n in COUNTS for seed in range(seeds)] + ([] if exact else [(reference, SECOND_SEED)])
    found: dict[int, list[tuple[np.ndarray, np.ndarray, int]]] = {n: [] for n, _ in asked}
    for text in texts:
        runner = Runner(classifier)
        truth, _ = scores_of(runner, text, method, 2 ** SHORT[1] if exact else reference, REFERENCE_SEED)
        for n, seed in asked:
            scores, passes = scores_of(runner, text, method, n, seed)
            found[n].append((scores, truth, passes))
    return [{"n_samples": n, **line(*zip(*rows, strict=True))} for n, rows in found.items()]


def subject(model: str | None, corpus: Corpus) -> Classifier:
    if model:
        return Classifier.load(model)
    return planted_model(corpus, "encoder", epochs=3, say=lambda _: None)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="default: a small transformer trained on the planted reviews (kept in the cache)")
    parser.add_argument("--data", default=PLANTED, help="a corpus or file of texts; default: planted reviews")
    parser.add_argument("--examples", type=int, default=8, help="of each length")
    parser.add_argument("--seeds", type=int, default=2, help="repetitions of each sample count")
    parser.add_argument("--reference", type=int, default=8192, help="samples of the reference where it is not exact")
    parser.add_argument("--threads", type=int, help="of torch; default: torch's own choice")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    corpus, examples = corpus_and_texts(args.data, None)
    classifier = subject(args.model, corpus)
    short, longer = short_and_long(classifier, examples, args.examples)
    blocks = {
        f"{method}, {kind}": block(classifier, texts, method, args.seeds, args.reference)
        for kind, texts in (("short", short), ("long", longer)) if texts for method in ("kernel_shap", "lime")
    }  # fmt: skip
    about = settings(classifier, args.model, "encoder trained on planted reviews", corpus.name) | {
        "seeds": args.seeds, "reference": args.reference,
        "short": len(short), "short_words": float(np.mean([t.seen.sum() for t in short])),
        "long": len(longer), "long_words": float(np.mean([t.seen.sum() for t in longer])),
    }  # fmt: skip
    print(json.dumps({"settings": about, **blocks}, indent=1) if args.json else shown(about, blocks))


def shown(about: dict[str, Any], blocks: dict[str, list[dict[str, Any]]]) -> str:
    head = ["method, texts", "n_samples", "error", "size", "τ", "top", "passes"]
    formats = {"n_samples": "d", "error": ".3f", "size": ".2f", "tau": ".3f", "top": ".2f", "passes": ".0f"}
    rows = [[name, *(format(r[key], form) for key, form in formats.items())] for name, lines in blocks.items() for r in lines]
    return ", ".join(f"{name} {value}" for name, value in about.items()) + "\n\n" + table(head, rows)


if __name__ == "__main__":
    main()
