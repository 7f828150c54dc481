"""`open_template`: by name, or from a user's small JSON or TOML file.

    source = "Review: {text}\\nSentiment:"
    target = " {label}"
    stop = "\\n"

    [[demonstrations]]
    text = "A charming film."
    label = "positive"

`source` and `target` are needed; `choice`, `between`, `stop` and `demonstrations` may be given. A demonstration has the
fields of an example's texts, and label, choices (a list), rationale.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from whence.data.example import FIELDS, Example
from whence.data.template.known import TEMPLATES
from whence.data.template.template import Template
from whence.errors import BadInput, unknown

KEYS = ("source", "target", "choice", "between", "stop")
READERS = {".json": json.loads, ".toml": tomllib.loads}
_TEXTS = tuple(name for names in FIELDS.values() for name in names)


def open_template(name_or_path: str) -> Template:
    """The template of that name, or the one in that file (.json or .toml)."""
    path = Path(name_or_path)
    if name_or_path in TEMPLATES:
        return TEMPLATES[name_or_path]
    if path.suffix not in READERS:
        raise unknown("template", name_or_path, [*TEMPLATES, "a file (.json, .toml)"])
    try:
        given = READERS[path.suffix](path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); expected a template file") from None
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and both parsers' errors are ValueErrors
        raise BadInput(f"{path}: not {path.suffix[1:].upper()} ({error}); expected a template with source and target") from None
    return _template(str(path), given)


def _template(file: str, given: Any) -> Template:
    if not isinstance(given, dict):
        raise BadInput(f"{file}: {type(given).__name__}; expected a table with source and target")
    for key, value in given.items():
        if key not in (*KEYS, "demonstrations"):
            raise BadInput(f"{file}: unknown key '{key}'; expected {', '.join(KEYS)}, demonstrations")
        if key in KEYS and not isinstance(value, str):
            raise BadInput(f"{file}: {key} is {value!r:.40}; expected text")
    for key in ("source", "target"):
        if key not in given:
            raise BadInput(f"{file}: no {key}; expected a template with source and target")
    rows = given.get("demonstrations", [])
    if not isinstance(rows, list):
        raise BadInput(f"{file}: demonstrations is {rows!r:.40}; expected a list of tables")
    shown = tuple(_demonstration(file, number, row) for number, row in enumerate(rows, start=1))
    return Template(file, demonstrations=shown, **{key: given[key] for key in KEYS if key in given})


def _demonstration(file: str, number: int, row: Any) -> Example:
    where = f"{file}, demonstration {number}"
    if not isinstance(row, dict):
        raise BadInput(f"{where}: {row!r:.40}; expected a table with the texts, label, choices, rationale")
    choices = row.get("choices", [])
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise BadInput(f"{where}: choices is {choices!r:.40}; expected a list of texts")
    for key, value in row.items():
        if key not in (*_TEXTS, "label", "choices", "rationale"):
            raise BadInput(f"{where}: unknown key '{key}'; expected {', '.join(_TEXTS)}, label, choices, rationale")
        if key != "choices" and not isinstance(value, str):
            raise BadInput(f"{where}: {key} is {value!r:.40}; expected text")
    texts = {name: row[name] for name in _TEXTS if name in row}
    why = (row["rationale"],) if "rationale" in row else ()
    return Example(f"demonstration {number}", texts, row.get("label"), tuple(choices), explanations=why)
