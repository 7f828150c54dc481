"""Do the labels and rationales of a model that writes both belong together? `whence.audit` of such a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whence.api.model import Model
from whence.errors import BadInput
from whence.explain.parameters import check_parameters, filled
from whence.measure.association import RationaleAudit, WrittenRationale
from whence.measure.association_run import Say, run_rationale_audit
from whence.models.generator import Generator
from whence.report.association_report import write_association_report
from whence.run.engine import Engine

METHOD = WrittenRationale()
REPORT = "report.html"


def rationale_settings(parameters: Mapping[str, Mapping[str, Any]], hide: str | None) -> dict[str, Any]:
    """Checked before any work."""
    if hide is not None:
        raise BadInput("--hide is for explanations by words; expected --method beside it, or no --hide to audit rationales")
    check_parameters({METHOD.name: METHOD}, parameters)
    return filled(METHOD, parameters.get(METHOD.name))


def run_rationales(job: RationaleAudit, model: Model, out: Path, say: Say, engine: Engine) -> dict[str, Any]:
    assert isinstance(model.classifier, Generator)
    results = run_rationale_audit(job, model.classifier, out, say, engine)
    write_association_report(results, out / REPORT)
    return results
