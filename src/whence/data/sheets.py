"""Tables that are not text: Parquet files and Excel sheets, as numbered rows like those of `files.py`.

Excel keeps an empty text as an empty cell and "1984" as a number; both come back as text, as they would from a CSV file.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from whence.data.corpus import BadRow
from whence.data.files import Numbered, check_header
from whence.errors import BadInput

BATCH = 1024


def parquet_rows(path: Path) -> Numbered:
    """Rows of a Parquet file by column name, values as Python objects."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            check_header(path, file.schema_arrow.names)
            for batch in file.iter_batches(BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError, OverflowError, NotImplementedError) as error:
        if isinstance(error, BadInput):
            raise
        problem = f"not readable as Parquet ({_brief(error)}); expected a whole Parquet file"
        if not number:
            raise BadInput(f"{path}: {problem}") from error
        yield BadRow(str(path), number + 1, problem)
    if not number:
        raise BadInput(f"{path}: the file has no rows; expected at least one row")


def excel_rows(path: Path) -> Numbered:
    """Rows of the first sheet by column name; the first row names the columns."""
    rows = iter(_cells(path))
    header: Sequence[str] = _trimmed(next(rows, []))
    if not header:
        raise BadInput(f"{path}: the first sheet is empty; expected a row of column names and at least one row")
    check_header(path, header)
    blank: list[int] = []  # blank rows at the end of a sheet are no rows; in the middle they are
    for number, cells in enumerate(rows, 1):
        values = _trimmed(cells)
        if not values:
            blank.append(number)
            continue
        for empty in blank:
            yield empty, dict.fromkeys(header, "")
        blank.clear()
        if len(values) > len(header):
            yield BadRow(str(path), number, f"{len(values)} cells; expected {len(header)} ({', '.join(header)})")
        else:
            yield number, dict(zip(header, [*values, *[""] * (len(header) - len(values))], strict=True))


def _cells(path: Path) -> Iterator[Iterable[Any]]:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise BadInput(f"{path}: reading Excel files needs openpyxl; expected: pip install 'whence[tables]'") from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            yield from book.worksheets[0].iter_rows(values_only=True) if book.worksheets else ()
        finally:
            book.close()
    except Exception as error:  # a damaged sheet raises whatever its zip and XML readers raise
        raise BadInput(f"{path}: not readable as an Excel sheet ({_brief(error)}); expected a whole .xlsx file") from error


def _trimmed(cells: Iterable[Any]) -> list[str]:
    """Cells as text, without the empty ones at the end."""
    values = ["" if cell is None else str(int(cell)) if _whole(cell) else str(cell) for cell in cells]
    while values and not values[-1]:
        values.pop()
    return values


def _whole(cell: Any) -> bool:
    return isinstance(cell, float) and cell.is_integer()


def _brief(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
