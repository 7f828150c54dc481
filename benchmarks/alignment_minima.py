"""Are AREC's masks as good as any that other methods, or another noise, would find? And what does the search cost?

An ESIM is trained on planted scenes (kept in the cache); pairs of its test set are explained.

The rule, written down before the first run. A mask *beats* another if it keeps the label and its objective L0 + 0.15 (L1 + L2)
is lower by more than 1 % (and by more than 0.001, which is rounding). It holds if at most 1 % of the pairs are beaten

- by any top-k mask, k = 0 … all, of any other method (co-attention, leave-one-out, LIME, gradient, integrated gradients,
  DiffMask, random; BackSelect with --back-select, on the first few pairs, for it takes (cells)² / 2 passes);
- by AREC itself with another stream of noise (`--streams`). The seed of a run no longer reaches the noise, so comparing seeds
  would compare equal masks;

and if AREC takes less than twice the CPU time of another version of the source (`--against SRC`, the code that is replaced).

Numbers are printed after every `--chunk` pairs, so that a run can be stopped. The objective of every mask is computed here,
from the model's logits, not taken from the methods.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from common import table

from whence.data import open_corpus
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments, pair_asks, trained_gate
from whence.explain.alignments.neighbours import sizes, top_masks
from whence.models import Classifier, Encoded
from whence.models.alignment import MaskedPairs
from whence.studies.planted_model import planted_model

SCORERS = ("co_attention", "leave_one_out", "gradient", "integrated_gradients", "lime", "diffmask", "random")
MARGIN, ROUNDING = 0.01, 1e-3

WORKER = """
import json, sys, time, torch
torch.set_num_threads(1)
from pathlib import Path
from whence.data.registry import open_corpus
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments
from whence.models import Classifier
folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
classifier = Classifier.load(folder)
encoded = classifier.encode(open_corpus("scenes").load("test", count, seed))
explain_alignments(classifier, encoded[:2], ALIGNMENT_METHODS["arec"])
began = time.process_time()
found = explain_alignments(classifier, encoded, ALIGNMENT_METHODS["arec"])
print(json.dumps({"seconds": time.process_time() - began, "objectives": [a.notes["objective"] for a in found]}))
"""


def timed(folder: Path, count: int, seed: int, source: Path | None) -> tuple[float, np.ndarray]:
    """CPU seconds for a pair, and the objectives, in a process of its own; `source` is another version's src folder."""
    path = {} if source is None else {"PYTHONPATH": str(source)}
    command = [sys.executable, "-c", WORKER, str(folder), str(count), str(seed)]
    done = subprocess.run(command, env={**os.environ, **path}, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    return answer["seconds"] / count, np.array(answer["objectives"])


class Judge:
    """Objectives of masks of one pair, straight from the model."""

    def __init__(self, classifier: Classifier, encoded: Encoded) -> None:
        self.pairs, [self.ask] = MaskedPairs.of(classifier, [encoded]), pair_asks(classifier, [encoded])

    def __call__(self, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            given = torch.from_numpy(masks.astype(np.float32)).to(self.pairs.cells.device)
            logits = torch.cat([self.pairs.logits(part[None])[0] for part in given.split(256)]).double().cpu().numpy()
        values = np.linalg.norm(logits - self.ask.logits, axis=1) + 0.15 * sizes(masks)
        return np.where(logits.argmax(1) == self.ask.target, values, np.inf)


def beaten(mine: np.ndarray, other: np.ndarray) -> np.ndarray:
    return other < mine - np.maximum(MARGIN * mine, ROUNDING)


def compare(
    classifier: Classifier, encoded: Sequence[Encoded], gate: str, streams: int, scorers: Sequence[str]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(AREC's objectives, the best that each rival has)"""
    arec = ALIGNMENT_METHODS["arec"]
    judges = [Judge(classifier, e) for e in encoded]
    found = [explain_alignments(classifier, encoded, arec, parameters={"stream": s}) for s in range(streams + 1)]
    own, *others = ([float(j(np.array(a.kept)[None])[0]) for j, a in zip(judges, several, strict=True)] for several in found)
    rivals = {f"AREC, stream {s}": np.array(values) for s, values in enumerate(others, 1)}
    for name in scorers:
        parameters = {"gate": gate} if name == "diffmask" else {}
        scored = explain_alignments(classifier, encoded, ALIGNMENT_METHODS[name], parameters=parameters)
        rivals[f"top-k of {name}"] = np.array(
            [j(top_masks(a.matrix, np.arange(a.matrix.size + 1))).min() for j, a in zip(judges, scored, strict=True)]
        )
    return np.array(own), rivals


def shown(own: np.ndarray, rivals: dict[str, np.ndarray]) -> str:
    rows = [
        [name, f"{len(own)}", f"{beaten(own, best).mean():.1%}", f"{beaten(best, own).mean():.1%}", f"{np.median(best):.3f}"]
        for name, best in rivals.items()
    ]
    for title, kind in (("any top-k mask", "top-k"), ("any other stream", "AREC")):
        several = [best for name, best in rivals.items() if name.startswith(kind)]
        if several:
            best = np.min(several, axis=0)
            row = [
                title,
                f"{len(own)}",
                f"{beaten(own, best).mean():.1%}",
                f"{beaten(best, own).mean():.1%}",
                f"{np.median(best):.3f}",
            ]
            rows.append(row)
    head = ["rival", "pairs", "beats AREC on", "is beaten on", f"median objective (AREC: {np.median(own):.3f})"]
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--model", type=Path, help="an ESIM that was trained on scenes before")
    parser.add_argument("--chunk", type=int, default=25)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gate-pairs", type=int, default=1000)
    parser.add_argument("--back-select", type=int, default=0, help="pairs on which BackSelect is a rival too")
    parser.add_argument("--against", type=Path, help="the src folder of another version: its time and objectives")
    parser.add_argument("--timed-pairs", type=int, default=64)
    args = parser.parse_args()
    torch.set_num_threads(1)
    corpus = open_corpus("scenes")
    if args.model:
        classifier, folder = Classifier.load(args.model), args.model
    else:
        classifier, folder = planted_model(corpus, "esim", epochs=args.epochs)
    encoded = classifier.encode(corpus.load("test", args.pairs, args.seed))
    if args.against:
        old_seconds, old = timed(folder, args.timed_pairs, args.seed, args.against)
        seconds, new = timed(folder, args.timed_pairs, args.seed, None)
        print(
            f"CPU seconds a pair: {seconds:.3f}, before {old_seconds:.3f}: {seconds / old_seconds:.2f} times; mean objective "
            f"{new.mean():.3f}, before {old.mean():.3f}; before beats now on {beaten(new, old).mean():.1%}, now before on "
            f"{beaten(old, new).mean():.1%} of {args.timed_pairs} pairs", flush=True,
        )  # fmt: skip
    gate = str(trained_gate(classifier, classifier.encode(corpus.load("train", args.gate_pairs, args.seed))))
    own: list[np.ndarray] = []
    rivals: dict[str, list[np.ndarray]] = {}
    began = time.perf_counter()
    for start in range(0, len(encoded), args.chunk):
        scorers = SCORERS + (("back_select",) if start < args.back_select else ())
        mine, others = compare(classifier, encoded[start : start + args.chunk], gate, args.streams, scorers)
        own.append(mine)
        for name, values in others.items():
            rivals.setdefault(name, []).append(values)
        everywhere = {name: np.concatenate(parts) for name, parts in rivals.items() if len(parts) == len(own)}
        print(f"after {time.perf_counter() - began:.0f} s\n{shown(np.concatenate(own), everywhere)}", flush=True)


if __name__ == "__main__":
    main()
