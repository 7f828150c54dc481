"""Independent pieces of work, done here one after another or as Ray tasks, with the same bytes either way.

Each piece's rows become one shard of the run folder as soon as they are there, written by this process alone; a killed run goes
on with the pieces that have no shard. Rows are always read back from the shards, so that new and old pieces look alike. Before
a piece starts, every random generator is seeded from the run's seed and the piece's name: what ran before it does not matter.
"""

import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from transformers import set_seed

from whence.errors import BadInput, unknown
from whence.run.files import read_json, write_json
from whence.run.folder import RunFolder
from whence.run.runner import Tick

Rows = list[dict[str, Any]]
Say = Callable[[str], None]
ENGINES = ("local", "ray")
_NAME = re.compile(r"[\w+=-][\w.+=-]*")


@dataclass(frozen=True)
class Piece:
    """A module-level function and JSON-able arguments; its value is rows (dicts of numbers, strings, lists of numbers).

    Rows may have different keys: what a row lacks is None when it is read back.
    """

    name: str
    """Unique in the run, and safe as a file's name ("sst-base-seed1")."""
    work: Callable[..., Rows]
    arguments: Mapping[str, Any]


Answer = tuple[Piece, Rows | Exception, float]
"""A piece, its rows or what went wrong, and the seconds that it took."""


Work = Callable[[Any, Any, Tick | None], Any]
"""(what all items share, an item, whom to tell of progress) → its value. A module-level function."""


@dataclass(frozen=True)
class Item:
    """One of many; `weight` is how far it moves the bar of progress."""

    name: str
    given: Any
    weight: int


class Engine(Protocol):
    def on(self, device: str) -> "Engine":
        """For a model on this kind of device ("cpu", "cuda", …)."""

    def run(self, pieces: Sequence[Piece], seed: int, say: Say) -> Iterator[Answer]:
        """Yields answers as they come; it may stop after a piece that failed."""

    def spread(self, work: Work, shared: Any, items: Iterable[Item], tick: Tick) -> Iterator[tuple[str, Any]]:
        """The names of items with their values, as they come. `shared`, such as a model, is given to every worker once; items
        are taken as they are needed. The first that fails ends it."""


class LocalEngine:
    """One after another in this process; stops at the first piece that fails."""

    def on(self, device: str) -> "LocalEngine":
        return self

    def spread(self, work: Work, shared: Any, items: Iterable[Item], tick: Tick) -> Iterator[tuple[str, Any]]:
        for item in items:
            yield item.name, work(shared, item.given, tick)

    def run(self, pieces: Sequence[Piece], seed: int, say: Say) -> Iterator[Answer]:
        for piece in pieces:
            say(f"{piece.name}: started")
            began = time.monotonic()
            try:
                rows = perform(piece, seed)
            except Exception as error:
                yield piece, error, time.monotonic() - began
                return
            yield piece, rows, time.monotonic() - began


def make_engine(name: str, address: str | None = None, gpus: float | None = None) -> Engine:
    """`gpus`: of a task, also a part of one; None: one where the model is on a GPU."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if name == "local" and gpus is not None:
        raise BadInput(f"--gpus-per-task {gpus:g} was given with engine 'local'; expected it with --engine ray only")
    if gpus is not None and not (0 <= gpus <= 1 or (1 < gpus <= 1000 and gpus == int(gpus))):
        raise BadInput(f"--gpus-per-task {gpus:g}; expected a part of a GPU from 0 to 1, such as 0.25, or a whole number")
    if name == "local" and address is not None:
        raise BadInput(f"--address '{address}' was given with engine 'local'; expected it with --engine ray only")
    if name == "local":
        return LocalEngine()
    from whence.run.ray_engine import RayEngine

    return RayEngine(address, gpus)


def run_pieces(pieces: Sequence[Piece], folder: RunFolder, engine: Engine, say: Say, seed: int = 0) -> dict[str, Rows]:
    """Does what has no shard yet; returns the rows of all pieces by name. Seconds of each piece are in seconds.json."""
    names = [piece.name for piece in pieces]
    for name in names:
        if not _NAME.fullmatch(name) or names.count(name) > 1:
            raise ValueError(f"piece '{name}': expected a name that no other piece has, of letters, digits and . _ - + =")
    missing = [piece for piece in pieces if not folder.shard_file(piece.name).exists()]
    if len(missing) < len(pieces):
        say(f"{len(pieces) - len(missing)} of {len(pieces)} pieces are there already")
    failed: list[tuple[Piece, Exception]] = []
    began, spent = time.monotonic(), piece_seconds(folder)
    for done, (piece, rows, seconds) in enumerate(engine.run(missing, seed, say) if missing else (), start=1):
        if isinstance(rows, Exception):
            failed.append((piece, rows))
            say(f"{piece.name}: failed")
            continue
        columns = dict.fromkeys(key for row in rows for key in row)
        spent[piece.name] = round(seconds, 2)
        write_json(folder.path / "seconds.json", spent)  # before the shard: a finished piece always has its time
        folder.write_shard(piece.name, [{column: row.get(column) for column in columns} for row in rows])
        left = (time.monotonic() - began) / done * (len(missing) - done)
        at = len(pieces) - len(missing) + done
        say(
            f"{piece.name}: done in {shown_time(seconds)}, {at} of {len(pieces)}"
            + (f", about {shown_time(left)} left" if left else "")
        )
    if failed:
        piece, error = failed[0]
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        if isinstance(error, BadInput):
            raise BadInput(f"{piece.name}: {error}{others}") from error
        raise RuntimeError(f"piece '{piece.name}' failed{others}: {type(error).__name__}: {error}") from error
    return {name: folder.read_shard(name) or [] for name in names}


def piece_seconds(folder: RunFolder) -> dict[str, float]:
    """How long each finished piece took, over all calls that worked on the folder."""
    file = folder.path / "seconds.json"
    return read_json(file, "remove it and run the same command again") if file.exists() else {}


def shown_time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def perform(piece: Piece, seed: int) -> Rows:
    set_seed(zlib.crc32(f"{seed} {piece.name}".encode()))
    return piece.work(**piece.arguments)
