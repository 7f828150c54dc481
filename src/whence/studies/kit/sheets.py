"""Human judgements: sheets to fill in, and filled sheets read back.

Judges see neither the method nor the model: a row has a number, and a key kept apart says what the number stands for. A sheet
is a CSV file to fill in and an HTML page with the pictures, in one random order. Any number of judges fill in copies; each copy
is read back by its file.
"""

import csv
import html
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.data.corpus import BadRow
from whence.data.files import table_rows
from whence.errors import BadInput, visible
from whence.run import write_atomically

Answers = dict[tuple[tuple[str, str], ...], list[str]]
"""By what was judged: (("method", "arec"), ("model", "da"), …) → ["4", "5"]."""


@dataclass(frozen=True)
class Sheet:
    name: str
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """One thing to be judged: what it stands for, what the judge reads, and a picture as HTML of our own."""

    key: Mapping[str, str]
    texts: Mapping[str, str]
    label: str
    explanation: str
    picture: str


def write_sheet(folder: Path, sheet: Sheet, items: Sequence[Item], seed: int = 0) -> None:
    """`folder`/NAME.csv to fill in, NAME.html with the pictures, NAME-key.json, which the judges do not see."""
    order = random.Random(f"{seed}/{sheet.name}").sample(range(len(items)), len(items))
    shuffled = [items[i] for i in order]
    key = {str(number): dict(item.key) for number, item in enumerate(shuffled, 1)}
    write_atomically(_key(folder, sheet), lambda p: p.write_text(json.dumps(key, indent=1), encoding="utf-8"))
    write_atomically(folder / f"{sheet.name}.csv", lambda p: _write_csv(p, shuffled))
    write_atomically(folder / f"{sheet.name}.html", lambda p: p.write_text(_page(sheet, shuffled), encoding="utf-8"))


def judged(folder: Path, sheet: Sheet, items: Sequence[Item], seed: int = 0) -> Answers:
    """Writes the sheet if it is not there, and reads what judges have put into `folder`/answers."""
    if items and not _key(folder, sheet).exists():
        write_sheet(folder, sheet, items, seed)
    files = sorted((folder / "answers").glob(f"{sheet.name}*.csv"))
    return read_sheets(folder, sheet, files) if files else {}


def _key(folder: Path, sheet: Sheet) -> Path:
    return folder / f"{sheet.name}-key.json"


def _write_csv(path: Path, items: Sequence[Item]) -> None:
    with path.open("w", encoding="utf-8", newline="", errors="replace") as file:
        writer = csv.writer(file)
        writer.writerow(["number", *items[0].texts, "label", "explanation", "answer"])
        for number, item in enumerate(items, 1):
            cells = [*item.texts.values(), item.label, item.explanation]
            writer.writerow([number, *(_harmless(visible(cell)) for cell in cells), ""])


def _harmless(cell: str) -> str:
    """A spreadsheet takes a cell that starts with = + - @ for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell


def _page(sheet: Sheet, items: Sequence[Item]) -> str:
    parts = []
    for number, item in enumerate(items, 1):
        texts = "".join(f"<p><small>{name}</small> {html.escape(visible(text))}</p>" for name, text in item.texts.items())
        parts.append(f"<section><h2>{number}</h2>{texts}{item.picture}</section>")
    style = "body{font:1rem/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}section{margin:3rem 0}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{sheet.name}</title><style>{style}</style><h1>{html.escape(sheet.question)}</h1>{''.join(parts)}</html>"
    )


def read_sheets(folder: Path, sheet: Sheet, files: Sequence[Path]) -> Answers:
    """The answers of all judges, in the order of the files."""
    key_file = _key(folder, sheet)
    if not key_file.is_file():
        raise BadInput(f"{key_file}: no such file; expected the key that was written with the sheet")
    key = json.loads(key_file.read_text(encoding="utf-8"))
    answers: Answers = defaultdict(list)
    for file in files:
        seen: set[str] = set()
        for item in table_rows(file, needs=("number", "answer")):
            if isinstance(item, BadRow):
                raise BadInput(str(item))
            row_number, row = item
            number, answer = row["number"].strip(), row["answer"].strip().lower()
            if number not in key or number in seen:
                problem = "is there twice" if number in seen else "is not of this sheet"
                raise BadInput(f"{file}, row {row_number}: number '{number}' {problem}; expected 1 to {len(key)}, each once")
            if answer not in sheet.answers:
                known = ", ".join(sheet.answers)
                raise BadInput(f"{file}, row {row_number}: answer '{answer}' to number {number}; expected one of {known}")
            seen.add(number)
            answers[tuple(sorted(key[number].items()))].append(answer)
        if len(seen) < len(key):
            missing = next(number for number in key if number not in seen)
            raise BadInput(f"{file}: {len(seen)} of {len(key)} rows; expected all (number {missing} is missing)")
    return dict(answers)


def answers_by(answers: Answers, *parts: str) -> dict[tuple[str, ...], list[str]]:
    """All answers of all judges by parts of what was judged ("model", "method")."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for judged, given in answers.items():
        found[tuple(dict(judged)[part] for part in parts)] += given
    return found
