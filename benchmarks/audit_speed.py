"""How fast is an audit? Whence against a plain loop over captum, and against Whence itself with one request at a time.

All three do the same work in one process: the same model, examples, methods, n_steps, n_samples and hiding, and three measures
on every explanation. They take turns, shard by shard (8 examples and an empty memory, as in `whence audit`), so that a slow
minute of the machine hits all of them. All measure the same scores, so the measures must agree; so must every method that draws
nothing at random. The run says by how much they differ. How the loop was written, and where it is spared work, is in
plain_loop.py. Not timed: loading, tokenising, one warm-up example.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from common import PLANTED, corpus_and_texts, settings, table, untrained_minilm
from plain_loop import PlainLoop

from whence.explain import METHODS, TokenScores, choose_methods, explain
from whence.measure import FAITHFULNESS, Judged
from whence.measure.audit import SHARD_EXAMPLES
from whence.models import Classifier, Encoded, Label
from whence.run import Request, Result, Runner
from whence.run.runner import Tick

MEASURES = ("comprehensiveness", "sufficiency", "decision_flip")
WHENCE, ONE, PLAIN = "whence", "one_at_a_time", "plain_loop"
ALONE = ", one at a time"
Answer = TypeVar("Answer")


class OneAtATime(Runner):
    """Every request is a pass of its own: no batch, no memory, no request answered by another's pass."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__(classifier, token_budget=1, remembered=0)

    def run(self, requests: Sequence[Request], tick: Tick | None = None) -> list[Result]:
        return [super(OneAtATime, self).run([request], tick)[0] for request in requests]


