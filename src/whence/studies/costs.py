"""How long will a study take here? Nothing is trained; a few batches and a few texts stand for all.

  training     a few of its steps are timed, once for each kind (teach/cost.py); an untrained model stands in for the result
  measurement  one piece of each kind runs on 16 and on 64 texts of each split, on such models; a line goes through both times
  the rest     is run as it is, and timed

What cannot be timed so is named: pieces that need what other pieces found, and measurements of models that write, because how
much they write is known only once they are trained. This runs in a process of its own, because studies keep corpora and models
in memory for their next piece, and these must not be among them.
"""

import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from whence.data import Corpus, Example
from whence.errors import BadInput
from whence.models import BlackBox, Classifier
from whence.models.generator import Generator
from whence.run import Piece, RunFolder, cache_folder, replace_folder
from whence.run.engine import perform
from whence.run.plan import now
from whence.studies.registry import find_study
from whence.studies.study import Scale, list_pieces
from whence.teach import Job
from whence.teach.cost import TrainingCost, training_cost
from whence.teach.job import cached_folder, instead_of_training, prepared

FEW, MORE = 16, 64
"""Texts of every split, on which a measuring piece is timed."""
PORTS = (Classifier, Generator, BlackBox)


class _Reads(Exception):
    """A piece is about to read so many texts: what comes now is what it measures. None of them if that cannot be timed."""

    def __init__(self, texts: int) -> None:
        self.texts = texts


class Trainings:
    """Stands in for `cached_job`: times a training of each kind, and gives an untrained model for the trained one."""

    def __init__(self, real: Path) -> None:
        self.real, self.here = real, cache_folder("models", {}).parent.parent
        self.costs: dict[str, tuple[TrainingCost, Path]] = {}
        self.folders: dict[Path, Path] = {}
        self.asked, self.spent, self.asked_before = np.zeros(2), np.zeros(2), np.zeros(2)
        """Seconds that the trainings would take, that were spent here on timing them, and of trainings at their full size."""

    def __call__(self, job: Job, corpus: Corpus) -> Path:
        began = np.array(now())
        folder = cached_folder(job, corpus)
        if folder not in self.folders:
            trained = self.real / folder.relative_to(self.here)
            if (trained / "results.json").exists():
                self.folders[folder] = trained  # trained before: it is taken as it is
            else:
                job, splits, _, config = prepared(job, corpus)
                kind = _kind(job)
                if kind not in self.costs:
                    self.costs[kind] = self._time(job, corpus, splits, folder, config)
                cost, self.folders[folder] = self.costs[kind]
                train, dev, test = (len(splits.get(split, ())) for split in ("train", "dev", "test"))
                self.asked += cost.seconds(train, dev, test, job.settings.epochs, job.settings.batch_size)
        self.spent += np.array(now()) - began
        return self.folders[folder]

    def _time(
        self, job: Job, corpus: Corpus, splits: dict[str, list[Example]], folder: Path, config: Mapping[str, Any]
    ) -> tuple[TrainingCost, Path]:
        with _every_encode(None):
            cost, task = training_cost(job, corpus, splits)
            results: dict[str, Any] = {"job": "train", "train_examples": len(splits["train"]), "notes": [], "best_epoch": 1,
                                       "history": [], "seconds": 0.0}  # fmt: skip
            with RunFolder(folder, config, lambda _: None) as run:
                for split in ("dev", "test"):
                    if split in splits:
                        results[split], rows = task.evaluate(task.prepare(_few(splits[split], MORE)))
                        run.write_shard(f"predictions-{split}", rows)
                replace_folder(folder / "model", task.save)
                run.finish(results)
        return cost, folder


def _kind(job: Job) -> str:
    """All that the time of a step depends on: neither seed, weights and rates, nor which model of the study it starts from."""
    settings = job.settings
    said = job.model_dump() | {
        "settings": [sorted(settings.objective), settings.batch_size, settings.select, settings.precision, settings.generated],
        "terms": {name: sorted(given) for name, given in settings.options.items()}, "limit": None,
    }  # fmt: skip
    return json.dumps(_unnamed(said, str(cache_folder("models", {}).parent)), sort_keys=True)


def _unnamed(value: Any, cache: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _unnamed(inner, cache) for key, inner in value.items()}
    return "a model of this study" if isinstance(value, str) and value.startswith(cache) else value


def time_pieces(pieces: Sequence[Piece], seed: int, real: Path) -> dict[str, Any]:
    """By piece its seconds by the clock and of CPU; of those that cannot be timed the seconds of their trainings alone."""
    trainings, texts, found, untimed = Trainings(real), dict[str, int](), dict[str, np.ndarray](), set[str]()
    with instead_of_training(trainings):
        for piece in pieces:
            asked, spent, began = trainings.asked.copy(), trainings.spent.copy(), np.array(now())
            own = np.zeros(2)
            try:
                with _every_encode(_stop):
                    perform(_filled(piece), seed)
                own = np.array(now()) - began - (trainings.spent - spent)
            except _Reads as reads:
                if reads.texts:
                    texts[piece.name] = reads.texts
                else:
                    untimed.add(piece.name)
            except BadInput:
                raise
            except Exception:
                untimed.add(piece.name)
            found[piece.name] = trainings.asked - asked + own
        lines = _lines({_piece_kind(piece): piece for piece in pieces if piece.name in texts}, seed, trainings)
    for piece in pieces:
        if piece.name in texts:
            line = lines[_piece_kind(piece)]
            if line is None:
                untimed.add(piece.name)
            else:
                found[piece.name] = found[piece.name] + line(texts[piece.name])
    units = ("seconds", "cpu_seconds")
    return {
        "by_piece": {name: dict(zip(units, both, strict=True)) for name, both in found.items()},
        "untimed": [piece.name for piece in pieces if piece.name in untimed],
        "trained": dict(zip(units, trainings.asked_before, strict=True)),
    }


