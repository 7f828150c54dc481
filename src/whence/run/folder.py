"""A run is a folder: config.json, shards/ (Parquet, one row per example), results.json.

Files are written whole (run/files.py), so a run that is killed at any moment leaves only whole files.
Running the same command again continues; another command in the same folder is refused, with the setting that differs.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whence.data import Example
from whence.errors import BadInput
from whence.run.files import one_line, read_json, write_atomically, write_json

LIBRARIES = ("whence", "torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


def digest(examples: Iterable[Example]) -> str:
    """What a run was about, all of it, short, for its config: a changed file must not continue an old run."""
    hashed = hashlib.sha256()
    for example in examples:
        said = [dict(annotator) for annotator in example.highlights]
        about = [example.choices, said, example.explanations, example.pairs, dict(example.meta)]
        hashed.update(json.dumps([example.id, dict(example.texts), example.label, about]).encode())
    return hashed.hexdigest()[:16]


class RunFolder:
    """Opens or continues a run. `config` is the whole setting of the run, filled in."""

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.path = path
        with one_line(path):
            self._open(json.loads(json.dumps(config)))

    def _open(self, config: dict[str, Any]) -> None:
        path, config_file = self.path, self.path / "config.json"
        if path.exists() and not path.is_dir():
            raise BadInput(f"{path} is a file; expected a new or empty folder, or that of the same run")
        if config_file.exists():
            before = {k: v for k, v in read_json(config_file).items() if k != "versions"}
            for key in sorted(before.keys() | config.keys()):
                if before.get(key) != config.get(key):
                    raise BadInput(
                        f"{path} holds another run: '{key}' is {json.dumps(before.get(key))} there "
                        f"and {json.dumps(config.get(key))} now; expected the same command, or another --out"
                    )
        elif path.exists() and any(path.iterdir()):
            raise BadInput(f"{path} is not empty and holds no run (no config.json); expected a new or empty folder")
        else:
            write_json(config_file, {**config, "versions": versions()})

    def shard_file(self, name: str) -> Path:
        return self.path / "shards" / f"{name}.parquet"

    def write_shard(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        table = pa.Table.from_pylist([dict(row) for row in rows])
        write_atomically(self.shard_file(name), lambda p: pq.write_table(table, p))

    def read_shard(self, name: str) -> list[dict[str, Any]] | None:
        """The rows of a finished shard, or None if it is still to be done."""
        file = self.shard_file(name)
        return pq.read_table(file).to_pylist() if file.exists() else None

    @property
    def results(self) -> dict[str, Any] | None:
        """The results of a finished run."""
        file = self.path / "results.json"
        return read_json(file) if file.exists() else None

    def finish(self, results: Mapping[str, Any]) -> None:
        write_json(self.path / "results.json", {**results, "versions": versions()})
