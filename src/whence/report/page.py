"""What all reports share: how a page is filled in, and how a word gets its colour."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from whence.report.figures import printable
from whence.run import write_atomically


def write_page(template: str, view: Mapping[str, Any], path: Path) -> None:
    """Fills in a template of this room; it gets the style sheet as `style`."""
    # every value is made printable: control characters, bidirectional overrides and lone surrogates never reach the page
    environment = Environment(
        loader=PackageLoader("whence", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    style = Markup((files("whence.report") / "style.css").read_text(encoding="utf-8"))
    page = environment.get_template(template).render(style=style, **view)
    write_atomically(path, lambda p: p.write_text(page, encoding="utf-8"))


def by_class(strength: float) -> str:
    """A word's attributes: far shorter than colours in every word; the style sheet does the rest."""
    return f'class="{"for" if strength > 0 else "against"}" style="--s:{abs(strength):.2f}"' if strength else ""
