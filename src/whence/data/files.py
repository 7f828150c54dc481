"""Text files as people publish them: plain, `.gz` or `.xz`, UTF-8; JSON lines, CSV, tab-separated.

Every function yields `(row number, row)` for a good row and a `BadRow` for a bad one, so a damaged file is reported, row by
row, and never read halfway in silence. Lines end at "\\n" or "\\r\\n" only: other characters that Python's `splitlines` takes
for line ends (U+2028, form feed) are text.
"""

import csv
import gzip
import json
import lzma
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from whence.data.corpus import BadRow
from whence.errors import BadInput

# Python's own limit of 131,072 characters per CSV field is below the length of one article.
csv.field_size_limit(2**31 - 1)

Row = dict[str, Any]
Numbered = Iterator[tuple[int, Row] | BadRow]
SUFFIXES = ("", ".gz", ".xz")
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def data_root(given: Path | None = None) -> Path:
    """The folder of the published corpora: the one given, else the environment variable WHENCE_DATA."""
    chosen = str(given) if given is not None else os.environ.get("WHENCE_DATA", "")
    if not chosen:
        raise BadInput("no folder of published corpora: give --data-root FOLDER or set the environment variable WHENCE_DATA")
    if not Path(chosen).is_dir():
        where = "--data-root" if given is not None else "the environment variable WHENCE_DATA"
        raise BadInput(f"{chosen}: not a folder; {where} must name the folder that holds the corpora")
    return Path(chosen)


def stored(root: Path, name: str) -> Path:
    """The file `name` below `root`, as it is or compressed."""
    for suffix in SUFFIXES:
        path = root / (name + suffix)
        if path.is_file():
            return path
    raise BadInput(f"{root / name}: no such file, nor with .gz or .xz; expected it below the data root {root}")


def plain_suffix(path: Path) -> str:
    """`.csv` for `a.csv`, `a.CSV` and `a.csv.gz`."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in SUFFIXES else suffix


def _open(path: Path) -> BinaryIO:
    try:
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        return cast(BinaryIO, lzma.open(path, "rb")) if path.suffix.lower() == ".xz" else path.open("rb")
    except OSError as error:
        raise BadInput(f"{path}: cannot be opened ({error.strerror}); expected a readable text file") from None


class _Lines:
    """The lines of a file, ends kept. `problem` tells of invalid UTF-8 since the last look, `damage` of a broken archive.

    It does not raise, because `csv.reader` cannot go on after its source has raised.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.problem, self.damage, self.count = path, "", "", 0

    def __iter__(self) -> Iterator[str]:
        blank: list[str] = []  # blank lines at the end of a file are no rows; in the middle they are
        with _open(self.path) as stream:
            try:
                for raw in stream:
                    problem = ""
                    try:
                        line = raw.decode("utf-8")
                    except UnicodeDecodeError as error:
                        line = raw.decode("utf-8", "replace")
                        problem = f"byte {error.start + 1} of the line is not valid UTF-8; expected UTF-8 text"
                    if not self.count:
                        line = line.removeprefix("\ufeff")  # spreadsheets write a byte order mark
                    self.count += 1
                    if line in ("", "\n", "\r\n"):
                        blank.append(line)
                        continue
                    yield from blank
                    blank.clear()
                    self.problem = self.problem or problem
                    yield line
            except _DAMAGED as error:
                self.damage = f"the file is cut short or damaged ({error}); expected a complete {self.path.suffix[1:]} file"
            except OSError as error:
                raise BadInput(f"{self.path}: cannot be read ({error.strerror}); expected a readable text file") from None
        if not self.damage and self.count == len(blank):
            raise BadInput(f"{self.path}: the file is empty; expected at least one row")

    def trouble(self) -> str:
        found, self.problem = self.problem, ""
        return found


def text_lines(path: Path) -> Iterator[tuple[int, str] | BadRow]:
    """Lines without their ends."""
    source, number = _Lines(path), 0
    for number, line in enumerate(source, 1):
        problem = source.trouble()
        yield BadRow(str(path), number, problem) if problem else (number, line.removesuffix("\n").removesuffix("\r"))
    if source.damage:
        yield BadRow(str(path), number + 1, source.damage)


def json_rows(path: Path) -> Numbered:
    """One JSON object per line."""
    for item in text_lines(path):
        if isinstance(item, BadRow):
            yield item
            continue
        number, line = item
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield BadRow(str(path), number, f"not valid JSON ({error}); expected one JSON object per line")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            yield BadRow(str(path), number, f'a JSON {type(row).__name__}; expected a JSON object, such as {{"text": …}}')


def _fields(source: _Lines, delimiter: str, quoted: bool) -> Iterator[list[str] | str]:
    """Rows as lists of fields; a string tells what is wrong with a row."""
    if not quoted:
        for line in source:
            yield source.trouble() or line.removesuffix("\n").removesuffix("\r").split(delimiter)
        return
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if not source.damage:  # where the archive breaks off, so does the quoted field
                yield f"not valid CSV ({error}); expected every quoted field to be closed and inner quotes doubled"
            continue
        yield source.trouble() or fields


def check_header(path: Path, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise BadInput(f"{path}: the header names a column twice ({', '.join(map(repr, twice))}); expected different names")


def separated_rows(path: Path) -> Numbered:
    """A CSV file, whose columns may also be separated by semicolons (as many spreadsheets write them) or tabs."""
    return table_rows(path, _separator(path))


def _separator(path: Path) -> str:
    """The comma, unless the header has none and is split by one of the others."""
    for line in _Lines(path):
        for sign in (",", ";", "\t"):
            with suppress(csv.Error, StopIteration):
                if len(next(csv.reader([line], delimiter=sign))) > 1:
                    return sign
        break
    return ","


def table_rows(
    path: Path, delimiter: str = ",", quoted: bool = True, columns: Sequence[str] | None = None, needs: Sequence[str] = ()
) -> Numbered:
    """Rows by column name; without `columns` the first row names them, and must name all that the caller `needs`.

    `quoted` off takes quote marks as text.
    """
    source, number = _Lines(path), 0
    for fields in _fields(source, delimiter, quoted):
        if columns is None:
            if isinstance(fields, str):
                raise BadInput(f"{path}, header: {fields}")
            check_header(path, fields)
            missing = [name for name in needs if name not in fields]
            if missing:
                raise BadInput(f"{path}: no column '{missing[0]}'; it has {', '.join(fields)}")
            columns = fields
            continue
        number += 1
        fields = [""] if fields == [] and len(columns) == 1 else fields  # how an empty text alone in its row is written
        if isinstance(fields, str):
            yield BadRow(str(path), number, fields)
        elif len(fields) != len(columns):
            wanted = f"{len(columns)} ({', '.join(columns)})"
            yield BadRow(str(path), number, f"{len(fields)} field{'s' * (len(fields) != 1)}; expected {wanted}")
        else:
            yield number, dict(zip(columns, fields, strict=True))
    if source.damage:
        yield BadRow(str(path), number + 1, source.damage)
