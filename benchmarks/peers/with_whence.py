"""Whence: every method on its own, then what ferret does (six explanations, three measures) at sample counts that run.py names.

All sentences of a set go through one runner at once, as in an audit. The measures are Whence's: ERASER's five bins. A second
time they have ferret's ten deciles, so that no pass is spared by another definition; a third time matrices are multiplied as
torch does it for everybody (models/products.py).
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from whence import __version__
from whence.data import Example
from whence.explain import METHODS, TokenScores, explain
from whence.measure import FAITHFULNESS, Judged, erasure
from whence.models import Classifier, Encoded, Label, products
from whence.run import Runner

LADDER = {"short": (16, 32, 40, 48, 64, 128, 256, 512), "usual": (64, 96, 128, 256)}
"""Samples of Kernel SHAP and LIME."""
POINTS, MOST_POINTS = 50, (20, 24, 28, 32, 36, 40, 44, 48, 60, 120, 240, 400)
"""Of integrated gradients: equal steps, and as many as are taken where the path bends."""
LIMIT = {"n_steps": 100, "tolerance": 1e-7, "max_steps": 800}
"""Stands for the limit of integrated gradients."""
TITLES = {
    "kernel_shap": "Kernel SHAP", "lime": "LIME", "leave_one_out": "Leave-one-out", "gradient_l1": "Gradient",
    "input_x_gradient": "Input × gradient", "integrated_gradients": "Integrated gradients",
}  # fmt: skip
SIX = ("kernel_shap", "lime", "gradient_l1", "input_x_gradient", "integrated_gradients", "gradient_l2")
"""Ferret's six, with the L2 norm in the place of integrated gradients without their input, which Whence has not."""
MEASURES = ("comprehensiveness", "sufficiency", "loo_tau")
DECILES = tuple(k / 10 for k in range(1, 11))


class Contest:
    def __init__(self, classifier: Classifier, texts: Sequence[str]) -> None:
        self.classifier = classifier
        self.encoded = classifier.encode([Example(str(i), {"text": text}) for i, text in enumerate(texts)])

    def _made(self, runner: Runner, name: str, given: Mapping[str, Any]) -> list[TokenScores]:
        return explain(runner, self.encoded, METHODS[name], hide="mask", parameters=given)

    def alone(self, name: str, **given: Any) -> dict[str, Any]:
        """One method with nothing to share its passes with."""
        runner = Runner(self.classifier)
        started = time.process_time()
        made = self._made(runner, name, given)
        return self._line(TITLES[name], given, time.process_time() - started, runner, [list(x.scores) for x in made])

    def whole(self, title: str, parameters: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        runner = Runner(self.classifier)
        started = time.process_time()
        for name in SIX:
            made = self._made(runner, name, parameters.get(name, {}))
            judged = [self._judged(e, x) for e, x in zip(self.encoded, made, strict=True)]
            for measure in MEASURES:
                runner.drive(FAITHFULNESS[measure].rounds(one) for one in judged)
        return self._line(title, {k: dict(v) for k, v in parameters.items()}, time.process_time() - started, runner, None)

    def _judged(self, encoded: Encoded, made: TokenScores) -> Judged:
        return Judged(encoded, made, "mask", Label(self.classifier.labels.index(made.target)))

    def _line(self, method: str, setting: Any, seconds: float, runner: Runner, scores: Any) -> dict[str, Any]:
        n = len(self.encoded)
        return {"tool": f"Whence {__version__}", "method": method, "setting": setting, "seconds": seconds / n,
                "passes": runner.paid.forward / n, "backward": runner.paid.backward / n, "scores": scores}  # fmt: skip


def apart(contest: Contest, counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Every method on its own, over the settings that are compared."""
    for name in ("kernel_shap", "lime"):
        for n in counts:
            yield contest.alone(name, n_samples=n)
    for name in ("gradient_l1", "input_x_gradient", "leave_one_out"):
        yield contest.alone(name)
    yield contest.alone("integrated_gradients", n_steps=POINTS, max_steps=POINTS)
    yield contest.alone("integrated_gradients")
    for most in MOST_POINTS:
        yield contest.alone("integrated_gradients", tolerance=1e-7, max_steps=most)
    yield contest.alone("integrated_gradients", **LIMIT)


@contextmanager
def replaced(module: ModuleType, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def main() -> None:
    task, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    torch.set_num_threads(1)
    classifier = Classifier.load(task["model"])
    lines: list[dict[str, Any]] = []

    def note(texts: str, line: dict[str, Any]) -> None:
        lines.append({**line, "texts": texts})
        print(texts, {k: v for k, v in line.items() if k != "scores"}, file=sys.stderr, flush=True)

    sets = {name: Contest(classifier, task[name]) for name in ("short", "usual") if task[name]}
    next(iter(sets.values())).alone("gradient_l1")  # warm-up
    for texts, contest in sets.items():
        if task["whole"] is None:
            for line in apart(contest, LADDER[texts]):
                note(texts, line)
            continue
        for reading, given in task["whole"][texts].items():
            Contest(classifier, task[texts][:1]).whole("warm-up", given)  # as the others have it
            note(texts, contest.whole(f"{reading}: five bins", given))
            with replaced(erasure, "BINS", DECILES):
                note(texts, contest.whole(f"{reading}: ten deciles", given))
            with replaced(products, "_pays", lambda: False):
                note(texts, contest.whole(f"{reading}: five bins, torch's own matrix products", given))
    out.write_text(json.dumps(lines, default=np.ndarray.tolist))


if __name__ == "__main__":
    main()
