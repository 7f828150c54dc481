"""Which run folder the command at hand works in, so that an interrupt can say truly what is saved."""

from pathlib import Path

from whence.errors import visible

FINISHED = ("shards", "checkpoint", "best.safetensors", "results.json")
"""What a run folder holds once a part of the work is done."""
_folder: str | None = None


def in_folder(out: str) -> str:
    """Notes the folder that the verb runs in, or its address, and returns it."""
    global _folder
    _folder = out
    return out


def nowhere() -> None:
    global _folder
    _folder = None


def what_is_saved() -> str:
    """For the end of a sentence; nothing where nothing was saved."""
    if _folder is None:
        return "; nothing was saved"
    from whence.run.mirror import is_address, staging

    place = staging(_folder) / _folder.rstrip("/").rsplit("/", 1)[-1] if is_address(_folder) else Path(_folder)
    if not any((place / name).exists() for name in FINISHED):
        return "; nothing was saved"
    return f"; what is finished is saved in {visible(_folder)}: run the same command again to continue"
