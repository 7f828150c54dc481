"""A run at an fsspec address (s3://…, gs://…, memory://…): worked on in a folder here, kept there.

The folder here lies in the cache. Every file is copied to the address as soon as it is whole; at the start, what the address
holds is fetched. So a run that is killed on one machine continues on another. A store of objects cannot replace a folder at
once: until the run is finished, a folder (a checkpoint) is one object there, NAME.tar. results.json comes last. Only then is
what the run removed here removed there, and nothing that the run did not put or fetch.
"""

import json
import re
import tarfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from whence.errors import BadInput
from whence.run.cache import cache_folder
from whence.run.files import remove, told_of_files
from whence.run.lease import at_store, lease
from whence.run.lock import locked

Say = Callable[[str], None]
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
SENT, TOKEN = ".sent", ".token"
UNFINISHED = ".unfinished"
"""What the folder of a file that is being made is called (explain/to_file.py)."""


class Place(NamedTuple):
    """Where to work, and whom to tell: lines name the address, not the folder here."""

    path: Path
    say: Say


def is_address(out: str | Path) -> bool:
    return isinstance(out, str) and _ADDRESS.match(out) is not None


def inside(out: str | Path, name: str) -> Path | str:
    """A file of the run, as its user calls it."""
    return f"{str(out).rstrip('/')}/{name}" if is_address(out) else Path(out) / name


def staging(address: str) -> Path:
    """The folder here that stands for an address; the run is in it, under its own name."""
    return cache_folder("addresses", {"address": address.rstrip("/")}).resolve()


@contextmanager
def place_of(out: str | Path, say: Say, file: bool = False) -> Iterator[Place]:
    """`out` itself if it is a path; if it is an address, a path here whose files are kept there. `file`: it names a file."""
    if not is_address(out):
        yield Place(Path(out), say)
        return
    address = str(out).rstrip("/")
    with at_store(address, "reached"):
        import fsspec
        from fsspec.implementations.local import LocalFileSystem

        store, root = fsspec.core.url_to_fs(str(out))
    if isinstance(store, LocalFileSystem):
        yield Place(Path(root), say)
        return
    root = root.rstrip("/")
    name = root.rsplit("/", 1)[-1]
    if name in ("", ".", "..") or "\0" in name:
        raise BadInput(f"{address}: expected the name of a {'file' if file else 'folder'} after the last /")
    place = staging(address) / name

    def named(line: str) -> str:
        return line.replace(str(place), address)

    mirror = Mirror(store, root, place, address, file)
    try:
        mirror.check()
        with locked(place.parent, lambda line: say(line.replace(str(place.parent), address))):
            token = _token(place.parent)
            with lease(store, f"{mirror.root}/.lock", token, address, say) as mirror.mine:
                mirror.fetch()
                with told_of_files(mirror.put):
                    yield Place(place, lambda line: say(named(line)))
                mirror.finish()
            remove(place.parent)
    except BadInput as error:
        raise BadInput(named(str(error))) from error


