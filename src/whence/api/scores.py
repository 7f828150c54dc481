"""Explanations that were made elsewhere, measured: `whence.score`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whence.api.audits import AuditReport, finished, open_examples
from whence.api.inputs import check_seed
from whence.api.model import load
from whence.data import Example
from whence.data.corpus import BadRow
from whence.data.files import json_rows
from whence.data.table import Columns
from whence.errors import BadInput
from whence.explain import TokenScores, check_hide, load_explanations
from whence.explain.eraser_file import load_eraser
from whence.measure.audit import Audit, Say


def score(
    explanations: str | Path | Sequence[str | Path],
    model: Any,
    data: Any,
    out: str | Path,
    *,
    measures: Sequence[str] = (),
    split: str | None = None,
    hide: str | None = None,
    seed: int = 0,
    data_root: str | Path | None = None,
    columns: Columns | None = None,
    name: str = "examples",
    say: Say = print,
) -> AuditReport:
    """Measures explanations that were made elsewhere, beside random ones, on the model and data that they belong to.

    explanations  one file or several: JSON lines of ours or of ERASER's form
    """
    files = [Path(f) for f in ([explanations] if isinstance(explanations, str | Path) else explanations)]
    if not files:
        raise BadInput("no file of explanations was given; expected at least one")
    loaded = load(model)
    examples, name, split, notes = open_examples(loaded, data, name, split, None, check_seed(seed), data_root, columns)
    known = {example.id: example for example in examples}
    given = {file.name: read_explanations(file, examples) for file in files}
    ids = [e.id for e in next(iter(given.values()))]
    strange = [i for i in ids if i not in known]
    if strange:
        raise BadInput(f"{files[0]}: example '{strange[0]}' is not in split '{split}' of {name}")
    hiding = None if hide is None else check_hide(hide)
    chosen = [known[i] for i in dict.fromkeys(ids)]
    job = Audit(loaded.name, name, split, chosen, (), measures, hiding, seed, {}, given, notes)
    return finished(job, loaded.classifier, out, say)


def read_explanations(path: Path, examples: Sequence[Example]) -> list[TokenScores]:
    """Explanations from a file of ours or of ERASER's form, told apart by their first row; `examples` give ERASER's texts."""
    first = next(json_rows(path))
    if isinstance(first, BadRow):
        raise BadInput(str(first))
    return load_eraser(path, examples) if "annotation_id" in first[1] else load_explanations(path)
