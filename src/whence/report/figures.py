"""Figures of the report as inline SVG: small, sharp on paper, and in the page's own ink (currentColor and its CSS classes).

Nothing depends on colour alone: the random baseline is dashed, methods are named beside their marks, every figure has a text.
Texts are escaped here, for the page takes a figure as it is.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.ticker import MaxNLocator

from whence.errors import visible

Values = Sequence[float]


@dataclass(frozen=True)
class Dot:
    """One line of a forest plot."""

    title: str
    value: float
    low: float
    high: float
    shown: str
    sure: bool
    """Better than random beyond doubt: a filled dot; else a hollow one."""


def printable(text: str) -> str:
    """`visible`, with our own narrow space before a per-cent sign kept."""
    return "\u202f".join(map(visible, text.split("\u202f")))


def safe(text: str) -> str:
    return html.escape(printable(text))


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def forest(title: str, dots: Sequence[Dot], random: float, tick: Callable[[float], str]) -> Markup:
    """Value and 95 % interval of every method; a dashed line where random is."""
    width, left, right, row, top = 400, 136, 346, 22, 8
    ticks = MaxNLocator(4).tick_values(min([random, *(d.low for d in dots)]), max([random, *(d.high for d in dots)]))
    low, high = float(ticks[0]), float(ticks[-1])

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    bottom = top + row * len(dots)
    parts = [f'<line class="grid" x1="{x(t):.1f}" x2="{x(t):.1f}" y1="{top}" y2="{bottom}"/>' for t in ticks]
    parts += [f'<text class="tick" x="{x(t):.1f}" y="{bottom + 15}" text-anchor="middle">{safe(tick(t))}</text>' for t in ticks]
    parts.append(f'<line class="random" x1="{x(random):.1f}" x2="{x(random):.1f}" y1="{top}" y2="{bottom}"/>')
    for i, dot in enumerate(dots):
        y = top + row * (i + 0.5)
        parts.append(
            f'<g class="{"sure" if dot.sure else "unsure"}"><title>{safe(dot.title)}: {safe(dot.shown)}</title>'
            f'<text x="{left - 12}" y="{y + 4:.1f}" text-anchor="end">{safe(shortened(dot.title, 21))}</text>'
            f'<line class="whisker" x1="{x(dot.low):.1f}" x2="{x(dot.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<circle cx="{x(dot.value):.1f}" cy="{y:.1f}" r="4"/>'
            f'<text class="value" x="{width - 2}" y="{y + 4:.1f}" text-anchor="end">{safe(dot.shown)}</text></g>'
        )
    return _svg("forest", width, bottom + 22, f"{title}: value and 95 % interval of every method; dashed line: random", parts)


def curve(title: str, share: Values, probability: Values, random: Values, others: Sequence[Values]) -> Markup:
    """One method's mean probability as words are hidden; random dashed, the other methods faint behind it."""
    width, height, left, right, top, bottom = 172, 128, 26, 166, 8, 106

    def points(values: Values, reverse: bool = False) -> str:
        pairs = [(left + (right - left) * s, bottom + (top - bottom) * v) for s, v in zip(share, values, strict=True)]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in (reversed(pairs) if reverse else pairs))

    parts = [f'<polyline class="other" points="{points(other)}"/>' for other in others]
    parts += [f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>' for y in (top, (top + bottom) // 2, bottom)]
    parts += [
        f'<text class="tick" x="{left - 5}" y="{y + 4}" text-anchor="end">{label}</text>'
        for y, label in ((top, "1"), ((top + bottom) // 2, "½"), (bottom, "0"))
    ]
    parts += [
        f'<text class="tick" x="{x}" y="{bottom + 15}" text-anchor="{anchor}">{label}</text>'
        for x, anchor, label in ((left, "start", "0"), ((left + right) // 2, "middle", "50"), (right, "end", "100 %"))
    ]
    if probability != random:
        parts.append(f'<polygon class="gap" points="{points(probability)} {points(random, reverse=True)}"/>')
        parts.append(f'<polyline class="random" points="{points(random)}"/>')
        parts.append(f'<polyline class="curve" points="{points(probability)}"/>')
    else:
        parts.append(f'<polyline class="random strong" points="{points(random)}"/>')
    half = min(range(len(share)), key=lambda i: abs(share[i] - 0.5))
    falls = f"{probability[0]:.2f} with all words, {probability[half]:.2f} with half of them hidden (random {random[half]:.2f})"
    return _svg("curve", width, height, f"{title}: probability {falls}", parts)


def _svg(kind: str, width: float, height: float, text: str, parts: Sequence[str]) -> Markup:
    head = f'<svg class="figure {kind}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{safe(text)}">'
    return Markup(f"{head}{''.join(parts)}</svg>")  # every text in it went through safe()
