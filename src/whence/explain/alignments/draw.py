"""How an alignment looks: premise words down, hypothesis words across, the rectangles of its mask outlined and read out.

Shading goes with the score: orange speaks for the label, blue against it, the strongest cell has full colour. Where there is a
mask, only what speaks for the label is shaded, because the mask says the rest. Rectangles have letters, so that the phrase
pairs below the matrix can be found in it, and nothing depends on colour alone. Texts are hostile: everything is escaped.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from string import ascii_letters

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.text import Text

from whence.errors import BadInput, visible
from whence.explain.alignment import SPECIAL, Alignment
from whence.explain.alignments.rectangles import Rectangle, phrase_pairs
from whence.explain.draw import AGAINST, FOR, strengths
from whence.run import write_atomically

WIDTH = 100
"""Columns of a terminal that the picture stays within."""
_CELL, _LONGEST, _TOP_PAIRS = 24, 16, 3
_SHADES = "·░▒▓"
_PAPER = "@media (prefers-color-scheme: dark) { svg { background: #1b1e22; color: #e8e6e1 } }"


def letters(count: int) -> list[str]:
    """A letter for each rectangle; A to Z, then a to z, then dots."""
    names = sorted(ascii_letters)
    return [names[i] if i < len(names) else "•" for i in range(count)]


def shading(alignment: Alignment) -> Float[np.ndarray, "premise hypothesis"]:
    """How strongly each cell is coloured, in [-1, 1]; kept cells are never quite empty."""
    relative = strengths(alignment.matrix)
    if alignment.kept is None:
        return relative
    return np.where(alignment.kept, np.maximum(relative, 0.25), np.maximum(relative, 0.0))


def pairs_in_words(alignment: Alignment) -> list[tuple[str, str]]:
    """The phrase pairs of the mask; without a mask, the word pairs with the highest scores."""
    if alignment.kept is not None:
        return phrase_pairs(alignment.kept, alignment.texts, alignment.spans, [SPECIAL] if alignment.sealed else [])
    best = np.argsort(-alignment.matrix, axis=None, kind="stable")[:_TOP_PAIRS]
    premise, hypothesis = alignment.words
    return [(premise[i], hypothesis[j]) for i, j in zip(*np.unravel_index(best, alignment.shape), strict=True)]


def _short(word: str, limit: int = _LONGEST) -> str:
    word = visible(word)
    return word if len(word) <= limit else word[: limit - 1] + "…"


def matrix_text(alignment: Alignment) -> Group:
    """For the terminal: a column is as wide as its word; hypotheses that do not fit go on in a second block."""
    premise, hypothesis = ([_short(word) for word in several] for several in alignment.words)
    margin = max(map(cell_len, premise), default=0)
    widths = [max(3, cell_len(word)) for word in hypothesis]
    found = alignment.rectangles()
    owner = np.full(alignment.shape, -1)
    for number, rectangle in enumerate(found):
        owner[rectangle.cells] = number
    names, shades = letters(len(found)), shading(alignment)
    lines = [Text(f"{visible(alignment.id)}  ", style="dim") + Text(visible(alignment.target), style="bold")
             + Text(f" {alignment.probability:.3f}  {alignment.method}", style="dim")]  # fmt: skip
    if alignment.need:
        lines.append(Text(visible(alignment.need)))
    for columns in _blocks(widths, WIDTH - margin):
        lines.append(
            Text(" " * margin).append_text(Text("".join(" " + set_cell_size(hypothesis[j], widths[j]) for j in columns)))
        )
        for i, word in enumerate(premise):
            line = Text(" " * (margin - cell_len(word)) + word)
            for j in columns:
                letter = names[owner[i, j]] if owner[i, j] >= 0 else None
                line.append(" ").append_text(_cell(shades[i, j], letter, widths[j]))
            lines.append(line)
    said = pairs_in_words(alignment)
    marks = names if alignment.kept is not None else ["highest"] * len(said)
    for mark, (first, second) in zip(marks, said, strict=True):
        lines.append(
            Text(f"  {mark} ", style="bold").append_text(Text(f"“{visible(first)}” – “{visible(second)}”", style="not bold"))
        )
    if alignment.kept is not None and not said:
        lines.append(Text("  no word pair is kept", style="dim"))
    return Group(*lines)


def _blocks(widths: Sequence[int], room: int) -> list[range]:
    """Columns that fit side by side, each with a space before it."""
    blocks, start, used = [], 0, 0
    for j, width in enumerate(widths):
        if used + width + 1 > room and j > start:
            blocks.append(range(start, j))
            start, used = j, 0
        used += width + 1
    return [*blocks, range(start, len(widths))]


def _cell(strength: float, letter: str | None, width: int) -> Text:
    r, g, b = FOR if strength >= 0 else AGAINST
    if letter is not None:
        return Text(letter.center(width), style=f"bold #000000 on rgb({r},{g},{b})")
    shade = _SHADES[min(3, int(abs(strength) * 3.999))]
    if shade == "·":
        return Text(shade.center(width), style="dim")
    return Text(shade * width, style=f"rgb({r},{g},{b})")


def matrix_svg(alignment: Alignment) -> str:
    """A picture that takes its ink from the page around it (currentColor), so it works on light and dark ground."""
    premise, hypothesis = ([_short(word, 24) for word in several] for several in alignment.words)
    left = 14 + _pixels(premise)
    top = 12 + int(0.87 * _pixels(hypothesis)) + 8
    right = int(0.5 * _pixels(hypothesis[-1:])) + 20  # the last word leans out over the edge
    width, height = left + _CELL * len(hypothesis) + right, top + _CELL * len(premise) + 10
    body = []
    for j, word in enumerate(hypothesis):
        x, y = left + _CELL * (j + 0.62), top - 8
        body.append(f'<text transform="translate({x:.0f} {y}) rotate(-60)">{html.escape(word)}</text>')
    for i, word in enumerate(premise):
        body.append(f'<text x="{left - 8}" y="{top + _CELL * (i + 0.68):.0f}" text-anchor="end">{html.escape(word)}</text>')
    shades = shading(alignment)
    for i in range(len(premise)):
        for j in range(len(hypothesis)):
            r, g, b = FOR if shades[i, j] >= 0 else AGAINST
            tip = html.escape(f"{premise[i]} – {hypothesis[j]}: {alignment.matrix[i, j]:+.3f}")
            body.append(
                f'<rect x="{left + _CELL * j}" y="{top + _CELL * i}" width="{_CELL}" height="{_CELL}" fill="rgb({r},{g},{b})" '
                f'fill-opacity="{abs(shades[i, j]):.2f}" stroke="currentColor" stroke-opacity=".14"><title>{tip}</title></rect>'
            )
    found = alignment.rectangles()
    for name, rectangle in zip(letters(len(found)), found, strict=True):
        body.append(_outline(rectangle, name, left, top))
    said = "; ".join(f"{a} – {b}" for a, b in pairs_in_words(alignment)) or "no alignment"
    label = html.escape(visible(f"Alignment for {alignment.target}: {said}"), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{label}" font-family="system-ui, sans-serif" font-size="13" fill="currentColor">{"".join(body)}</svg>'
    )


def _outline(rectangle: Rectangle, name: str, left: int, top: int) -> str:
    x, y = left + _CELL * rectangle.left + 1, top + _CELL * rectangle.top + 1
    width, height = (_CELL * n - 2 for n in (rectangle.right - rectangle.left, rectangle.bottom - rectangle.top))
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="none" stroke="currentColor" stroke-width="2"/>'
        f'<text x="{x + width / 2:.0f}" y="{y + height / 2 + 4.5:.0f}" text-anchor="middle" font-weight="700">{name}</text>'
    )


def _pixels(several: Sequence[str]) -> int:
    """About how wide the longest word is at 13 pixels; characters of East Asian scripts are twice as wide."""
    return int(max((sum(14.0 if ord(c) > 0x2E80 else 7.6 for c in word) for word in several), default=0))


def matrix_html(alignment: Alignment) -> str:
    """For notebooks and reports: the picture and its phrase pairs in words."""
    said = pairs_in_words(alignment)
    marks = letters(len(said)) if alignment.kept is not None else ["highest"] * len(said)
    items = "".join(
        f"<li><b>{mark}</b> “{html.escape(visible(first))}” – “{html.escape(visible(second))}”</li>"
        for mark, (first, second) in zip(marks, said, strict=True)
    )
    head = f"<b>{html.escape(visible(alignment.target))}</b> {alignment.probability:.3f}"
    need = f"<p>{html.escape(visible(alignment.need))}</p>" if alignment.need else ""
    return (
        f'<figure class="whence-alignment" style="margin:0"><figcaption><small>{html.escape(visible(alignment.method))} · '
        f'{head}</small>{need}</figcaption><div style="overflow-x:auto">{matrix_svg(alignment)}</div>'
        f'<ul style="list-style:none;padding:0">{items or "<li>no word pair is kept</li>"}</ul></figure>'
    )


def save_matrix(alignment: Alignment, path: Path) -> None:
    """As .svg (ink and ground follow the viewer's light or dark setting), .png or .pdf."""
    ending = path.suffix.lower()
    if not all(alignment.words):
        raise BadInput(f"{path}: one text of '{alignment.id}' has no words: there is no matrix to draw; expected words in both")
    if ending == ".svg":
        drawn = matrix_svg(alignment)
        end = drawn.index(">") + 1
        write_atomically(path, lambda p: p.write_text(f"{drawn[:end]}<style>{_PAPER}</style>{drawn[end:]}", encoding="utf-8"))
    elif ending in (".png", ".pdf"):
        write_atomically(path, lambda p: _save_figure(alignment, p, ending[1:]))
    else:
        raise BadInput(f"{path}: a matrix is saved as .svg, .png or .pdf; got '{path.suffix}'")


def _save_figure(alignment: Alignment, path: Path, kind: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle as Box

    premise, hypothesis = ([_short(word, 24) for word in several] for several in alignment.words)
    shades = shading(alignment)
    figure = Figure(figsize=(1.6 + 0.33 * len(hypothesis), 1.4 + 0.3 * len(premise)), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    ink = np.where(shades[..., None] >= 0, np.array(FOR), np.array(AGAINST)) / 255
    axes.imshow(np.concatenate([ink, np.abs(shades)[..., None]], axis=-1), aspect="equal")
    axes.set_xticks(range(len(hypothesis)), hypothesis, rotation=60, ha="left", rotation_mode="anchor", parse_math=False)
    axes.set_yticks(range(len(premise)), premise, parse_math=False)
    axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
    axes.set_xticks(np.arange(len(hypothesis) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(premise) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="0.88", linewidth=0.6)
    axes.tick_params(which="minor", length=0, top=False)
    axes.spines[:].set_visible(False)
    found = alignment.rectangles()
    for name, r in zip(letters(len(found)), found, strict=True):
        width, height = r.right - r.left, r.bottom - r.top
        axes.add_patch(Box((r.left - 0.5, r.top - 0.5), width, height, fill=False, linewidth=1.8, zorder=3, clip_on=False))
        axes.text(r.left + width / 2 - 0.5, r.top + height / 2 - 0.5, name, ha="center", va="center", weight="bold")
    figure.savefig(path, format=kind)
