"""What the result of a training depends on: the settings, the examples of every split, and what stands in the files they name.

A cached model is found by all of it together, so another test set, other vectors, a base model that was trained again, or a new
version of Whence is another training, never an old result under a new question.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from whence.data import Corpus, Example
from whence.models.build import NAMES
from whence.models.sim_build import JOINT
from whence.models.text_models import BUILDERS
from whence.run import digest

OURS = (*NAMES, *BUILDERS, *JOINT)


def depends_on(settings: Mapping[str, Any], corpus: Corpus, splits: Mapping[str, Sequence[Example]]) -> dict[str, Any]:
    """JSON for config.json. `settings` are the job's; a text in it that names a file or a model's folder counts by content."""
    built = settings["model"] in OURS  # then it names no file, whatever lies in the working directory
    files = {name: _content(path) for name, path in sorted(_files({**settings, "model": None} if built else settings))}
    named = [settings["model"], settings["options"].get("encoder"), settings["options"].get("base")]
    return {
        "labels": list(corpus.labels),
        "examples_sha256": {split: digest(examples) for split, examples in splits.items()},
        "files_sha256": files,
        "hub_versions": {name: _hub_version(name) for name in named if name and name not in OURS and name not in files},
    }


def _hub_version(name: str) -> str | None:
    """The commit of a model of the hub, where it is there to be asked; None for our own architectures and where it is not."""
    try:
        return getattr(AutoConfig.from_pretrained(name, trust_remote_code=False), "_commit_hash", None)
    except (OSError, ValueError):
        return None


def _files(value: Any) -> Iterator[tuple[str, Path]]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _files(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _files(inner)
    elif isinstance(value, str) and value and len(value) < 4096 and "\0" not in value:
        path = Path(value)
        for folder in (path / "model", path):  # a run folder of `whence train` holds its model in model/
            if (folder / "config.json").is_file():
                yield value, folder
                return
        if path.is_file():
            yield value, path


def _content(path: Path) -> str:
    """A hash of a file, or of the files of a folder with their names (not of folders in it: `from_pretrained` reads none)."""
    if path.is_file():
        return _file_hash(path, path.stat().st_mtime_ns, path.stat().st_size)
    hashed = hashlib.sha256()
    for file in sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith(".")):
        hashed.update(f"{file.name}\0{_content(file)}\0".encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()[:16]


@lru_cache(maxsize=256)  # a study asks for the same vectors and models many times; a changed file has another time or size
def _file_hash(path: Path, _changed: int, _size: int) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]
