"""Explanations that were made elsewhere: files of ours or of ERASER's form, each method in them a group of its own.

A group is called by its file, "mine.jsonl"; by file and method where a file holds several, "mine.jsonl: lime"; by the whole
path where two files have the same name. No group is ever called as one of our own methods is, so none takes the place of our
random explainer.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from whence.data import Example
from whence.data.corpus import BadRow
from whence.data.files import json_rows
from whence.errors import BadInput
from whence.explain.eraser_file import eraser_rows
from whence.explain.explanation import FORMAT, TokenScores
from whence.explain.lines import numbered_lines
from whence.explain.tokens import METHODS


def read_explanations(path: Path, examples: Sequence[Example]) -> list[TokenScores]:
    """All explanations of a file, told apart by its first row; `examples` give the texts of ERASER's form."""
    return [explanation for _, explanation in _rows(path, examples)]


def read_groups(paths: Sequence[Path], examples: Sequence[Example]) -> dict[str, list[TokenScores]]:
    """The explanations of each file and method, by the name of the group; all of them of `examples`, one for each."""
    known = {example.id for example in examples}
    if len(known) < len(examples):
        raise BadInput(f"{len(examples) - len(known)} of the {len(examples)} examples share an id; expected one id for each")
    names = [path.name for path in paths]
    groups: dict[str, list[TokenScores]] = {}
    for number, path in enumerate(paths):
        if any(path.resolve() == other.resolve() for other in paths[:number]):
            raise BadInput(f"{path}: this file of explanations was given twice; expected each once")
        by_method: dict[str, dict[str, TokenScores]] = {}
        for row, explanation in _rows(path, examples):
            if explanation.id not in known:
                raise BadInput(f"{path}, row {row}: example '{explanation.id}' is not among the {len(known)} of the data")
            group = by_method.setdefault(explanation.method, {})
            if explanation.id in group:
                raise BadInput(
                    f"{path}, row {row}: example '{explanation.id}' is explained by '{explanation.method}' for the second "
                    "time; expected one row for each example and method"
                )
            group[explanation.id] = explanation
        file = path.name if names.count(path.name) == 1 else str(path)
        for method, group in by_method.items():
            name = file if len(by_method) == 1 else f"{file}: {method}"
            groups[f"{name} (file)" if name in METHODS else name] = list(group.values())
    return groups


def _rows(path: Path, examples: Sequence[Example]) -> Iterator[tuple[int, TokenScores]]:
    """(row number, explanation)."""
    first = next(json_rows(path))
    if isinstance(first, BadRow):
        raise BadInput(str(first))
    if "annotation_id" in first[1]:
        return eraser_rows(path, examples, "eraser")
    return numbered_lines(path, FORMAT, TokenScores.from_dict)
