"""How one example or explanation looks: coloured words in a terminal, numbers in a pipe, a heatmap in HTML.

Colour: orange speaks for the target label, blue against it; the strongest word of the text has full colour. Orange and blue are
told apart by people with any colour vision. Texts are hostile: everything is escaped, control characters are made harmless.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group
from rich.style import Style
from rich.text import Text

from whence.data import Example
from whence.errors import visible

if TYPE_CHECKING:
    from whence.explain.explanation import TokenScores

Spans = Mapping[str, Sequence[Sequence[int]]]
FOR, AGAINST = (230, 126, 34), (52, 119, 219)


def draw_example(example: Example) -> Group:
    """The texts with human highlights underlined, the label, the edited words, and what people wrote as explanation."""
    lines = [Text(f"{visible(example.id)}  ", style="dim") + Text(visible(example.label or "no label"), style="bold")]
    for name, content in example.texts.items():
        shown = Text(visible(content))
        for annotator in example.highlights:
            for start, end in annotator.get(name, ()):
                shown.stylize("bold underline", start, end)
        lines.append(Text(f"  {name}: ", style="cyan") + shown)
    lines += [Text(f"  ({chr(ord('A') + i)}) {visible(choice)}") for i, choice in enumerate(example.choices)]
    edited = [visible(example.texts[name][a:b]) for name, spans in example.edits.items() for a, b in spans]
    lines += [Text("  edited: ", style="magenta") + Text(", ".join(edited))] if edited else []
    lines += [Text("  because: ", style="green") + Text(visible(why)) for why in example.explanations]
    return Group(*lines, Text())


def strengths(scores: np.ndarray) -> np.ndarray:
    """Scores divided by the largest magnitude: float[words] in [-1, 1]; all zeros stay zeros."""
    top = np.abs(scores).max(initial=0.0)
    return scores / top if top > 0 else np.zeros_like(scores)


def _head(explanation: "TokenScores") -> Text:
    head = Text(f"{visible(explanation.id)}  ", style="dim") + Text(visible(explanation.target), style="bold")
    return head + Text(f" {explanation.probability:.3f}  {visible(explanation.method)}", style="dim")


def _notes(explanation: "TokenScores") -> list[Text]:
    """What the method says of its own error, and what the model did not read."""
    shown = [f"{visible(name).replace('_', ' ')}: {value:,.4g}" for name, value in explanation.notes.items()]
    return [Text("; ".join(shown), style="dim")] if shown else []


def scores_text(explanation: "TokenScores") -> Group:
    """Without colour: a line for each word, its score first."""
    lines, scores = [_head(explanation)], iter(explanation.scores)
    for name, spans in explanation.spans.items():
        lines += [Text(f"{name}:")] if len(explanation.spans) > 1 else []
        text = explanation.texts[name]
        lines += [Text(f"{next(scores):+11.4g}  {visible(text[start:end])}") for start, end in spans]
    return Group(*lines, *_notes(explanation))


def heatmap_text(explanation: "TokenScores") -> Group:
    """For the terminal: words on a coloured ground; strong words are bold."""
    lines = [_head(explanation)]
    relative = iter(strengths(np.array(explanation.scores)))
    for name, spans in explanation.spans.items():
        shown = Text(visible(explanation.texts[name]))
        for start, end in spans:
            strength = float(next(relative))
            if abs(strength) >= 0.05:
                colour = _mixed(strength, (24, 24, 24))
                ink = "#000000" if 0.3 * colour[0] + 0.6 * colour[1] + 0.1 * colour[2] > 130 else "#ffffff"  # by luminance
                style = Style(color=ink, bgcolor=f"rgb({colour[0]},{colour[1]},{colour[2]})", bold=abs(strength) > 0.6)
                shown.stylize(style, start, end)
        lines.append((Text(f"{name}: ", style="cyan") if len(explanation.spans) > 1 else Text()) + shown)
    return Group(*lines, *_notes(explanation))


def heatmap_html(explanation: "TokenScores") -> str:
    """For notebooks and reports: self-contained HTML; hovering over a word shows its number."""
    return (
        f'<div class="whence-heatmap" style="line-height:1.9"><small>{html.escape(visible(explanation.method))} · '
        f"<b>{html.escape(visible(explanation.target))}</b> {explanation.probability:.3f}</small>"
        f"{words_html(explanation.texts, explanation.spans, explanation.scores)}</div>"
    )


def inline_style(strength: float) -> str:
    """The attributes of a word that stands on its own, e.g. in a notebook."""
    r, g, b = FOR if strength > 0 else AGAINST
    return f'style="background:rgba({r},{g},{b},{abs(strength) * 0.85:.2f});border-radius:3px;padding:1px 2px"'


def words_html(
    texts: Mapping[str, str],
    spans: Spans,
    scores: Sequence[float],
    attributes: Callable[[float], str] = inline_style,
    marked: Spans | None = None,
) -> str:
    """The coloured words alone, a <div> for each text. A word's `attributes` come from its strength; `marked` is underlined."""
    relative = iter(zip(strengths(np.array(scores, dtype=float)), scores, strict=True))
    parts = []
    for name, words in spans.items():
        text, at, underlined = texts[name], 0, (marked or {}).get(name, ())
        pieces = [f"<small>{html.escape(visible(name))}: </small>"] if len(spans) > 1 else []
        for start, end in words:
            strength, score = next(relative)
            word = html.escape(visible(text[start:end]))
            word = f"<u>{word}</u>" if any(a < end and start < b for a, b in underlined) else word
            pieces.append(html.escape(visible(text[at:start])))
            pieces.append(f'<span title="{score:+.4f}" {attributes(float(strength))}>{word}</span>')
            at = end
        pieces.append(html.escape(visible(text[at:])))
        parts.append(f'<div dir="auto">{"".join(pieces)}</div>')
    return "".join(parts)


def _mixed(strength: float, ground: tuple[int, int, int]) -> tuple[int, int, int]:
    full = FOR if strength > 0 else AGAINST
    r, g, b = (round(low + (high - low) * abs(strength)) for low, high in zip(ground, full, strict=True))
    return r, g, b
