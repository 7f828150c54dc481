"""Which run folder the command at hand works in, so that an interrupt can say truly what is saved."""

from pathlib import Path
from typing import TypeVar

from whence.errors import visible

FINISHED = ("shards", "checkpoint", "best.safetensors", "results.json")
"""What a run folder holds once a part of the work is done."""
_folder: Path | None = None


Folder = TypeVar("Folder", Path, None)


def in_folder(path: Folder) -> Folder:
    """Notes the folder that the verb runs in, and returns it."""
    global _folder
    _folder = path
    return path


def what_is_saved() -> str:
    """For the end of a sentence; nothing where nothing was saved."""
    if _folder is None or not any((_folder / name).exists() for name in FINISHED):
        return "; nothing was saved"
    return f"; what is finished is saved in {visible(str(_folder))}: run the same command again to continue"
