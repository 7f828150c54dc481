"""Explanations that were made elsewhere, measured: `whence.score`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whence.api.audits import AuditReport, finished, open_examples
from whence.api.inputs import check_seed
from whence.api.model import load
from whence.api.rationale_audits import REPORT
from whence.data.table import Columns
from whence.errors import BadInput
from whence.explain import check_hide
from whence.explain.given import read_groups
from whence.measure.audit import Audit, Say
from whence.run.mirror import inside, place_of


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

    explanations  one file or several: JSON lines of ours or of ERASER's form; every method in a file is measured apart
    """
    files = [Path(f) for f in ([explanations] if isinstance(explanations, str | Path) else explanations)]
    if not files:
        raise BadInput("no file of explanations was given; expected at least one")
    loaded = load(model)
    examples, name, split, notes = open_examples(loaded, data, name, split, None, check_seed(seed), data_root, columns)
    examples = list(examples)
    given = read_groups(files, examples)
    explained = {explanation.id for group in given.values() for explanation in group}
    hiding = None if hide is None else check_hide(hide)
    chosen = [example for example in examples if example.id in explained]
    job = Audit(loaded.name, name, split, chosen, (), measures, hiding, seed, {}, given, notes)
    with place_of(out, say) as place:
        return AuditReport(finished(job, loaded.classifier, *place), inside(out, REPORT))