class Clock:
    """Seconds by contender and row of the table."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def time(self, contender: str, row: str, work: Callable[[], Answer]) -> Answer:
        started = time.perf_counter()
        answer = work()
        self.seconds[contender][row] += time.perf_counter() - started
        return answer

    def total(self, contender: str) -> float:
        return sum(self.seconds[contender].values())


Explained = dict[str, list[TokenScores]]
Measured = dict[tuple[str, str], list[float]]


class Race:
    """One run. `parameters` are the settings of Whence's methods that differ from their defaults."""

    def __init__(self, classifier: Classifier, n_steps: int, n_samples: int, per_eval: int) -> None:
        self.classifier, self.clock = classifier, Clock()
        self.methods = [m.name for m in choose_methods(classifier)[0]]
        self.parameters = {
            "integrated_gradients": {"n_steps": n_steps, "max_steps": n_steps},
            "lime": {"n_samples": n_samples},
            "kernel_shap": {"n_samples": n_samples},
        }
        self.loop = PlainLoop(classifier, n_steps, n_samples, per_eval)
        self.model_seconds = 0.0
        self.passes: dict[str, int] = defaultdict(int)
        self.differences: dict[str, float] = defaultdict(float)

    def shard(self, shard: list[Encoded]) -> None:
        made, values = self._with_runner(WHENCE, Runner(self.classifier), shard)
        one_made, one_values = self._with_runner(ONE, OneAtATime(self.classifier), shard, made)
        plain_scores, plain_values = self._plain(shard, made)
        for name in self.methods:
            scores = [x.scores for x in made[name]]
            self._compare(f"{name}{ALONE}", scores, [x.scores for x in one_made[name]])
            if not METHODS[name].stochastic:
                self._compare(name, scores, plain_scores[name])
        for name, measure in values:
            self._compare(f"{measure}{ALONE}", values[name, measure], one_values[name, measure])
            self._compare(measure, values[name, measure], plain_values[name, measure])

    def _with_runner(
        self, contender: str, runner: Runner, shard: list[Encoded], given: Explained | None = None
    ) -> tuple[Explained, Measured]:
        """Explain and measure; where explanations are `given`, those are measured, so that all measure the same ones."""
        made: Explained = {}
        values: Measured = {}
        labels = self.classifier.labels
        for name in self.methods:
            options: dict[str, Any] = {"hide": "mask", "parameters": self.parameters.get(name)}
            made[name] = self.clock.time(contender, name, lambda n=name, o=options: explain(runner, shard, METHODS[n], **o))
            judged = [
                Judged(e, x, "mask", Label(labels.index(x.target))) for e, x in zip(shard, (given or made)[name], strict=True)
            ]
            for measure in MEASURES:
                steps = FAITHFULNESS[measure].rounds
                rows = self.clock.time(contender, measure, lambda s=steps, j=judged: runner.drive([s(one) for one in j]))
                values[name, measure] = [row[0] for row in rows if row is not None]
        if contender == WHENCE:
            self.model_seconds += runner.paid.model_seconds
        self.passes[contender] += runner.paid.forward
        return made, values

    def _plain(self, shard: list[Encoded], given: Explained) -> tuple[dict[str, list[np.ndarray]], Measured]:
        scores: dict[str, list[np.ndarray]] = defaultdict(list)
        values: Measured = defaultdict(list)
        before = self.loop.passes
        for i, encoded in enumerate(shard):
            target = int(self.clock.time(PLAIN, self.methods[0], lambda e=encoded: self.loop.predict(e)).argmax())
            for name in self.methods:
                ask = (name, encoded, target)
                scores[name].append(self.clock.time(PLAIN, name, lambda a=ask: self.loop.explain(*a)))
                for measure in MEASURES if encoded.seen.any() else ():
                    what = (measure, encoded, np.array(given[name][i].scores), target)
                    values[name, measure].append(self.clock.time(PLAIN, measure, lambda w=what: self.loop.measure(*w)))
        self.passes[PLAIN] += self.loop.passes - before
        return scores, values

    def _compare(self, row: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        for a, b in zip(ours, theirs, strict=True):
            self.differences[row] = max(self.differences[row], float(np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a transformers classifier with a mask token; default: MiniLM's size, random weights")
    parser.add_argument("--data", default=PLANTED, help="a corpus or file; default: planted reviews")
    parser.add_argument("--examples", type=int, default=16)
    parser.add_argument("--n-steps", type=int, default=20, help="of integrated gradients")
    parser.add_argument("--n-samples", type=int, default=256, help="of LIME and Kernel SHAP")
    parser.add_argument("--per-eval", type=int, default=1, help="captum's perturbations_per_eval; 1 is its default")
    parser.add_argument("--threads", type=int, help="of torch, for all three; default: torch's own choice")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    corpus, examples = corpus_and_texts(args.data, args.examples, args.seed)
    classifier = Classifier.load(args.model) if args.model else untrained_minilm(corpus, args.seed)
    encoded = classifier.encode(examples)
    options = (args.n_steps, args.n_samples, args.per_eval)
    Race(classifier, *options).shard(encoded[:1])  # warm-up
    race = Race(classifier, *options)
    for start in range(0, len(encoded), SHARD_EXAMPLES):
        race.shard(encoded[start : start + SHARD_EXAMPLES])
    about = settings(classifier, args.model, "MiniLM's size, random weights", corpus.name) | {
        "examples": len(encoded), "tokens_per_text": float(np.mean([len(e) for e in encoded])),
        "n_steps": args.n_steps, "n_samples": args.n_samples, "perturbations_per_eval": args.per_eval,
    }  # fmt: skip
    found = result(race, len(encoded))
    print(json.dumps({"settings": about, **found}, indent=1) if args.json else shown(about, found))


def result(race: Race, examples: int) -> dict[str, Any]:
    contenders = (WHENCE, ONE, PLAIN)
    rows = {row: {c: race.clock.seconds[c][row] / examples for c in contenders} for row in [*race.methods, *MEASURES]}
    rows["total"] = {c: race.clock.total(c) / examples for c in contenders}
    return {
        "seconds_per_example": rows,
        "times_faster": {row: {c: s[c] / s[WHENCE] for c in (ONE, PLAIN)} for row, s in rows.items()},
        "passes_per_example": {c: race.passes[c] / examples for c in contenders},
        "model_share_of_wall_time": race.model_seconds / race.clock.total(WHENCE),
        "largest_difference": dict(race.differences),
    }


def shown(about: dict[str, Any], found: dict[str, Any]) -> str:
    head = ["seconds for each example", "Whence", "one at a time", "captum loop", "× one at a time", "× captum loop"]
    rows = [
        [row, *(f"{s[c]:.4f}" for c in (WHENCE, ONE, PLAIN)), *(f"{found['times_faster'][row][c]:.1f}" for c in (ONE, PLAIN))]
        for row, s in found["seconds_per_example"].items()
    ]
    passes, differs = found["passes_per_example"], found["largest_difference"]
    one = max(d for row, d in differs.items() if row.endswith(ALONE))
    plain = [f"{row} {d:.1e}" for row, d in differs.items() if not row.endswith(ALONE)]
    return "\n".join([
        ", ".join(f"{name} {value}" for name, value in about.items()), "", table(head, rows), "",
        "Forward passes for each example: "
        f"Whence {passes[WHENCE]:.0f}, one at a time {passes[ONE]:.0f}, captum loop {passes[PLAIN]:.0f}.",
        f"The model is busy for {found['model_share_of_wall_time']:.1%} of Whence's time.",
        f"Largest difference to one at a time, any number: {one:.1e}. To the captum loop: {'; '.join(plain)}.",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
