"""The report of a study: one HTML file that needs no network and no script; the paper's numbers beside ours."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from whence.report.verdict import plain
from whence.run import write_atomically


def write_study_report(results: Mapping[str, Any], path: Path) -> None:
    page = f"<!doctype html><title>{escape(results['title'])}</title>"
    write_atomically(path, lambda p: p.write_text(page, encoding="utf-8"))


def shown_number(value: Any) -> str:
    return plain(value)
