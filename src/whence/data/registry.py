"""The corpora that have a name, and the one door to all data: `open_corpus`.

Add a published corpus by adding its entry to a file in `readers/` (or a new file, named here).
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from whence.data import hub
from whence.data.corpus import Corpus
from whence.data.counterfactual import PREFIX, open_counterfactual
from whence.data.eraser import is_eraser, open_eraser
from whence.data.files import data_root, stored
from whence.data.joined import SIGN, joined
from whence.data.readers import cose, evidence, mimic, nli, rationales, semeval, sst, topics
from whence.data.readers.published import Published, PublishedCorpus
from whence.data.table import Columns, is_table, open_table
from whence.errors import BadInput, unknown

_FAMILIES = (nli, cose, sst, topics, semeval, rationales, evidence, mimic)
PUBLISHED: dict[str, Published] = {corpus.name: corpus for family in _FAMILIES for corpus in family.CORPORA}


def planted() -> dict[str, Callable[[int], Corpus]]:
    """Corpora that are generated from a seed; imported only when asked for, because most callers never need them."""
    from whence.data.planted import PLANTED

    return dict(PLANTED)


def names() -> list[str]:
    """All names that `open_corpus` knows."""
    return sorted([*PUBLISHED, *planted()])


def open_corpus(
    name_or_path: str | Path,
    root: Path | None = None,
    columns: Columns | None = None,
    labels: Sequence[str] | None = None,
    seed: int = 0,
) -> Corpus:
    """A corpus by name, or a user's file, or a folder with train, dev and test files, or an ERASER folder.

    Names joined with "+" are read as one corpus (`joined`). Published corpora are looked for below `root`, else below the
    environment variable WHENCE_DATA; with neither, those that the Hugging Face hub has are fetched from there. `columns` and
    `labels` are for files, `seed` for planted corpora. "counterfactual:" before a file, folder, `reviews` or `scenes` reads, or
    plants, pairs of texts that differ in a few words and in their label.
    """
    name = str(name_or_path)
    path = expanded(name)
    named = isinstance(name_or_path, str)  # a `Path` is always a path: Path("./reviews") has forgotten its dot
    if named and name in PUBLISHED:
        if root is None and not os.environ.get("WHENCE_DATA") and name in hub.HUB:
            return hub.open_hub(name, PUBLISHED[name])
        return PUBLISHED[name].at(data_root(root))
    if named and name in planted():
        return planted()[name](seed)
    if named and name.startswith(PREFIX):
        return _counterfactual(name.removeprefix(PREFIX), labels, seed)
    parts = name.split(SIGN)
    if named and len(parts) > 1 and set(parts) <= {*PUBLISHED, *planted()}:
        return joined([open_corpus(part, root, seed=seed) for part in parts])
    if path.is_dir():
        return open_eraser(path) if is_eraser(path) else open_table(path, columns, labels)
    if path.is_file():
        return open_table(path, columns, labels)
    if not named or is_table(path) or len(path.parts) > 1:
        raise BadInput(f"{name}: no such file or folder; expected a file (.csv, .tsv, .jsonl), a folder, or a corpus's name")
    raise unknown("corpus", name, names())


def _counterfactual(source: str, labels: Sequence[str] | None, seed: int) -> Corpus:
    from whence.data.planted.counterparts import COUNTERPARTS, planted_pairs

    return planted_pairs(source, seed) if source in COUNTERPARTS else open_counterfactual(Path(source).expanduser(), labels)


def expanded(name: str) -> Path:
    """With ~ and ~user filled in; a user whom nobody knows is taken as it is written."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def catalogue(root: Path | None = None) -> list[dict[str, Any]]:
    """Every named corpus with its task, splits and whether it can be read here; `root` as in `open_corpus`."""
    below = data_root(root) if root is not None or os.environ.get("WHENCE_DATA") else None
    rows: list[dict[str, Any]] = []
    for name in names():
        corpus = planted()[name](0) if name in planted() else PUBLISHED[name].at(below or Path())
        files = corpus.files if isinstance(corpus, PublishedCorpus) else ()
        here = name in planted() or (below is not None and all(_is_stored(below, file.name) for file in files))
        rows.append({"name": name, "task": corpus.task, "labels": list(corpus.labels), "splits": list(corpus.splits),
                     "here": here, "about": corpus.about})  # fmt: skip
    return rows


def _is_stored(root: Path, name: str) -> bool:
    try:
        return stored(root, name).is_file()
    except BadInput:
        return False
