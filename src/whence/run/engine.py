"""Independent pieces of work, done here one after another or as Ray tasks, with the same bytes either way.

Each piece's rows become one shard of the run folder as soon as they are there, written by this process alone; a killed run goes
on with the pieces that have no shard. Rows are always read back from the shards, so that new and old pieces look alike. Before
a piece starts, every random generator is seeded from the run's seed and the piece's name: what ran before it does not matter.
"""

import logging
import os
import re
import socket
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import set_seed

from whence.errors import BadInput, unknown
from whence.run.files import read_json, write_json
from whence.run.folder import RunFolder

Rows = list[dict[str, Any]]
Say = Callable[[str], None]
ENGINES = ("local", "ray")
PASSED_ON = ("WHENCE_CACHE", "WHENCE_DATA", "HF_HOME", "HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM", "GOMP_SPINCOUNT")
"""Variables that say where data and models lie and how loud libraries are: the same for a task on another machine."""
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


class Engine(Protocol):
    def run(self, pieces: Sequence[Piece], seed: int, say: Say) -> Iterator[Answer]:
        """Yields answers as they come; it may stop after a piece that failed."""


class LocalEngine:
    """One after another in this process; stops at the first piece that fails."""

    def run(self, pieces: Sequence[Piece], seed: int, say: Say) -> Iterator[Answer]:
        for piece in pieces:
            say(f"{piece.name}: started")
            began = time.monotonic()
            try:
                rows = _perform(piece, seed)
            except Exception as error:
                yield piece, error, time.monotonic() - began
                return
            yield piece, rows, time.monotonic() - began


@dataclass(frozen=True)
class RayEngine:
    """Each piece a Ray task, on this machine or on the cluster at `address`; the others go on when one fails.

    A task has as many threads as torch has here, because the number of threads changes the last bits of sums. With
    OMP_NUM_THREADS=1 most pieces run at once.
    """

    address: str | None = None

    def run(self, pieces: Sequence[Piece], seed: int, say: Say) -> Iterator[Answer]:
        try:
            import ray
        except ImportError as error:
            raise BadInput("engine 'ray' needs Ray, which is not installed; expected: pip install 'whence[ray]'") from error
        started_here = not ray.is_initialized()
        if started_here:
            _check_address(self.address)
            passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
            where = {"address": self.address} if self.address else {"address": "local", "include_dashboard": False}
            try:
                # what pieces print would mix with each other's; this process says when each is done
                ray.init(**where, runtime_env={"env_vars": passed}, logging_level=logging.WARNING, log_to_driver=False)
            except Exception as error:  # Ray raises bare ones, e.g. where a busy machine lets its start time out
                ray.shutdown()
                raise BadInput(f"engine 'ray' did not start ({self.address or 'this machine'}): {error}") from error
        try:
            threads = torch.get_num_threads()
            largest = max(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
            if largest < threads:
                raise BadInput(
                    f"a piece needs {threads} CPUs, but Ray's largest node has {largest:g}; set OMP_NUM_THREADS lower"
                )
            task = ray.remote(num_cpus=threads, max_retries=1)(_perform_timed)
            waiting = {task.remote(piece, seed, threads): piece for piece in pieces}
            say(f"{len(pieces)} pieces given to Ray")
            while waiting:
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                try:
                    rows, seconds = ray.get(done)
                    yield waiting.pop(done), rows, seconds
                except ray.exceptions.RayError as error:
                    yield waiting.pop(done), getattr(error, "cause", None) or error, 0.0
        finally:
            if started_here:
                ray.shutdown()


def _check_address(address: str | None) -> None:
    """Ray itself waits for minutes before it says that nobody answers."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise BadInput(f"--address '{address}': no Ray cluster answers there ({error})") from error


def make_engine(name: str, address: str | None = None) -> Engine:
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if name == "local" and address is not None:
        raise BadInput(f"--address '{address}' was given with engine 'local'; expected it with --engine ray only")
    return RayEngine(address) if name == "ray" else LocalEngine()


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


def _perform(piece: Piece, seed: int) -> Rows:
    set_seed(zlib.crc32(f"{seed} {piece.name}".encode()))
    return piece.work(**piece.arguments)


def _perform_timed(piece: Piece, seed: int, threads: int) -> tuple[Rows, float]:
    torch.set_num_threads(threads)
    began = time.monotonic()
    return _perform(piece, seed), time.monotonic() - began
