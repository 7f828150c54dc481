"""Human judgements: sheets to fill in, and filled sheets read back.

Readability (the paper's Table 2): how well can the explanation be read, 1 (not at all) to 5 (at once)? Agreement (HANS): does
the rationale hold the complete evidence for the right label, yes or no? Judges see neither the method nor the model: a row has
a number, and a key kept apart says what the number stands for. A sheet is a CSV file to fill in and an HTML page with the
pictures, in one random order. Any number of judges fill in copies; each copy is read back by its file.
"""

import csv
import html
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from whence.data.corpus import BadRow
from whence.data.files import table_rows
from whence.errors import BadInput, visible
from whence.explain.alignment import Alignment
from whence.explain.alignments.draw import matrix_html, pairs_in_words
from whence.run import write_atomically

Kind = Literal["readability", "agreement"]
ANSWERS: dict[Kind, tuple[str, ...]] = {"readability": ("1", "2", "3", "4", "5"), "agreement": ("yes", "no")}
QUESTIONS: dict[Kind, str] = {
    "readability": "How well can you read from this picture why the label was given? 1 (not at all) to 5 (at once)",
    "agreement": "Does the picture hold the complete evidence that you would need for the right label? yes or no",
}
Answers = dict[tuple[tuple[str, str], ...], list[str]]
"""By what was judged: (("method", "arec"), ("model", "da"), …) → ["4", "5"]."""
COLUMNS = ("number", "premise", "hypothesis", "label", "alignments", "answer")


@dataclass(frozen=True)
class Item:
    """One picture to be judged: what it stands for, the gold label and the alignment."""

    key: Mapping[str, str]
    label: str
    alignment: Alignment


def write_sheets(folder: Path, kind: Kind, items: Sequence[Item], seed: int = 0) -> None:
    """`folder`/KIND.csv to fill in, KIND.html with the pictures, KIND-key.json, which the judges do not see."""
    order = random.Random(f"{seed}/{kind}").sample(range(len(items)), len(items))
    shuffled = [items[i] for i in order]
    folder.mkdir(parents=True, exist_ok=True)
    key = {str(number): dict(item.key) for number, item in enumerate(shuffled, 1)}
    write_atomically(folder / f"{kind}-key.json", lambda p: p.write_text(json.dumps(key, indent=1), encoding="utf-8"))
    write_atomically(folder / f"{kind}.csv", lambda p: _write_csv(p, kind, shuffled))
    write_atomically(folder / f"{kind}.html", lambda p: p.write_text(_page(kind, shuffled), encoding="utf-8"))


def _asked(kind: Kind, item: Item) -> str:
    """Readability is about the label that the model gave, agreement about the right one."""
    return item.alignment.target if kind == "readability" else item.label


def _write_csv(path: Path, kind: Kind, items: Sequence[Item]) -> None:
    with path.open("w", encoding="utf-8", newline="", errors="replace") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number, item in enumerate(items, 1):
            said = "; ".join(f"{first} – {second}" for first, second in pairs_in_words(item.alignment))
            cells = [*item.alignment.texts.values(), _asked(kind, item), said]
            writer.writerow([number, *(_harmless(visible(cell)) for cell in cells), ""])


def _harmless(cell: str) -> str:
    """A spreadsheet takes a cell that starts with = + - @ for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell


def _page(kind: Kind, items: Sequence[Item]) -> str:
    parts = []
    for number, item in enumerate(items, 1):
        blind = Alignment(**{**vars(item.alignment), "method": "", "target": _asked(kind, item)})
        texts = "".join(f"<p><small>{name}</small> {html.escape(visible(text))}</p>" for name, text in blind.texts.items())
        parts.append(f"<section><h2>{number}</h2>{texts}{matrix_html(blind)}</section>")
    style = "body{font:1rem/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}section{margin:3rem 0}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{kind}</title><style>{style}</style><h1>{html.escape(QUESTIONS[kind])}</h1>{''.join(parts)}</html>"
    )


def read_sheets(folder: Path, kind: Kind, files: Sequence[Path]) -> Answers:
    """The answers of all judges, in the order of the files."""
    key_file = folder / f"{kind}-key.json"
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
            if answer not in ANSWERS[kind]:
                known = ", ".join(ANSWERS[kind])
                raise BadInput(f"{file}, row {row_number}: answer '{answer}' to number {number}; expected one of {known}")
            seen.add(number)
            answers[tuple(sorted(key[number].items()))].append(answer)
        if len(seen) < len(key):
            missing = next(number for number in key if number not in seen)
            raise BadInput(f"{file}: {len(seen)} of {len(key)} rows; expected all (number {missing} is missing)")
    return dict(answers)