Line = Callable[[int], np.ndarray]
"""Texts → seconds."""


def _lines(kinds: Mapping[str, Piece], seed: int, trainings: Trainings) -> dict[str, Line | None]:
    """By kind the time of a piece as a line through two points; None for what does not run on few texts."""
    points: dict[str, list[tuple[int, np.ndarray]]] = {kind: [] for kind in kinds}
    trainings.asked_before = trainings.asked.copy()
    for size in (FEW, MORE):
        _forget()
        with _few_texts(size):
            for kind, piece in kinds.items():
                with suppress(Exception):  # what came before the reading was counted when it was at its full size
                    points[kind].append(_timed(piece, seed, trainings))
    return {kind: _line(*several) if len(several) == 2 else None for kind, several in points.items()}


def _timed(piece: Piece, seed: int, trainings: Trainings) -> tuple[int, np.ndarray]:
    """(texts that it reads first, seconds)."""
    with suppress(_Reads), _every_encode(_stop):
        perform(_filled(piece), seed)
    read: list[int] = []
    asked, spent, began = trainings.asked.copy(), trainings.spent.copy(), np.array(now())
    with _every_encode(read.append):
        perform(_filled(piece), seed)
    took = np.array(now()) - began - (trainings.spent - spent)
    if not all(read):
        raise _Reads(0)
    return read[0], took + trainings.asked - asked  # FRESH trains on what it has read


def _line(one: tuple[int, np.ndarray], other: tuple[int, np.ndarray]) -> Line:
    (few, short), (more, long) = one, other
    if more <= few:  # it never reads more than this
        return lambda texts: long * texts / max(1, more)
    each = np.maximum(0.0, (long - short) / (more - few))
    return lambda texts: np.maximum(0.0, long - more * each) + texts * each


def _filled(piece: Piece) -> Piece:
    """An empty mapping is one that other pieces fill, such as words to hide by example: here it has nothing for anyone."""
    arguments = {name: defaultdict(list) if value == {} else value for name, value in piece.arguments.items()}
    return replace(piece, arguments=arguments)


def _piece_kind(piece: Piece) -> str:
    """Its function, and what tells its pieces apart, such as the method, and of how many models."""
    said = [f"{name}={value}" for name, value in piece.arguments.items() if isinstance(value, str)]
    said += [f"{len(value)} {name}" for name, value in piece.arguments.items() if isinstance(value, list | dict)]
    return f"{piece.work.__module__}.{piece.work.__qualname__} {' '.join(said)}"


def _stop(texts: int) -> None:
    raise _Reads(texts)


_reading: list[Callable[[int], None] | None] = [None]


@contextmanager
def _every_encode(tell: Callable[[int], None] | None) -> Iterator[None]:
    """`tell` is told of how many texts are about to be read, each time."""
    _reading.append(tell)
    try:
        yield
    finally:
        _reading.pop()


def _few(examples: Sequence[Example], size: int) -> list[Example]:
    return list(examples[:: max(1, len(examples) // size)][:size])


@contextmanager
def _few_texts(size: int) -> Iterator[None]:
    """Every split of every corpus has few examples."""
    load = Corpus.load
    Corpus.load = lambda self, *given, **more: _few(load(self, *given, **more), size)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Corpus.load = load  # type: ignore[method-assign]


def _forget() -> None:
    """What studies keep in memory is of another size."""
    for kept in gc.get_objects():
        if type(kept) is functools._lru_cache_wrapper and (kept.__module__ or "").startswith("whence."):
            kept.cache_clear()


def _listen() -> None:
    for port in PORTS:
        encode = port.encode

        def heard(self: Any, examples: Sequence[Example], *more: Any, _encode: Any = encode) -> Any:
            if (tell := _reading[-1]) is not None:
                tell(0 if isinstance(self, Generator) else len(examples))
            return _encode(self, examples, *more)

        port.encode = heard  # type: ignore[method-assign]


def plan_study(name: str, scale: Scale, seed: int, data_root: Path | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The pieces of a study and their time."""
    pieces = list_pieces(find_study(name), scale, seed, data_root, settings)
    root = None if data_root is None else str(data_root.expanduser().resolve())
    real = cache_folder("models", {}).parent.parent
    asked = {"name": name, "scale": scale, "seed": seed, "data_root": root, "settings": dict(settings), "real": str(real)}
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [sys.executable, "-m", "whence.studies.costs"], input=json.dumps(asked), capture_output=True, text=True,
            env={**os.environ, "WHENCE_CACHE": place},
        )  # fmt: skip
    said, why = done.stdout.strip().splitlines(), ""
    names = [piece.name for piece in pieces]
    found: dict[str, Any] = {"by_piece": {}, "untimed": names, "trained": {"seconds": 0.0, "cpu_seconds": 0.0}}
    if done.returncode or not said:  # the data is not here, for example
        why = (done.stderr.strip().splitlines() or ["the measurement ended without a word"])[-1].removeprefix("whence: ")
    else:
        found = json.loads(said[-1])
    in_all = {unit: sum(both[unit] for both in found["by_piece"].values()) for unit in ("seconds", "cpu_seconds")}
    return {"pieces": names, "why": why, **found, **in_all}


def main() -> None:
    asked = json.loads(sys.stdin.read())
    root = None if asked["data_root"] is None else Path(asked["data_root"])
    try:
        pieces = list_pieces(find_study(asked["name"]), asked["scale"], asked["seed"], root, asked["settings"])
        _listen()
        found = time_pieces(pieces, asked["seed"], Path(asked["real"]))
    except BadInput as error:
        sys.exit(f"whence: {error}")
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
