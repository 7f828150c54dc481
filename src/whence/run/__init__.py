"""How work is done: the runner, run folders, progress."""

from whence.run.cache import cache_folder
from whence.run.engine import Piece
from whence.run.files import check_file, read_json, remove, replace_folder, whole, write_atomically, write_json
from whence.run.folder import RunFolder, digest, read_rows, versions
from whence.run.plan import DryRunner
from whence.run.progress import progress
from whence.run.runner import Paid, Request, Result, Rounds, Runner, Tick

__all__ = [
    "DryRunner",
    "Paid",
    "Piece",
    "Request",
    "Result",
    "Rounds",
    "RunFolder",
    "Runner",
    "Tick",
    "cache_folder",
    "check_file",
    "digest",
    "progress",
    "read_json",
    "read_rows",
    "remove",
    "replace_folder",
    "versions",
    "whole",
    "write_atomically",
    "write_json",
]
