"""How fast are AREC and BackSelect on many pairs? Whence against the plain procedure, at the objective that each reaches.

The plain procedure (plain_alignment.py) takes one pair at a time: 300 steps at rate 0.1 with 16 masks, the whole model for
each. Both are given the same pairs and take turns, 8 pairs at a time. Compared are pairs per second and, since speed at a worse
mask is no speed, L0 + 0.15 (L1 + L2) of the mask and, of log α, in expectation. BackSelect is compared with one removal at a
time; the order of removal must be the same. `--grid` shows what fewer or more steps and samples reach. CPU seconds are given
besides wall time: on a busy machine they are the better ratio. Not timed: loading, tokenising, one warm-up pair.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from common import corpus_and_texts, settings, table
from plain_alignment import PlainAlignment

from whence.explain.alignment import Alignment
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments, pair_asks
from whence.measure.alignments.aorc import aorc_rounds
from whence.models import Classifier, Encoded
from whence.run.masks import drive_masks

TURN = 8
GRID = "10x4,20x4,20x8,30x4,30x8,60x8,100x8,100x16"
Answer = TypeVar("Answer")


class Clock:
    """Wall and CPU seconds by contender."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], Answer]) -> Answer:
        wall, cpu = time.perf_counter(), time.process_time()
        answer = work()
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
        self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu
        return answer


def arec(classifier: Classifier, encoded: Sequence[Encoded], **parameters: Any) -> list[Alignment]:
    return explain_alignments(classifier, encoded, ALIGNMENT_METHODS["arec"], parameters=parameters)


def race(classifier: Classifier, encoded: Sequence[Encoded]) -> dict[str, Any]:
    """AREC: both on all pairs."""
    clock = Clock()
    reached: dict[str, list[tuple[float, float, float]]] = {"whence": [], "plain": []}
    for start in range(0, len(encoded), TURN):
        turn = encoded[start : start + TURN]
        ours = clock.time("whence", lambda turn=turn: arec(classifier, turn))
        plain = [PlainAlignment(classifier, e) for e in turn]
        theirs = clock.time("plain", lambda plain=plain: [p.arec() for p in plain])
        for judge, mine, other in zip(plain, ours, theirs, strict=True):
            both = (("whence", mine.kept, mine.matrix), ("plain", other.mask, other.log_alpha))
            for name, mask, log_alpha in both:
                expected = judge.expected(torch.tensor(np.asarray(log_alpha), dtype=torch.float32))
                reached[name].append((judge.objective(torch.tensor(mask)), expected, 100 * float(np.mean(mask))))
    rows = {}
    for name, values in reached.items():
        at = np.array(values)
        rows[name] = {
            "pairs_per_second": len(encoded) / clock.wall[name], "cpu_seconds_per_pair": clock.cpu[name] / len(encoded),
            "objective": at[:, 0].mean(), "median_objective": float(np.median(at[:, 0])), "expected_objective": at[:, 1].mean(),
            "compactness": at[:, 2].mean(),
        }  # fmt: skip
    difference = np.array(reached["whence"])[:, 0] - np.array(reached["plain"])[:, 0]
    return {
        "rows": rows, "times_faster": clock.wall["plain"] / clock.wall["whence"],
        "times_less_cpu": clock.cpu["plain"] / clock.cpu["whence"], "as_good_or_better": float((difference <= 1e-4).mean()),
    }  # fmt: skip


def back_select(classifier: Classifier, encoded: Sequence[Encoded], count: int) -> dict[str, Any]:
    """On the pairs with the fewest cells: one removal at a time takes long."""
    few = sorted(encoded, key=lambda e: len(e.spans[0]) * len(e.spans[1]))[:count]
    clock = Clock()
    ours = clock.time("whence", lambda: explain_alignments(classifier, few, ALIGNMENT_METHODS["back_select"]))
    orders = clock.time("plain", lambda: [PlainAlignment(classifier, e).back_select() for e in few])
    same = [
        np.mean([tuple(c) == o for c, o in zip(_removed(a), order, strict=True)]) for a, order in zip(ours, orders, strict=True)
    ]
    return {
        "pairs": len(few), "cells": float(np.mean([a.matrix.size for a in ours])), "same_places": float(np.mean(same)),
        "times_faster": clock.wall["plain"] / clock.wall["whence"], "times_less_cpu": clock.cpu["plain"] / clock.cpu["whence"],
        "seconds_per_pair": clock.wall["whence"] / len(few),
    }  # fmt: skip


