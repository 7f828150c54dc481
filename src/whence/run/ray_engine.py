"""Work as Ray tasks: on this machine, or on a cluster of many.

A task has as many threads as torch has here, because the number of threads changes the last bits of sums. With
OMP_NUM_THREADS=1 most tasks run at once. A task whose worker or node is lost is done again elsewhere.
"""

import logging
import os
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from whence.errors import BadInput
from whence.run.engine import Answer, Item, Piece, Rows, Say, Work, perform
from whence.run.runner import Tick

PASSED_ON = ("WHENCE_CACHE", "WHENCE_DATA", "HF_HOME", "HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM", "GOMP_SPINCOUNT")
"""Variables that say where data and models lie and how loud libraries are: the same for a task on another machine."""
AHEAD = 2
"""Items given out for each task that can run at once: the next one is there when a worker is free, and no more wait."""
RETRIES = 3


@dataclass(frozen=True)
class RayEngine:
    """On this machine or on the cluster at `address`. `gpus`: of a task; several tasks share one if it is a part."""

    address: str | None = None
    gpus: float | None = None

    def on(self, device: str) -> "RayEngine":
        """Ray shows a GPU only to tasks that ask for one, and a model that lies on one cannot be read without."""
        return replace(self, gpus=1.0) if self.gpus is None and device == "cuda" else self

    def run(self, pieces: Sequence[Piece], seed: int, say: Say) -> Iterator[Answer]:
        """Each piece a task; the others go on when one fails."""
        with self._cluster() as (ray, threads):
            task = ray.remote(num_cpus=threads, num_gpus=self.gpus or 0, max_retries=RETRIES)(_timed)
            waiting = {task.remote(piece, seed, threads): piece for piece in pieces}
            say(f"{len(pieces)} pieces given to Ray")
            while waiting:
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                try:
                    rows, seconds = ray.get(done)
                    yield waiting.pop(done), rows, seconds
                except ray.exceptions.RayError as error:
                    yield waiting.pop(done), getattr(error, "cause", None) or error, 0.0

    def spread(self, work: Work, shared: Any, items: Iterable[Item], tick: Tick) -> Iterator[tuple[str, Any]]:
        with self._cluster() as (ray, threads):
            # a reference in a list is not resolved for every task: a worker fetches what it points to once (_of)
            reference = [ray.put(shared)]
            task = ray.remote(num_cpus=threads, num_gpus=self.gpus or 0, max_retries=RETRIES)(_one)
            coming, waiting = iter(items), dict[Any, Item]()
            while True:
                there = ray.cluster_resources()
                at_once = [there.get("CPU", 1) // threads, *([there.get("GPU", 0) // self.gpus] if self.gpus else [])]
                room = AHEAD * max(1, int(min(at_once)))
                while len(waiting) < room and (item := next(coming, None)):
                    waiting[task.remote(work, reference, item.given, threads)] = item
                if not waiting:
                    return
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                try:
                    value = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise (error.cause or error) from error
                item = waiting.pop(done)
                tick(item.weight)
                yield item.name, value

    @contextmanager
    def _cluster(self) -> Iterator[tuple[Any, int]]:
        """(the module ray, connected; threads of a task)."""
        try:
            import ray
        except ImportError as error:
            raise BadInput("engine 'ray' needs Ray, which is not installed; expected: pip install 'whence[ray]'") from error
        started_here = not ray.is_initialized()
        if started_here:
            _check_address(self.address)
            os.environ.setdefault("RAY_worker_niceness", "0")  # else workers lower their own priority
            passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
            where = {"address": self.address} if self.address else {"address": "local", "include_dashboard": False}
            try:
                # what tasks print would mix with each other's; this process says when each is done
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
            most = max(node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"])
            if most < (self.gpus or 0):
                raise BadInput(f"a task needs {self.gpus:g} GPUs, but Ray's largest node has {most:g}; expected fewer per task")
            yield ray, threads
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


def _timed(piece: Piece, seed: int, threads: int) -> tuple[Rows, float]:
    torch.set_num_threads(threads)
    began = time.monotonic()
    return perform(piece, seed), time.monotonic() - began


_shared: dict[str, Any] = {}
"""What this worker has fetched: the model of the last job."""


def _one(work: Work, reference: list[Any], given: Any, threads: int) -> Any:
    import ray

    torch.set_num_threads(threads)
    key = reference[0].hex()
    if key not in _shared:
        _shared.clear()
        _shared[key] = ray.get(reference[0])
    return work(_shared[key], given, None)
