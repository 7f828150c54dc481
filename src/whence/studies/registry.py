"""The studies by name. Add a package to this room that exports STUDY, and its line here; or `register` one from outside."""

from importlib import import_module
from importlib.util import find_spec

from whence.errors import unknown
from whence.studies.study import Study

STUDIES: dict[str, str | Study] = {
    "attention": "whence.studies.attention",
    "saloss": "whence.studies.saloss",
    "alignment": "whence.studies.alignment",
    "association": "whence.studies.association",
    "mpii": "whence.studies.mpii",
}


def register(study: Study) -> Study:
    """A study from outside this package, under its own name, for the time of this process."""
    if study.name in STUDIES:
        raise ValueError(f"there is a study '{study.name}' already; expected another name")
    STUDIES[study.name] = study
    return study


def names() -> list[str]:
    return [name for name, where in STUDIES.items() if not isinstance(where, str) or find_spec(where) is not None]


def find_study(name: str) -> Study:
    if name not in names():
        raise unknown("study", name, names())
    where = STUDIES[name]
    return import_module(where).STUDY if isinstance(where, str) else where
