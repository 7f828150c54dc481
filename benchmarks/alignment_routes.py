"""Which explanation of alignments explains? Masks that keep and masks that cut, ordinary and sealed, where the reason is known.

Planted scenes: a contradiction turns on one known pair of phrases. For every model: how often the label stays when all cells
are closed, ordinary and sealed (special tokens closed too); and, on rightly predicted contradictions, how often each rationale
holds a cell of every planted pair, which share of its cells is planted, and how many cells it has.

  keeping  AREC: the smallest mask that keeps the prediction
  cutting  fewest_cuts: the fewest cells whose removal changes it
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from common import table

from whence.data import open_corpus
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments, pair_asks
from whence.explain.alignments.method import drive_asks
from whence.explain.alignments.rectangles import components
from whence.measure.alignments.needed import without_rounds
from whence.models import Classifier
from whence.models.alignment import known_cells
from whence.run import Runner
from whence.studies.planted_model import planted_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, action="append", help="trained on scenes before; default: an ESIM, trained now")
    parser.add_argument("--pairs", type=int, default=300, help="on which all cells are closed")
    parser.add_argument("--explained", type=int, default=60, help="rightly predicted contradictions that are explained")
    args = parser.parse_args()
    torch.set_num_threads(1)
    corpus = open_corpus("scenes")
    examples = corpus.load("test", args.pairs, 0)
    for folder in args.model or [planted_model(corpus, "esim", epochs=3)[1]]:
        classifier = Classifier.load(folder)
        classifier.fit_labels(corpus.labels)
        runner, encoded = Runner(classifier), classifier.encode(examples)
        predicted = [classifier.labels[r.label] for r in runner.predict(encoded)]
        right = np.mean([p == e.label for p, e in zip(predicted, examples, strict=True)])
        print(f"## {folder.name}, {type(classifier.model).__name__}: {right:.1%} right")
        rows = []
        for sealed in (False, True):
            asks = pair_asks(runner, encoded, sealed=sealed)
            kept = drive_asks(runner, asks, [without_rounds(ask) for ask in asks])
            stays = [(p, w.label_kept) for p, w in zip(predicted, kept, strict=True) if w is not None]
            by_label = [f"{np.mean([k for p, k in stays if p == label] or [np.nan]):.0%}" for label in corpus.labels]
            rows.append(["sealed" if sealed else "ordinary", f"{np.mean([k for _, k in stays]):.0%}", *by_label])
        print(table(["all cells closed: label stays", "all", *corpus.labels], rows), flush=True)
        chosen = [
            e
            for e, p in zip(encoded, predicted, strict=True)
            if p == e.example.label == "contradiction" and known_cells(e).any()
        ][: args.explained]
        rows = []
        for name in ("arec", "fewest_cuts"):
            for sealed in (False, True):
                made = explain_alignments(runner, chosen, ALIGNMENT_METHODS[name], sealed=sealed)
                found, precise, count, special, needed = [], [], [], [], []
                for e, alignment in zip(chosen, made, strict=True):
                    mask, gold = np.array(alignment.kept), known_cells(e)
                    words = mask[1:, 1:] if sealed else mask
                    found.append(all(words[part].any() for part in components(gold)))
                    precise.append((words & gold).sum() / max(1, words.sum()))
                    count.append(mask.sum())
                    special.append(mask.sum() - words.sum())
                    needed.append(bool(alignment.needed))
                row = [name, "sealed" if sealed else "ordinary", len(made), f"{np.mean(needed):.0%}", f"{np.mean(found):.0%}"]
                only = np.mean(np.array(found)[needed]) if any(needed) else np.nan
                rows.append(
                    [
                        *map(str, row),
                        f"{only:.0%}",
                        f"{np.mean(precise):.0%}",
                        f"{np.mean(count):.1f}",
                        f"{np.mean(special):.1f}",
                    ]
                )
        head = [
            "method",
            "mask",
            "pairs",
            "alignments needed",
            "planted pair found",
            "… where needed",
            "cells planted",
            "cells",
            "of them special",
        ]
        print(table(head, rows), flush=True)


if __name__ == "__main__":
    main()
