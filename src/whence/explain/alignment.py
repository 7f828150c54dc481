"""An alignment explanation as a plain value: a number for every word pair and, where the method makes one, a 0/1 mask.

Rows are words of the premise, columns words of the hypothesis. Saved as JSON lines, one explanation per line; what is loaded
equals what was saved.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from whence.data import Span
from whence.errors import BadInput
from whence.explain.lines import numbered_lines, read_spans, save_lines

if TYPE_CHECKING:
    from whence.explain.alignments.rectangles import Rectangle

FORMAT = "whence.alignment@1"
SPECIAL = "[special]"
"""Stands for special tokens beside the words of a sealed alignment."""


@dataclass(frozen=True)
class Alignment:
    """How much each word pair speaks for `target`; `mask` keeps the pairs that the prediction needs."""

    id: str
    texts: Mapping[str, str]
    spans: Mapping[str, tuple[Span, ...]]
    scores: tuple[tuple[float, ...], ...]
    method: str
    target: str
    probability: float
    """Of the target label, for the unchanged pair."""
    mask: tuple[tuple[int, ...], ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, float] = field(default_factory=dict)
    """What the method says of itself, e.g. AREC's objective, integrated gradients' completeness error; words never read."""
    model: str = ""
    seed: int = 0
    sealed: bool = False
    """Scores and mask have one more row and column, both first: what words get from special tokens."""
    cut_label: str = ""
    """What the model says when no word pair may align; empty where nobody asked."""
    cut_probability: float = 0.0
    """Of that label."""

    def __post_init__(self) -> None:
        premise, hypothesis = self.shape
        for name, rows in (("scores", self.scores), ("mask", self.mask)):
            if rows is not None and (len(rows) != premise or any(len(row) != hypothesis for row in rows)):
                raise BadInput(
                    f"alignment of '{self.id}': {name} must have {premise} rows of {hypothesis}, one cell per word pair"
                )
        if not np.isfinite(self.matrix).all():
            raise BadInput(f"alignment of '{self.id}' by {self.method} has a score that is not a finite number")
        if self.mask is not None and not {cell for row in self.mask for cell in row} <= {0, 1}:
            raise BadInput(f"alignment of '{self.id}' by {self.method} has a mask with other values than 0 and 1")

    @property
    def shape(self) -> tuple[int, int]:
        """(words of the premise, words of the hypothesis); sealed: one more of each."""
        premise, hypothesis = (len(spans) + self.sealed for spans in self.spans.values())
        return premise, hypothesis

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """Of the premise and of the hypothesis; sealed: after a name for the special tokens."""
        extra = [SPECIAL] if self.sealed else []
        first, second = (extra + [self.texts[name][a:b] for a, b in spans] for name, spans in self.spans.items())
        return first, second

    @property
    def needed(self) -> bool | None:
        """Whether the prediction needs alignments at all: without any the label is another. None where nobody asked."""
        return self.cut_label != self.target if self.cut_label else None

    @property
    def need(self) -> str:
        """The same in words; empty where nobody asked."""
        if not self.cut_label:
            return ""
        what = "all word pairs and what words read from special tokens" if self.sealed else "all word pairs"
        if self.needed:
            return f"It needs alignments: cut {what}, and the model says {self.cut_label} ({self.cut_probability:.2f})."
        return f"It needs no alignment: cut {what}, and the model still says {self.cut_label} ({self.cut_probability:.2f})."

    @property
    def matrix(self) -> Float[np.ndarray, "premise hypothesis"]:
        return np.array(self.scores, dtype=np.float64).reshape(self.shape)

    @property
    def kept(self) -> Bool[np.ndarray, "premise hypothesis"] | None:
        """The mask as an array; None where there is none."""
        return None if self.mask is None else np.array(self.mask, dtype=bool).reshape(self.shape)

    def with_mask(self, kept: Bool[np.ndarray, "premise hypothesis"]) -> "Alignment":
        """The same scores with another mask, e.g. one induced from them."""
        return replace(self, mask=mask_rows(kept))

    def rectangles(self) -> "list[Rectangle]":
        """The mask as disjoint rectangles, each one phrase pair; none without a mask."""
        from whence.explain.alignments.rectangles import rectangles

        return [] if self.kept is None else rectangles(self.kept)

    def show(self) -> None:
        """The matrix in the terminal."""
        from rich.console import Console

        Console().print(self)

    def __rich__(self) -> Any:
        from whence.explain.alignments.draw import matrix_text

        return matrix_text(self)

    def _repr_html_(self) -> str:
        from whence.explain.alignments.draw import matrix_html

        return matrix_html(self)

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Alignment":
        """Raises KeyError, TypeError or BadInput where the row is not an alignment."""
        given = {k: v for k, v in row.items() if k != "format"}
        given["spans"] = read_spans(row)
        if len(given["spans"]) != 2:
            raise BadInput(f"alignment of '{given['id']}' has texts {', '.join(given['spans'])}; expected two")
        given["scores"] = tuple(tuple(float(cell) for cell in cells) for cells in given["scores"])
        if given.get("mask") is not None:
            given["mask"] = tuple(tuple(int(cell) for cell in cells) for cells in given["mask"])
        return cls(**given)


def score_rows(scores: Float[np.ndarray, "premise hypothesis"]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.asarray(scores, dtype=np.float64).tolist())


def mask_rows(kept: Bool[np.ndarray, "premise hypothesis"]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in np.asarray(kept, dtype=int).tolist())


def save_alignments(path: Path, alignments: Iterable[Alignment]) -> None:
    save_lines(path, alignments)


def load_alignments(path: Path) -> list[Alignment]:
    return list(read_alignments(path))


def read_alignments(path: Path) -> Iterator[Alignment]:
    """One after another: a file may be longer than memory."""
    return (alignment for _, alignment in numbered_lines(path, FORMAT, Alignment.from_dict))
