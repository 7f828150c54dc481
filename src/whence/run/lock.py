"""One process at a time in a folder: a file lock of the operating system, which ends with its process, however that ends."""

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

from whence.run.files import remove

try:
    import fcntl
except ImportError:  # not a POSIX system: there is no such lock
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
_IMPOSSIBLE = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


@contextmanager
def locked(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Waits until no other process holds the folder, and says which one does."""
    path = folder / LOCK
    file = _taken(path, say)
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now():%d %B, %H:%M}\n")
        file.flush()
        yield
    finally:
        remove(path)  # a file that stays does no harm: the lock itself ends with the file's closing
        file.close()


def _taken(path: Path, say: Callable[[str], None]) -> TextIO:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)  # the one who held it may have finished and removed the folder
        file = path.open("a+", encoding="utf-8", errors="replace")
        if fcntl is None:
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = "".join(c for c in file.readline(200) if c.isprintable())
            say(f"{path.parent} is in use by {holder or 'another process'}; waiting until that one ends")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _IMPOSSIBLE:
                raise
            say(f"{path.parent}: this file system has no locks; take care that no other process works there")
            return file
        # the one who held it removed the file on leaving: what counts is the file that is there now
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()
