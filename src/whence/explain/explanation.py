"""An explanation as a plain value: a number for every word, with all that is needed to know where it came from.

Saved as JSON lines, one explanation per line; what is loaded equals what was saved.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whence.data import Span
from whence.data.corpus import BadRow
from whence.data.files import json_rows
from whence.errors import BadInput
from whence.explain.draw import heatmap_html, heatmap_text
from whence.run import write_atomically

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
        if not np.isfinite(self.scores).all():
            raise BadInput(f"explanation of '{self.id}' by {self.method} has a score that is not a finite number")

    @property
    def words(self) -> list[str]:
        return [self.texts[name][a:b] for name, spans in self.spans.items() for a, b in spans]

    def by_text(self) -> dict[str, np.ndarray]:
        """The scores of each text apart."""
        ends = np.cumsum([len(spans) for spans in self.spans.values()])[:-1]
        return dict(zip(self.spans, np.split(np.array(self.scores), ends), strict=True))

    def show(self) -> None:
        """Coloured words in the terminal."""
        from rich.console import Console

        Console().print(self)

    def __rich__(self) -> Any:
        return heatmap_text(self)

    def _repr_html_(self) -> str:
        return heatmap_html(self)

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "TokenScores":
        """Raises KeyError, TypeError or BadInput where the row is not an explanation."""
        given = {k: v for k, v in row.items() if k != "format"}
        given["spans"] = {name: tuple((int(a), int(b)) for a, b in spans) for name, spans in given["spans"].items()}
        for name, spans in given["spans"].items():
            if any(not 0 <= a < b <= len(given["texts"][name]) for a, b in spans):
                raise BadInput(f"explanation of '{given['id']}': a word span lies outside the text '{name}'")
        given["scores"] = tuple(float(score) for score in given["scores"])
        return cls(**given)


def save_explanations(path: Path, explanations: Iterable[TokenScores]) -> None:
    # ASCII JSON, because a text may hold lone surrogates, which UTF-8 cannot
    lines = "".join(json.dumps(explanation.to_dict()) + "\n" for explanation in explanations)
    write_atomically(path, lambda p: p.write_text(lines, encoding="utf-8"))


def load_explanations(path: Path) -> list[TokenScores]:
    loaded = []
    for item in json_rows(path):
        if isinstance(item, BadRow):
            raise BadInput(str(item))
        row, value = item
        if value.get("format") != FORMAT:
            raise BadInput(f'{path}, row {row}: format is {json.dumps(value.get("format"))}; expected "{FORMAT}"')
        try:
            loaded.append(TokenScores.from_dict(value))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path}, row {row}: not an explanation ({error!r})") from error
    return loaded
