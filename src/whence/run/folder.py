"""A run is a folder: config.json, shards/ (Parquet, one row per example), results.json.

Files are written whole (run/files.py), so a run that is killed at any moment leaves only whole files. Running the same command
again continues. Another command, or other versions of the libraries, are refused with what differs, unless there is nothing to
lose yet. One process at a time works in the folder; a second one waits (run/lock.py).
"""

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from whence.data import Example
from whence.errors import BadInput
from whence.run.files import (
    is_run_folder,
    is_temporary,
    one_line,
    put_back,
    read_json,
    remove,
    remove_leftovers,
    whole,
    write_atomically,
    write_json,
)  # fmt: skip
from whence.run.lock import LOCK, locked

LIBRARIES = ("whence", "torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


def digest(examples: Iterable[Example]) -> str:
    """What a run was about, all of it, short, for its config: a changed file must not continue an old run."""
    hashed = hashlib.sha256()
    for example in examples:
        said = [dict(annotator) for annotator in example.highlights]
        about = [example.choices, said, example.explanations, example.pairs, dict(example.meta), dict(example.edits)]
        hashed.update(json.dumps([example.id, dict(example.texts), example.label, about]).encode())
    return hashed.hexdigest()[:16]


class RunFolder:
    """`with RunFolder(path, config, say) as folder:` begins or continues a run. `config` is its whole setting, filled in."""

    def __init__(self, path: Path, config: Mapping[str, Any], say: Callable[[str], None] = print) -> None:
        self.path, self.config, self.say = path, json.loads(json.dumps(config)), say
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with one_line(self.path):
            self._before()  # refuses what is not ours before anything is written there
            self.path.mkdir(parents=True, exist_ok=True)
            with ExitStack() as held:
                held.enter_context(locked(self.path, self.say))
                self._tidy()
                before = self._before()
                if before is None:
                    write_json(self.path / "config.json", {**self.config, "versions": versions()})
                elif before != versions():
                    self.say(f"{self.path} was made with {_differing(before, versions())}")
                self._held = held.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def _before(self) -> dict[str, Any] | None:
        """The versions that this run was begun with; None where nothing was done yet. Anything else is refused."""
        path, file = self.path, self.path / "config.json"
        if path.exists() and not path.is_dir():
            raise BadInput(f"{path} is a file; expected a new or empty folder, or that of the same run")
        if not file.exists():
            if path.exists() and self._has_more():
                raise BadInput(f"{path} is not empty and holds no run (no config.json); expected a new or empty folder")
            return None
        before = read_json(file, "give another --out, or remove this folder")
        then, now = before.pop("versions", None), versions()
        if not isinstance(then, dict):
            raise BadInput(f"{file} is not that of a run; expected a new or empty folder, or that of the same run")
        if (before, then) != (self.config, now) and not self._has_more():
            return None  # nothing was done, e.g. because a setting was wrong
        for key in sorted(before.keys() | self.config.keys()):
            if before.get(key) != self.config.get(key):
                raise BadInput(
                    f"{path} holds another run: '{key}' is {json.dumps(before.get(key))} there "
                    f"and {json.dumps(self.config.get(key))} now; expected the same command, or another --out"
                )
        if then != now and self.results is None:
            raise BadInput(
                f"{path} was begun with {_differing(then, now)}, and this is {_differing(now, then)}: "
                "their results must not mix; expected the same versions, or another --out"
            )
        return then

    def _has_more(self) -> bool:
        """Whether there is anything besides config.json and what a killed process leaves."""
        own = ("config.json", LOCK, "shards")
        return any(inside.name not in own and not is_temporary(inside) for inside in self.path.iterdir()) or any(
            not is_temporary(inside) for inside in self.path.glob("shards/*")
        )

    def _tidy(self) -> None:
        """Ends what a killed process left half done."""
        for place in (self.path, self.path / "shards"):
            remove_leftovers(place, everyone=True)
        if is_run_folder(self.path):
            for left in self.path.glob(".tmp??????"):  # safetensors' own temporary files
                remove(left)
        for old in self.path.glob(".*.old"):
            put_back(self.path / old.name[1 : -len(".old")])

    def shard_file(self, name: str) -> Path:
        return self.path / "shards" / f"{name}.parquet"

    def write_shard(self, name: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema | None = None) -> None:
        """`schema`: the columns; without it they are what the rows seem to hold."""
        content = parquet(rows, schema)
        write_atomically(self.shard_file(name), lambda p: p.write_bytes(content))

    def read_shard(self, name: str) -> list[dict[str, Any]] | None:
        """The rows of a finished shard, or None if it is still to be done."""
        file = self.shard_file(name)
        if not file.exists():
            return None
        return read_rows(file, "remove it and run the same command again, which makes it anew")

    @property
    def results(self) -> dict[str, Any] | None:
        """The results of a finished run."""
        file = self.path / "results.json"
        return read_json(file, "remove it and run the same command again") if file.exists() else None

    def finish(self, results: Mapping[str, Any]) -> None:
        write_json(self.path / "results.json", {**results, "versions": versions()})


def parquet(rows: Sequence[Mapping[str, Any]], schema: pa.Schema | None = None) -> pa.Buffer:
    """In memory: one write to the disk instead of one for each column."""
    table = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema), table)
    return table.getvalue()


def read_rows(file: Path, remedy: str) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    with whole(file, remedy):
        return pq.read_table(file).to_pylist()


def _differing(these: Mapping[str, Any], those: Mapping[str, Any]) -> str:
    """Those of `these` versions that are other ones in `those`."""
    names = [name for name in dict.fromkeys([*these, *those]) if these.get(name) != those.get(name)]
    return ", ".join(f"{name} {these.get(name, '(none)')}" for name in names)
