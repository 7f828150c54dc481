"""Explanations of a whole corpus as one file, made part by part: `whence explain` and `whence align` with --data and --out.

While it is made, OUT.unfinished is a run folder with a file of JSON lines for each method and part. A run that is killed
continues with the first part that is missing; once all are there, they become one file, method by method, and the folder goes.
Memory holds one part, however long the corpus is.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from whence.data import Example, Selection
from whence.errors import BadInput
from whence.explain.lines import Storable, save_lines
from whence.run import RunFolder, Tick, check_file, digest, progress, write_atomically
from whence.run.engine import Engine, Item, LocalEngine
from whence.run.files import remove_whole

PARTS, FEWEST, MOST = 500, 32, 1024
"""A corpus is cut into about so many parts, each of so many examples: a part is what a killed run can lose."""

Make = Callable[[str, list[Example]], Sequence[Storable]]
"""(method, examples) → an explanation of each."""


def explain_to_file(
    out: Path,
    config: Mapping[str, Any],
    examples: Selection,
    methods: Sequence[str],
    make: Make,
    say: Callable[[str], None] = print,
    engine: Engine | None = None,
) -> int:
    """How many explanations `out` now holds. `config`: all that they depend on besides the examples and the methods."""
    check_file(out)
    settings = {**config, "methods": list(methods), "examples": len(examples), "examples_sha256": digest(examples)}
    with RunFolder(out.with_name(f"{out.name}.unfinished"), settings, say) as folder:
        shards = folder.path / "shards"

        def missing() -> Iterator[Item]:
            for number, part in enumerate(_parts(examples)):
                for i, method in enumerate(methods):
                    if (shards / (name := f"{i:02d}-{number:05d}.jsonl")).exists():
                        tick(len(part))
                    else:
                        yield Item(name, (method, part), len(part))

        try:
            with progress("explaining (examples × methods)", len(examples) * len(methods)) as tick:
                for name, made in (engine or LocalEngine()).spread(_explained, make, missing(), tick):
                    save_lines(shards / name, made)
        except BadInput:  # what was wrong from the start leaves nothing behind
            if not any(shards.glob("*.jsonl")):
                remove_whole(folder.path)
            raise
        # by the number of the method, then by that of the part
        write_atomically(out, lambda path: _join(path, sorted(shards.glob("*.jsonl"))))
        remove_whole(folder.path)
    return len(examples) * len(methods)


def _explained(make: Make, given: tuple[str, list[Example]], tick: Tick | None) -> Sequence[Storable]:
    made = make(*given)
    if tick:
        tick(len(made))
    return made


def _parts(examples: Selection) -> Iterator[list[Example]]:
    size, coming = min(MOST, max(FEWEST, len(examples) // PARTS)), iter(examples)
    while part := list(islice(coming, size)):
        yield part


def _join(path: Path, files: Sequence[Path]) -> None:
    with path.open("wb") as whole:
        for file in files:
            with file.open("rb") as part:
                shutil.copyfileobj(part, whole)
