"""Is a plan true? Audits, explanations and a study are planned, then run; CPU seconds of both.

planned   `whence plan`: a few seconds of measurement on some of the examples; of a study, half a minute
true      CPU seconds of the same work in the same process, without loading; of a study, with an empty cache

`--study NAME` plans and runs its smoke scale instead: every piece that was timed, and the sum.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from common import PLANTED, corpus_and_texts, table, untrained_minilm

import whence
from whence.data import Corpus, Example
from whence.models import Classifier
from whence.models.build import build_model
from whence.run.engine import Answer, LocalEngine, Piece, Say, perform
from whence.studies.registry import find_study
from whence.studies.study import run_study

ALL: tuple[str, ...] = ()


def small(name: str, corpus: Corpus) -> Classifier:
    torch.manual_seed(0)
    texts = (e.texts["text"] for e in corpus.load("train", 2000))
    return Classifier(*build_model(name, corpus.labels, texts, None, {"hidden_size": 16} if name == "mlp" else {}))


def measured(
    corpus: Corpus, few: list[Example], many: list[Example]
) -> dict[str, tuple[Callable[[], Any], Callable[[Path], Any]]]:
    """By name: how the work is planned, and how it is done."""

    def audit(classifier: Classifier, texts: list[Example], methods: tuple[str, ...], measures: tuple[str, ...]) -> Any:
        how: dict[str, Any] = {"methods": methods, "measures": measures}
        model = whence.load(classifier)
        return (
            lambda: whence.plan("audit", model=model, data=texts, **how),
            lambda out: whence.audit(model, texts, out, say=lambda _: None, **how),
        )

    mlp, minilm = small("mlp", corpus), untrained_minilm(corpus)
    return {
        f"mlp, gradient_l2, sufficiency, {len(many):,} texts": audit(mlp, many, ("gradient_l2",), ("sufficiency",)),
        f"mlp, all methods and measures, {4 * len(few):,} texts": audit(mlp, many[: 4 * len(few)], ALL, ALL),
        f"MiniLM's size, integrated gradients, sufficiency, {len(few):,} texts": audit(
            minilm, few, ("integrated_gradients",), ("sufficiency",)
        ),
        f"MiniLM's size, all methods and measures, {len(few):,} texts": audit(minilm, few, ALL, ALL),
    }


class CpuEngine(LocalEngine):
    """Notes the CPU seconds of every piece."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def run(self, pieces: Sequence[Piece], seed: int, say: Say) -> Iterator[Answer]:
        for piece in pieces:
            began, clock = time.process_time(), time.monotonic()
            rows = perform(piece, seed)
            self.spent[piece.name] = time.process_time() - began
            yield piece, rows, time.monotonic() - clock


def study_rows(name: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as place:
        os.environ["WHENCE_CACHE"] = f"{place}/cache"
        planned = whence.plan("study", name=name, scale="smoke")
        engine = CpuEngine()
        run_study(find_study(name), "smoke", Path(place) / "run", engine=engine, say=lambda _: None)
    timed = {p: both["cpu_seconds"] for p, both in planned["by_piece"].items() if p not in planned["untimed"]}
    rows = [{"work": piece, "planned": timed[piece], "true": true} for piece, true in engine.spent.items() if piece in timed]
    both = {key: sum(row[key] for row in rows) for key in ("planned", "true")}
    untimed = {key: value for key, value in engine.spent.items() if key not in timed}
    rows.append({"work": f"{name}, all of these", **both})
    rows.append({"work": f"{name}, {len(untimed)} pieces without a time", "planned": 0.0, "true": sum(untimed.values())})
    return [{**row, "ratio": row["planned"] / max(row["true"], 1e-9)} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=24, help="Of the audits that take long; the others have more.")
    parser.add_argument("--only", help="Rows whose name holds this.")
    parser.add_argument("--study", help="Its smoke scale instead of audits.")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = study_rows(asked.study) if asked.study else []
    corpus, many = corpus_and_texts(PLANTED, 100 * asked.texts)
    for name, (plan, run) in measured(corpus, many[: asked.texts], many).items() if not asked.study else ():
        if asked.only and asked.only not in name:
            continue
        planned = plan()["cpu_seconds"]
        with tempfile.TemporaryDirectory() as place:
            began = time.process_time()
            run(Path(place) / "run")
            true = time.process_time() - began
        rows.append({"work": name, "planned": planned, "true": true, "ratio": planned / true})
        if not asked.json:
            print(f"{name}: planned {planned:.1f}, true {true:.1f}, ratio {planned / true:.2f}", flush=True)
    if asked.json:
        print(json.dumps(rows, indent=1))
        return
    print(table(
        ["work", "planned CPU s", "true CPU s", "planned / true"],
        [[r["work"], f"{r['planned']:.1f}", f"{r['true']:.1f}", f"{r['ratio']:.2f}"] for r in rows],
    ))  # fmt: skip


if __name__ == "__main__":
    main()
