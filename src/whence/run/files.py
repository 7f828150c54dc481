"""How files are written: whole or not at all, and only over what is ours.

Everything is written to a temporary name, brought to the disk (fsync) and moved into place, so a process that is killed at any
moment leaves whole files only. A file replaces a file and nothing else; a folder replaces a folder of a run and nothing else. A
link stays a link: what it points to is replaced. What fails removes its temporary file and is one line (`BadInput`).
"""

import errno
import itertools
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyarrow import ArrowException
from safetensors import SafetensorError

from whence.errors import BadInput

_SURROGATE = re.compile("[\ud800-\udfff]")
_HOST = re.sub(r"\W", "_", socket.gethostname())
_TEMPORARY = re.compile(r"\..+\.(\w+)-(\d+)-\d+\.tmp", re.DOTALL)
_numbers = itertools.count()
_seen: set[Path] = set()
_told: list[Callable[[Path], None]] = []


@contextmanager
def told_of_files(tell: Callable[[Path], None]) -> Iterator[None]:
    """While this is open, `tell` is called with every file and folder that has just taken its place (run/mirror.py)."""
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """`write` fills a file at a temporary path, which then takes the place of the file `path`."""
    with one_line(path):
        place = check_file(path)
        with _temporary(place) as temporary:
            write(temporary)
            if place.exists():
                shutil.copymode(place, temporary)
            _to_disk(temporary)
            temporary.replace(place)
            _to_disk(place.parent)
    for tell in _told:
        tell(place)


def check_file(path: Path) -> Path:
    """Refuses what a file must not replace, before work is done for it; returns the place behind links."""
    with one_line(path):
        place = _behind_links(path)
        if place.exists() and not place.is_file():
            raise BadInput(f"{path} is {'a folder' if place.is_dir() else 'not an ordinary file'}; expected the name of a file")
        if place.exists() and not os.access(place, os.W_OK):
            raise BadInput(f"{path} is read-only; expected a file that may be replaced, or a new name")
        return place


def replace_folder(path: Path, write: Callable[[Path], object]) -> None:
    """`write` makes a folder at a temporary path, which then takes the place of `path`, a folder inside a run folder."""
    with one_line(path):
        put_back(path)
        if os.path.lexists(path) and not (path.is_dir() and is_run_folder(path.parent)):
            raise BadInput(f"{path} is there already and is not part of a run; expected a new name")
        place = _behind_links(path)
        old = _old(place)
        with _temporary(place) as temporary:
            write(temporary)
            for part in (*temporary.rglob("*"), temporary):
                _to_disk(part)
            if place.exists():
                place.rename(old)
            try:
                temporary.rename(place)
            except OSError:
                put_back(place)
                raise
            _to_disk(place.parent)
        remove(old)
    for tell in _told:
        tell(place)


def put_back(path: Path) -> None:
    """Ends a replacement of a folder that was killed between its two moves: the old one returns where there is no new one."""
    place = _behind_links(path)
    old = _old(place)
    if place.exists():
        remove(old)
    elif old.exists():
        old.rename(place)


def remove(path: Path) -> None:
    """A file or folder of ours, if it is there; what cannot be removed now does no harm and is removed by the next run."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def remove_whole(path: Path) -> None:
    """A folder of ours, moved aside first: what stays if this is killed is in nobody's way."""
    aside = _aside(path)
    with suppress(OSError):
        path.rename(aside)
        remove(aside)


def is_temporary(path: Path) -> bool:
    return _TEMPORARY.fullmatch(path.name) is not None


def remove_leftovers(folder: Path, everyone: bool = False) -> None:
    """Temporary files of processes that are no more; those of `everyone` where a lock says that nobody else is at work."""
    for path in folder.iterdir() if folder.is_dir() else ():
        found = _TEMPORARY.fullmatch(path.name)
        if found and (everyone or (found[1] == _HOST and not _alive(int(found[2])))):
            remove(path)


def is_run_folder(path: Path) -> bool:
    """Whether a run of ours lives there: its config.json says with which versions."""
    try:
        return "versions" in read_json(path / "config.json")
    except BadInput:
        return False


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    # lone surrogates, which a text may hold, cannot be written as UTF-8: they stay JSON escapes
    text = _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))


def read_json(path: Path, remedy: str = "expected a JSON object") -> dict[str, Any]:
    """`remedy` tells the user what to do where it is damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read as JSON ({error}); {remedy}") from error
    if not isinstance(value, dict):
        raise BadInput(f"{path}: holds {json.dumps(value):.40}, which is no JSON object; {remedy}")
    return value


@contextmanager
def whole(path: Path, remedy: str) -> Iterator[None]:
    """Around the reading of a file of ours: where it is damaged, `remedy` tells the user what to do."""
    try:
        yield
    except BadInput:
        raise
    except (OSError, SafetensorError, ArrowException, LookupError, ValueError, RuntimeError, TypeError) as error:
        raise BadInput(f"{path}: cannot be read ({f'{error}':.100}); {remedy}") from error


@contextmanager
def one_line(path: Path) -> Iterator[None]:
    """What the disk refuses is the user's to mend."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from error
    except BadInput:
        raise
    except Exception as error:
        if not isinstance(error, SafetensorError) and "(os error " not in str(error):
            raise
        # what the disk says, as libraries that are written in Rust put it
        raise BadInput(f"{path}: cannot be written ({error})") from error


@contextmanager
def _temporary(place: Path) -> Iterator[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.parent not in _seen:  # once is enough: this process removes its own
        _seen.add(place.parent)
        remove_leftovers(place.parent)
    path = _aside(place)
    try:
        yield path
    finally:
        remove(path)


def _aside(place: Path) -> Path:
    """A name by which `remove_leftovers` knows what a process that is no more has left."""
    return place.with_name(f".{place.name}.{_HOST}-{os.getpid()}-{next(_numbers)}.tmp")


def _old(place: Path) -> Path:
    return place.with_name(f".{place.name}.old")


def _behind_links(path: Path) -> Path:
    place = Path(os.path.realpath(path))
    if place.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return place


def _to_disk(path: Path) -> None:
    if os.name != "posix":  # elsewhere folders cannot be opened
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot do it for folders
            raise
    finally:
        os.close(number)


def _alive(process: int) -> bool:
    if os.name != "posix":  # there a signal of 0 would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
