"""Matplotlib as inline SVG in the page's own ink: readable in light and dark, the same bytes for the same data.

Drawn in colours that stand for variables of the page, which knows whether it is dark; the names of the variables take their
place in the picture. Text stays text, so that it can be searched and read aloud, and is escaped.
"""

import io
import re
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whence.report.figures import printable, safe

INK, LINE = "#010203", "#010204"
SERIES = ("#010211", "#010212", "#010213", "#010214", "#010215", "#010216")
_USUAL = ("#0c6a66", "#c2570c", "#2563c9", "#8a3b96", "#7a6a00", "#b3234d")
_PAGE = {INK: "currentColor", LINE: "var(--line, #ccc)"} | {
    given: f"var(--plot-{i + 1}, {usual})" for i, (given, usual) in enumerate(zip(SERIES, _USUAL, strict=True))
}
NARROW, WIDE = 320, 380
"""Points; a phone shows both at nearly their own size."""
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "whence", "text.parse_math": False, "font.size": 10, "font.family": "DejaVu Sans",
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True, "grid.linewidth": 0.6,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "grid.color": LINE, "axes.linewidth": 0.7, "xtick.major.width": 0.7, "ytick.major.width": 0.7, "legend.frameon": False,
    "legend.fontsize": 9, "hatch.linewidth": 0.6,
}  # fmt: skip


def new_axes(width: float, height: float) -> tuple[Axes, Figure]:
    """One picture of so many points; without pyplot, which keeps figures in a global list."""
    figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
    return figure.subplots(), figure


def add_legend(axes: Axes, figure: Figure) -> None:
    """Above the axes, in as many columns as fit; none for a single series."""
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) > 1:
        room = figure.get_size_inches()[0] * 72 - 50
        columns = max(1, min(len(labels), int(room / (5.5 * max(map(len, labels)) + 32))))
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, handlelength=1.6, columnspacing=1.2
        )


def as_svg(figure: Figure, said: str) -> Markup:
    """`said` tells in words what the picture shows."""
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    # without matplotlib's own style sheet, which would style the whole page, and ids, which pictures would share
    body = re.sub(r'<g id="[^"]*"', "<g", text[text.index('<g id="figure_1">') : text.rindex("</svg>")])
    body = re.sub(r"\s*\n\s*", " ", body).replace("font-family: 'DejaVu Sans'", "font-family: system-ui, sans-serif")
    for drawn, shown in _PAGE.items():
        body = body.replace(drawn, shown)
    width, height = (round(72 * inches) for inches in figure.get_size_inches())
    head = f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{safe(said)}">'
    return Markup(f"{head}{body}</svg>")  # matplotlib escapes what it writes


def short(text: Any, most: int = 28) -> str:
    shown = printable(str(text))
    return shown if len(shown) <= most else shown[: most - 1] + "…"
