"""Stability from the halves of one sample, against what it stands for: the rank correlation of runs with different seeds.

two runs  mean Kendall's τ_b between the scores of every two seeds
halves    mean of the note `stability` of every seed's run (explain/tokens/halves.py), which costs no pass
"""

import argparse
import json
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import torch
from common import PLANTED, corpus_and_texts, settings, table
from sampling_error import subject

from whence.explain import METHODS, explain
from whence.explain.ranks import rank_agreement
from whence.models import Encoded
from whence.run import Runner


def line(runner: Runner, text: Encoded, method: str, n_samples: int, seeds: int) -> tuple[float, float] | None:
    """(two runs, halves); None where either is not defined."""
    given = {"n_samples": n_samples}
    made = [explain(runner, [text], METHODS[method], seed=seed, parameters=given)[0] for seed in range(seeds)]
    taus = [rank_agreement(np.array(a.scores), np.array(b.scores)) for a, b in combinations(made, 2)]
    notes = [one.notes.get("stability") for one in made]
    if None in taus or None in notes:
        return None
    return float(np.mean(taus)), float(np.mean(notes))  # type: ignore[arg-type]


def rows(found: Sequence[tuple[int, str, tuple[float, float]]]) -> list[list[str]]:
    by_text = [[method, str(words), f"{two:.3f}", f"{halves:.3f}"] for words, method, (two, halves) in found]
    means = []
    for method in dict.fromkeys(method for _, method, _ in found):
        pairs = np.array([pair for _, name, pair in found if name == method])
        means.append([f"{method}, mean", f"{len(pairs)} texts", *(f"{value:.3f}" for value in pairs.mean(axis=0))])
    return by_text + means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="default: a small transformer trained on the planted reviews (kept in the cache)")
    parser.add_argument("--data", default=PLANTED, help="a corpus or file of texts; default: planted reviews")
    parser.add_argument("--examples", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n-samples", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    corpus, examples = corpus_and_texts(args.data, args.examples, seed=3)
    classifier = subject(args.model, corpus)
    found = []
    for text in classifier.encode(examples):
        runner = Runner(classifier)
        for method in ("kernel_shap", "lime"):
            pair = line(runner, text, method, args.n_samples, args.seeds)
            if pair is not None:
                found.append((int(text.seen.sum()), method, pair))
    about = settings(classifier, args.model, "encoder trained on planted reviews", corpus.name)
    shown = f"{about}\n\n" + table(["method", "words", "two runs", "halves"], rows(found))
    print(json.dumps({"settings": about, "found": found}, indent=1) if args.json else shown)


if __name__ == "__main__":
    main()
