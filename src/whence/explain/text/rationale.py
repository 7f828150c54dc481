"""A free-text rationale as a plain value: what a model wrote for one example, its label, and how sure it was of each token.

Saved as JSON lines, one rationale per line; what is loaded equals what was saved.
"""

import html
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from whence.errors import BadInput, visible
from whence.explain.lines import load_lines, save_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

FORMAT = "whence.rationale@1"
Part = Literal["label", "rationale", ""]
"""What a written token belongs to; "" for the delimiter, and for all that the template reads over."""


@dataclass(frozen=True)
class Rationale:
    """`tokens` put together are the whole output; `text` is the part that the template takes as the rationale."""

    id: str
    texts: Mapping[str, str]
    label: str | None
    """As the model wrote it; None where it wrote none of the candidates."""
    text: str
    """Empty where the model wrote no rationale."""
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    parts: tuple[Part, ...]
    ended: bool
    """False where the model was stopped by the limit of tokens."""
    probabilities: Mapping[str, float] = field(default_factory=dict)
    """Of the candidates, scored as texts; empty where the model has none, or its template does not begin with a label."""
    evolution: tuple[tuple[float, ...], ...] = ()
    """Of a model that decides while it explains: the same probabilities before the first step and after every step. Step s
    writes token s of the explanation and has read those before it; the last step has read all, and writes the end."""
    template: str = ""
    noise: float = 0.0
    """Variance of the noise on the input embeddings."""
    model: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        lengths = {len(self.tokens), len(self.ids), len(self.log_probabilities), len(self.parts)}
        if len(lengths) > 1:
            raise BadInput(f"rationale of '{self.id}': tokens, ids, log_probabilities and parts differ in length")
        moved = [p for row in self.evolution for p in row]
        if not all(math.isfinite(x) for x in (*self.log_probabilities, *self.probabilities.values(), *moved, self.noise)):
            raise BadInput(f"rationale of '{self.id}' has a number that is not finite")

    @property
    def written(self) -> str:
        """The model's whole output."""
        return "".join(self.tokens)

    def show(self) -> None:
        """Label and rationale in the terminal; tokens of which the model was unsure are dim."""
        from rich.console import Console

        Console().print(self)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        yield (
            Text(f"{visible(self.id)}  ", style="dim")
            + Text(visible(self.label or "no label"), style="bold")
            + Text(f" {self._told()}", style="dim")
        )
        for name, text in self.texts.items():
            yield Text(f"  {visible(name)}: ", style="cyan") + Text(visible(text))
        shown = Text("  because: ", style="green")
        for token, chance, part in zip(self.tokens, self.log_probabilities, self.parts, strict=True):
            if part == "rationale":
                shown.append(visible(token), style="dim" if chance < math.log(0.5) else "")
        yield shown if self.text else Text("  (no rationale)", style="dim")

    def _repr_html_(self) -> str:
        """Self-contained HTML; hovering over a token shows its probability."""
        texts = "".join(
            f'<div dir="auto"><small>{_safe(name)}: </small>{_safe(text)}</div>' for name, text in self.texts.items()
        )
        why = "".join(
            f'<span title="{math.exp(chance):.3f}" style="opacity:{0.45 + 0.55 * math.exp(chance):.2f}">{_safe(token)}</span>'
            for token, chance, part in zip(self.tokens, self.log_probabilities, self.parts, strict=True)
            if part == "rationale"
        )
        return (
            f'<div class="whence-rationale" style="line-height:1.6"><small>{_safe(self.template)}</small> '
            f"<b>{_safe(self.label or 'no label')}</b> <small>{_safe(self._told())}</small>{texts}"
            f'<div dir="auto"><small>because: </small>{why or "(no rationale)"}</div></div>'
        )

    def _told(self) -> str:
        return ", ".join(f"{visible(name)} {p:.3f}" for name, p in self.probabilities.items())

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Rationale":
        """Raises KeyError, TypeError or BadInput where the row is not a rationale."""
        given = {k: v for k, v in row.items() if k != "format"}
        strings = [given["id"], given["text"], *given["texts"].values(), *given["tokens"], *given["parts"]]
        strings += [given.get("template", ""), given.get("model", "")] + ([] if given["label"] is None else [given["label"]])
        if not all(isinstance(text, str) for text in strings) or not set(given["parts"]) <= {"label", "rationale", ""}:
            raise TypeError('texts, label and tokens are strings, parts are "label", "rationale" or ""')
        for name, kind in (("tokens", str), ("ids", int), ("log_probabilities", float), ("parts", str)):
            given[name] = tuple(kind(value) for value in given[name])
        given["probabilities"] = {name: float(p) for name, p in given.get("probabilities", {}).items()}
        given["evolution"] = tuple(tuple(float(p) for p in row) for row in given.get("evolution", ()))
        return cls(**given)


def _safe(text: str) -> str:
    return html.escape(visible(text))


def save_rationales(path: Path, rationales: Iterable[Rationale]) -> None:
    save_lines(path, rationales)


def load_rationales(path: Path) -> list[Rationale]:
    return load_lines(path, FORMAT, Rationale.from_dict)
