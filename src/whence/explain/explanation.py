"""An explanation as a plain value: a number for every word, with all that is needed to know where it came from.

Saved as JSON lines, one explanation per line; what is loaded equals what was saved.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.data import Span
from whence.errors import BadInput
from whence.explain.draw import heatmap_html, heatmap_text, scores_text
from whence.explain.lines import load_lines, read_spans, save_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

FORMAT = "whence.token_scores@1"


@dataclass(frozen=True)
class TokenScores:
    """How much each word speaks for `target`. `spans` are character spans by text, `scores` numbers the words of all texts."""

    id: str
    texts: Mapping[str, str]
    spans: Mapping[str, tuple[Span, ...]]
    scores: tuple[float, ...]
    method: str
    target: str
    probability: float
    """Of the target label, for the unchanged text."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, float] = field(default_factory=dict)
    """What the method says of its own error, e.g. integrated gradients' completeness error; words that were never read."""
    model: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        expected = sum(len(spans) for spans in self.spans.values())
        if len(self.scores) != expected:
            raise BadInput(
                f"explanation of '{self.id}' has {len(self.scores)} scores; expected one for each of {expected} words"
            )
        if not all(map(math.isfinite, self.scores)):
            raise BadInput(f"explanation of '{self.id}' by {self.method} has a score that is not a finite number")

    @property
    def words(self) -> list[str]:
        return [self.texts[name][a:b] for name, spans in self.spans.items() for a, b in spans]

    def by_text(self) -> dict[str, np.ndarray]:
        """The scores of each text apart."""
        ends = np.cumsum([len(spans) for spans in self.spans.values()])[:-1]
        return dict(zip(self.spans, np.split(np.array(self.scores), ends), strict=True))

    def show(self) -> None:
        """Coloured words in the terminal; words with their scores where there is no colour."""
        from rich.console import Console

        Console().print(self)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Colours where there are any, numbers elsewhere: a pipe, a file, a terminal without colour."""
        yield heatmap_text(self) if console.color_system is not None and not console.no_color else scores_text(self)

    def _repr_html_(self) -> str:
        return heatmap_html(self)

    def to_dict(self) -> dict[str, Any]:
        """By hand: `dataclasses.asdict` copies every number, which took longer than most explanations do."""
        return {
            "format": FORMAT, "id": self.id, "texts": dict(self.texts), "spans": dict(self.spans), "scores": self.scores,
            "method": self.method, "target": self.target, "probability": self.probability, "parameters": dict(self.parameters),
            "notes": dict(self.notes), "model": self.model, "seed": self.seed,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "TokenScores":
        """Raises KeyError, TypeError or BadInput where the row is not an explanation."""
        given = {k: v for k, v in row.items() if k != "format"}
        texts = [*given["texts"].values(), *(given.get(key, "") for key in ("id", "method", "target", "model"))]
        numbers = [given["probability"], *given.get("notes", {}).values(), given.get("seed", 0)]
        if not all(isinstance(text, str) for text in texts) or not isinstance(given.get("parameters", {}), dict):
            raise TypeError("texts, id, method, target and model are strings, parameters an object")
        if not all(isinstance(number, int | float) for number in numbers):
            raise TypeError("probability, notes and seed are numbers")
        given["spans"] = read_spans(row)
        given["scores"] = tuple(float(score) for score in given["scores"])
        return cls(**given)


def save_explanations(path: Path, explanations: Iterable[TokenScores]) -> None:
    save_lines(path, explanations)


def load_explanations(path: Path) -> list[TokenScores]:
    return load_lines(path, FORMAT, TokenScores.from_dict)