def _removed(alignment: Alignment) -> list[tuple[int, ...]]:
    return [
        tuple(int(x) for x in np.unravel_index(k, alignment.shape)) for k in alignment.matrix.ravel().argsort(kind="stable")
    ]


def quality(classifier: Classifier, encoded: Sequence[Encoded], grid: str) -> list[dict[str, float]]:
    """What other steps × samples reach: the mask's objective, and AORC of the scores."""
    rows = []
    asks = pair_asks(classifier, encoded)
    for entry in grid.split(","):
        steps, samples = (int(n) for n in entry.split("x"))
        clock = Clock()
        found = clock.time("x", lambda s=steps, n=samples: arec(classifier, encoded, steps=s, samples=n))
        objective = [a.notes["objective"] for a in found]
        curves = drive_masks(
            Runner(classifier), encoded, [aorc_rounds(*one) for one in zip(asks, (a.matrix for a in found), strict=True)]
        )
        rows.append({
            "steps": steps, "samples": samples, "steps_taken": float(np.mean([a.notes["steps"] for a in found])),
            "objective": float(np.mean(objective)), "median_objective": float(np.median(objective)),
            "fidelity": float(np.mean([a.notes["fidelity"] for a in found])),
            "compactness": 100 * float(np.mean([a.kept.mean() for a in found if a.kept is not None])),
            "aorc": float(np.mean([c for c in curves if c is not None])),
            "cpu_seconds_per_pair": clock.cpu["x"] / len(encoded),
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", required=True, help="a trained pair classifier; repeat for several")
    parser.add_argument("--data", default="scenes", help="a corpus of pairs; default: planted scenes")
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--no-race", action="store_true", help="leave the plain procedure out: only the grid")
    parser.add_argument("--back-select-pairs", type=int, default=2, help="0 leaves BackSelect out")
    parser.add_argument("--grid", default=GRID, help="steps x samples to show, '' for none")
    parser.add_argument("--threads", type=int, help="of torch, for both; default: torch's own choice")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    corpus, examples = corpus_and_texts(args.data, args.pairs, args.seed)
    results = []
    for model in args.model:
        classifier = Classifier.load(model)
        encoded = [e for e in classifier.encode(examples) if all(e.spans)]
        arec(classifier, encoded[:1], steps=3)  # warm-up
        found: dict[str, Any] = {
            "settings": settings(classifier, model, "", corpus.name) | {
                "architecture": type(classifier.model).__name__, "pairs": len(encoded),
                "tokens_per_pair": float(np.mean([len(e) for e in encoded])),
                "cells_per_pair": float(np.mean([len(e.spans[0]) * len(e.spans[1]) for e in encoded])),
            },
        }  # fmt: skip
        if not args.no_race:
            found["arec"] = race(classifier, encoded)
        if args.back_select_pairs and not args.no_race:
            found["back_select"] = back_select(classifier, encoded, args.back_select_pairs)
        if args.grid:
            found["quality"] = quality(classifier, encoded, args.grid)
        results.append(found)
        if not args.json:
            print(shown(Path(model).name, found), flush=True)
    if args.json:
        print(json.dumps(results, indent=1))


def shown(name: str, found: dict[str, Any]) -> str:
    def rows_of(rows: Sequence[dict[str, float]], first: Sequence[str]) -> str:
        head = [*(["AREC"] if first else []), *(key.replace("_", " ") for key in rows[0])]
        names = [[n] for n in first] or [[] for _ in rows]
        return table(head, [[*n, *(f"{v:.4g}" for v in row.values())] for n, row in zip(names, rows, strict=True)])

    lines = [f"## {name}", ", ".join(f"{key} {value}" for key, value in found["settings"].items()), ""]
    if "arec" in found:
        race_ = found["arec"]
        lines += [
            rows_of(list(race_["rows"].values()), list(race_["rows"])), "",
            f"{race_['times_faster']:.1f} times faster ({race_['times_less_cpu']:.1f} times less CPU); objective as low or "
            f"lower on {race_['as_good_or_better']:.0%} of the pairs.",
        ]  # fmt: skip
    if "back_select" in found:
        b = found["back_select"]
        lines.append(
            f"BackSelect on {b['pairs']} pairs of {b['cells']:.0f} cells: {b['times_faster']:.1f} times faster "
            f"({b['times_less_cpu']:.1f} times less CPU), {b['same_places']:.0%} of the cells removed at the same place."
        )
    if "quality" in found:
        lines += ["", rows_of(found["quality"], [])]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
