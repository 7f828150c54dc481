"""The studies by name. Add one by adding a package to this room that exports STUDY, and its line here."""

from importlib import import_module
from importlib.util import find_spec

from whence.errors import unknown
from whence.studies.study import Study

STUDIES = {
    "attention": "whence.studies.attention",
    "saloss": "whence.studies.saloss",
    "alignment": "whence.studies.alignment",
    "association": "whence.studies.association",
    "mpii": "whence.studies.mpii",
}


def names() -> list[str]:
    return [name for name, module in STUDIES.items() if find_spec(module) is not None]


def find_study(name: str) -> Study:
    if name not in names():
        raise unknown("study", name, names())
    return import_module(STUDIES[name]).STUDY
