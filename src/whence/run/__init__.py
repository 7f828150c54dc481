"""How work is done: the runner, run folders, progress."""

from whence.run.folder import RunFolder, read_json, versions, write_atomically, write_json
from whence.run.progress import progress
from whence.run.runner import Paid, Request, Result, Runner, Steps, Tick

__all__ = [
    "Paid", "Request", "Result", "RunFolder", "Runner", "Steps", "Tick", "progress", "read_json", "versions",
    "write_atomically", "write_json",
]  # fmt: skip
