"""One progress bar for all long work: what is being done, how much is done, the rate and the time left.

Where standard error is no terminal (a log file), a plain line every half minute says the same.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from whence.run.runner import Tick


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="dim")


@contextmanager
def progress(what: str, total: int, done: int = 0) -> Iterator[Tick]:
    """`with progress("Explaining", 200) as tick: … tick(1)`; goes to standard error."""
    if not sys.stderr.isatty():
        yield _log_lines(what, total, done)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda n: bar.advance(task, n)


def _log_lines(what: str, total: int, done: int, every: float = 30.0) -> Tick:
    started = last = time.monotonic()
    already, now_done = done, done

    def tick(n: int) -> None:
        nonlocal last, now_done
        now_done += n
        now = time.monotonic()
        if now - last >= every:
            last = now
            rate = (now_done - already) / (now - started)
            sys.stderr.write(f"{what}: {now_done}/{total}, {rate:.1f}/s, {(total - now_done) / max(rate, 1e-9):.0f} s left\n")
            sys.stderr.flush()

    return tick
