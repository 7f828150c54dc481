"""How many points on the path do integrated gradients need? Error against points, for equal steps and for steps that adapt.

The reference is the adaptive rule from 100 points on, its estimated error at most 0.05 %. `gauss` is Gauss–Legendre in t,
captum's default; equal steps are equal in √t.

  error         Σ |score − reference| / Σ |reference| over the words of all texts
  completeness  what is missing in the sum of the scores, by Σ |score|: the error that tools report
"""

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from common import PLANTED, corpus_and_texts, settings, table
from sampling_error import subject

from whence.explain import METHODS, explain
from whence.models import Classifier, Encoded, Intervention, Label
from whence.run import Request, Runner

EQUAL, GAUSS = (10, 20, 50, 100, 200), (20, 50, 100)
FINE = {"n_steps": 100, "tolerance": 0.0005, "max_steps": 800}
Scored = tuple[np.ndarray, int, float]
"""Scores of the words, points, completeness error."""


def ours(runner: Runner, text: Encoded, parameters: dict[str, Any]) -> Scored:
    [made] = explain(runner, [text], METHODS["integrated_gradients"], parameters=parameters)
    return np.array(made.scores), int(made.notes["steps"]), made.notes["completeness_error"]


def gauss(runner: Runner, text: Encoded, points: int) -> Scored:
    places, weights = np.polynomial.legendre.leggauss(points)
    target = Label(runner.predict([text])[0].label)
    path = [Request(text, Intervention(scale=float(t)), frozenset({"gradient"}), target) for t in (places + 1) / 2]
    ends = [Request(text), Request(text, Intervention(scale=0.0))]
    *slopes, full, empty = runner.run([*path, *ends])
    products = weights / 2 @ np.stack([r.extras["gradient"][:, 0] for r in slopes]).astype(np.float64)
    change = full.score(target) - empty.score(target)
    scores = text.share(text.sum_to_words(products))
    return scores, points, abs(float(products[text.field >= 0].sum()) - change)


def line(found: Sequence[Scored], truth: Sequence[Scored]) -> dict[str, float]:
    size = sum(np.abs(t).sum() for t, _, _ in truth)
    return {
        "points": float(np.mean([n for _, n, _ in found])),
        "error": float(sum(np.abs(f - t).sum() for (f, _, _), (t, _, _) in zip(found, truth, strict=True)) / size),
        "completeness": float(sum(e for _, _, e in found) / sum(np.abs(f).sum() for f, _, _ in found)),
    }


def measure(classifier: Classifier, texts: Sequence[Encoded]) -> dict[str, dict[str, float]]:
    runner = Runner(classifier)

    def adaptive(**given: Any) -> Callable[[Encoded], Scored]:
        return lambda text: ours(runner, text, given)

    rules: dict[str, Callable[[Encoded], Scored]] = {f"{n} equal steps": adaptive(n_steps=n, max_steps=n) for n in EQUAL}
    rules |= {f"gauss {n}": lambda text, n=n: gauss(runner, text, n) for n in GAUSS}
    rules |= {
        "adaptive, at most 20 points": adaptive(max_steps=20),
        "adaptive, tolerance 0.1": adaptive(tolerance=0.1),
        "adaptive, tolerance 0.05 (default)": adaptive(),
        "adaptive, tolerance 0.02": adaptive(tolerance=0.02),
        "adaptive, tolerance 0.01": adaptive(tolerance=0.01, max_steps=400),
    }
    truth = [ours(runner, text, FINE) for text in texts]
    return {"reference": line(truth, truth)} | {name: line([rule(t) for t in texts], truth) for name, rule in rules.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="default: a small transformer trained on the planted reviews (kept in the cache)")
    parser.add_argument("--data", default=PLANTED, help="a corpus or file of texts; default: planted reviews")
    parser.add_argument("--examples", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    corpus, examples = corpus_and_texts(args.data, args.examples)
    classifier = subject(args.model, corpus)
    found = measure(classifier, classifier.encode(examples))
    about = settings(classifier, args.model, "encoder trained on planted reviews", corpus.name)
    rows = [[name, f"{r['points']:.0f}", f"{r['error']:.3f}", f"{r['completeness']:.3f}"] for name, r in found.items()]
    shown = f"{about}\n\n" + table(["rule", "points", "error", "completeness"], rows)
    print(json.dumps({"settings": about, **found}, indent=1) if args.json else shown)


if __name__ == "__main__":
    main()
