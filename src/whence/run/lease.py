"""One process at a time at an address: a lock object that its owner renews.

A store of objects has no locks that end with their process. So the owner rewrites the object every few seconds. Who finds it
waits, and takes over once it has not changed for two minutes: its owner is dead. Nobody's clock is compared with another's. An
owner that was only asleep finds on waking that the lock is another's, and writes nothing more.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from whence.errors import BadInput, visible

BEAT, EXPIRES, POLL = 20.0, 120.0, 2.0
"""Seconds: between renewals, without one until an owner counts as dead, and between looks of one who waits."""


@contextmanager
def at_store(address: str, what: str) -> Iterator[None]:
    """Whatever a store raises is one line: every library has errors of its own."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise BadInput(f"{address}: cannot be {what} ({said:.200}); what is there already stays") from error


@contextmanager
def lease(store: Any, path: str, token: str, address: str, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Waits for the lock object at `path`, and holds it. Yields a function that raises where it has become another's.

    A lock with the same `token` is that of a process which is known to have ended.
    """
    held = Lease(store, path, token, address)
    with at_store(address, "locked"):
        held.take(say)
    stop = threading.Event()
    renewing = threading.Thread(target=held.renew, args=(stop,), daemon=True)
    renewing.start()
    try:
        yield held.check
    finally:
        stop.set()
        renewing.join()
        with suppress(Exception):  # one that stays ends by itself
            if held.owner() == token:
                store.rm_file(path)


class Lease:
    def __init__(self, store: Any, path: str, token: str, address: str) -> None:
        self.store, self.path, self.token, self.address = store, path, token, address
        self.since = f"{datetime.now():%d %B, %H:%M}"
        self.renewed, self.beats, self.lost_to = time.monotonic(), 0, ""

    def take(self, say: Callable[[str], None]) -> None:
        seen, since, waits = b"", time.monotonic(), False
        while True:
            there = self._read()
            if there is None:
                with suppress(FileExistsError):
                    self.store.pipe_file(self.path, self._content(), mode="create")
                there = self._read() or b""
            elif _said(there, "token") == self.token:
                self._write()
                there = self._read() or b""
            if _said(there, "token") == self.token:
                self.renewed = time.monotonic()
                return
            if there != seen:
                seen, since = there, time.monotonic()
            if not waits:
                say(f"{self.address} is in use by {_owner(there)}; waiting until that one ends")
                waits = True
            if time.monotonic() - since > EXPIRES:
                say(f"{self.address}: nothing was heard of {_owner(there)} for {EXPIRES:.0f} s; it counts as ended")
                if self._read() == seen:
                    self.store.rm_file(self.path)
            time.sleep(POLL)

    def renew(self, stop: threading.Event) -> None:
        while not stop.wait(BEAT):
            with suppress(Exception):  # a store that cannot be reached now: the next file that is put says so
                self._again()

    def check(self) -> None:
        if not self.lost_to and time.monotonic() - self.renewed > EXPIRES:
            self._again()
        if self.lost_to:
            raise BadInput(f"{self.address} was taken over by {self.lost_to}, because this process was not heard of for long")

    def owner(self) -> str:
        return _said(self._read() or b"", "token")

    def _again(self) -> None:
        there = self._read()
        if there is not None and _said(there, "token") != self.token:
            self.lost_to = _owner(there)
            return
        self._write()
        self.renewed = time.monotonic()

    def _write(self) -> None:
        self.beats += 1
        self.store.pipe_file(self.path, self._content())

    def _content(self) -> bytes:
        owner = f"process {os.getpid()} on {socket.gethostname()}, since {self.since}"
        return json.dumps({"owner": owner, "token": self.token, "beats": self.beats}).encode()

    def _read(self) -> bytes | None:
        self.store.invalidate_cache()
        try:
            return bytes(self.store.cat_file(self.path))
        except FileNotFoundError:
            return None


def _said(content: bytes, key: str) -> str:
    try:
        return str(json.loads(content)[key])
    except (ValueError, LookupError, TypeError):
        return ""


def _owner(content: bytes) -> str:
    return visible(_said(content, "owner")[:200]) or "another process"