class Mirror:
    """`root` at the store, and `here`, are the run's folder; of a file that is being made, the folder beside it."""

    def __init__(self, store: Any, root: str, place: Path, address: str, file: bool) -> None:
        self.store, self.place, self.address, self.file = store, place, address, file
        self.out = root
        self.root = root + UNFINISHED * file
        self.here = place.with_name(place.name + UNFINISHED * file)
        self.sent: dict[str, Any] = {}
        """What the address holds of this run, by name: which version, as far as it was put or fetched from here."""
        self.mine: Callable[[], None] = lambda: None

    def check(self) -> None:
        """Refuses what is not ours, before anything is fetched or written."""
        with at_store(self.address, "read"):
            self.store.invalidate_cache()
            if self.file and self.store.isdir(self.out):
                raise BadInput(f"{self.address} is a folder; expected the name of a file")
            if not self.file and self.store.isfile(self.out):
                raise BadInput(f"{self.address} is a file; expected a new or empty folder, or that of the same run")
            there = self._there()
            if there and "config.json" not in there:
                raise BadInput(f"{self.address} is not empty and holds no run (no config.json); expected a new or empty folder")

    def fetch(self) -> None:
        """Makes the folder here what the address holds. What could not be put the last time is kept."""
        with at_store(self.address, "read"):
            self.store.invalidate_cache()
            there = {name: self.store.checksum(f"{self.root}/{name}") for name in self._there()}
            before, config = self._sent_before(), self.here / "config.json"
            same = "config.json" in there and config.is_file()
            if not same or self.store.cat_file(f"{self.root}/config.json") != config.read_bytes():
                remove(self.here)
            have = set()
            for path in self._files():
                name = self._unit(path, there, before)
                if name in there and before.get(name) == there[name]:
                    have.add(name)
                elif name in there or name in before:
                    remove(path)
            (self.place.parent / SENT).unlink(missing_ok=True)
            # of a finished run only results are shown
            wanted = [name for name in there if "/" not in name or "results.json" not in there or name in have]
            # config.json last: without it, what was fetched by half is fetched again
            for name in sorted(wanted, key=lambda name: name == "config.json"):
                if name not in have:
                    self._fetch(name)
                self._note(name, there[name])

    def _fetch(self, name: str) -> None:
        target = self.here / name
        target.parent.mkdir(parents=True, exist_ok=True)
        half = target.with_name(f".{target.name}.fetched")
        self.store.get_file(f"{self.root}/{name}", str(half))
        if name.endswith(".tar"):
            folder = target.with_suffix("")
            remove(folder)
            with tarfile.open(half) as packed:
                packed.extractall(folder, filter="data")
            remove(half)
        else:
            half.replace(target)

    def put(self, path: Path) -> None:
        """A file or folder that has just taken its place."""
        if path == self.place and self.file:
            self._put(path, self.out)
        elif self.here in path.parents and not _hidden(name := path.relative_to(self.here)) and name.name:
            if path.is_dir():
                packed = path.with_name(f".{path.name}.packed")
                with tarfile.open(packed, "w") as archive:
                    archive.add(path, arcname=".")
                self._put(packed, f"{self.root}/{name.as_posix()}.tar")
                remove(packed)
            elif name.as_posix() != "results.json":
                self._put(path, f"{self.root}/{name.as_posix()}")

    def finish(self) -> None:
        """The rest: folders as they are, results.json, and then what is to go."""
        files = {path.relative_to(self.here).as_posix(): path for path in self._files()}
        for name in sorted(files.keys() - self.sent.keys(), key=lambda name: name == "results.json"):
            self._put(files[name], f"{self.root}/{name}")
        with at_store(self.address, "written"):
            for name in sorted(self.sent.keys() - files.keys(), key=lambda name: name == "config.json"):
                self.mine()
                self.store.rm_file(f"{self.root}/{name}")

    def _put(self, path: Path, target: str) -> None:
        with at_store(self.address, "written"):
            self.mine()
            self.store.put_file(str(path), target)
            if target != self.out:
                self._note(target[len(self.root) + 1 :], self.store.checksum(target))

    def _there(self) -> list[str]:
        found = [path[len(self.root) + 1 :] for path in self.store.find(self.root)]
        return [name for name in found if name and not _hidden(Path(name))]

    def _files(self) -> list[Path]:
        return [path for path in self.here.rglob("*") if path.is_file() and not _hidden(path.relative_to(self.here))]

    def _unit(self, path: Path, *known: dict[str, Any]) -> str:
        """The object that a file here is part of: its own, or that of the folder around it."""
        own = path.relative_to(self.here)
        packed = (f"{folder.as_posix()}.tar" for folder in own.parents if folder.name)
        return next((name for name in packed if any(name in names for names in known)), own.as_posix())

    def _note(self, name: str, version: Any) -> None:
        self.sent[name] = version
        with (self.place.parent / SENT).open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, version]) + "\n")

    def _sent_before(self) -> dict[str, Any]:
        try:
            lines = (self.place.parent / SENT).read_text(encoding="utf-8").splitlines()
            return dict(json.loads(line) for line in lines)
        except (OSError, ValueError):  # cut short by a kill: all is fetched again
            return {}


def _token(folder: Path) -> str:
    """Of this folder here: a lease with it belongs to a process that is no more, because the folder's lock is ours."""
    file = folder / TOKEN
    if not file.exists():
        file.write_text(uuid.uuid4().hex)
    return file.read_text()


def _hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)
