"""What an alignment explainer is: a number for every word pair of many pairs at once and, if the method makes one, a mask.

Scores are for the predicted label: positive speaks for it. Word pairs of which the model did not read a word score 0 and are
never kept (random scores excepted). Methods are generators for one pair that yield masks (`by_masks`); the runner drives them.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from whence.errors import BadInput
from whence.explain.alignment import Alignment, mask_rows, score_rows
from whence.explain.parameters import Range, filled
from whence.models import Classifier, Encoded
from whence.models.alignment import pair_shape, read_cells
from whence.run import Runner, Tick
from whence.run.masks import MaskRounds, Returned, drive_masks


@dataclass
class Cells:
    """float[premise, hypothesis], the kept cells if the method chooses them, and what it says of itself."""

    scores: Float[np.ndarray, "premise hypothesis"]
    mask: Bool[np.ndarray, "premise hypothesis"] | None = None
    notes: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PairAsk:
    """One pair to be explained: how the model reads it, the logits without a mask, the explained label, the seed."""

    encoded: Encoded
    logits: Float[np.ndarray, " labels"]
    target: int
    seed: int = 0
    sealed: bool = False
    """Cells have a row and a column for special tokens, both first (models/alignment.py)."""

    @property
    def shape(self) -> tuple[int, int]:
        return pair_shape(self.encoded, self.sealed)

    @cached_property
    def read(self) -> Bool[np.ndarray, "premise hypothesis"]:
        return read_cells(self.encoded, self.sealed)

    def generator(self, method: str) -> np.random.Generator:
        """Randomness from the seed, the pair and the method alone: neither batch nor order can change it."""
        what = (self.encoded.ids, self.encoded.word)
        return np.random.default_rng([self.seed, *(zlib.crc32(x.tobytes()) for x in what), zlib.crc32(method.encode())])


Explain = Callable[..., list[Cells]]
"""(asks, runner, tick or None, **parameters) → one `Cells` for each ask."""


@dataclass(frozen=True)
class AlignmentMethod:
    """One registered explainer of alignments."""

    name: str
    title: str
    about: str
    paper: str
    cost: str
    explain: Explain
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """Which values a parameter may have; every number has one."""
    makes_mask: bool = False
    """True where the method chooses cells itself; a mask is induced from the scores of the others (measure/alignments)."""
    mask_cuts: bool = False
    """True where the mask holds the cells to cut, not those to keep."""
    stochastic: bool = False


def drive_asks(
    runner: Runner, asks: Sequence[PairAsk], rounds: Sequence[MaskRounds[Returned]], tick: Tick | None = None
) -> list[Returned]:
    """Run one generator for each of the pairs, which are sealed all or none."""
    return drive_masks(runner, [ask.encoded for ask in asks], rounds, tick, bool(asks) and asks[0].sealed)


def by_masks(rounds: Callable[..., MaskRounds[Cells]], makes_mask: bool = False) -> Explain:
    """A method from a generator for one pair, which yields masks and is sent logits. Pairs that have no cell are not asked."""

    def one(ask: PairAsk, parameters: Mapping[str, Any]) -> MaskRounds[Cells]:
        if not ask.read.any():
            return Cells(np.zeros(ask.shape), np.zeros(ask.shape, dtype=bool) if makes_mask else None)
        return (yield from rounds(ask, **parameters))

    def explain(asks: Sequence[PairAsk], runner: Runner, tick: Tick | None, **parameters: Any) -> list[Cells]:
        return drive_asks(runner, asks, [one(ask, parameters) for ask in asks], tick)

    return explain


def explain_alignments(
    source: Runner | Classifier,
    encoded: Sequence[Encoded],
    method: AlignmentMethod,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    tick: Tick | None = None,
    sealed: bool = False,
) -> list[Alignment]:
    """Explain each pair's predicted label. `parameters` override the method's defaults; `tick` counts finished pairs; `sealed`
    masks can also close what words read from special tokens (models/alignment.py)."""
    runner = source if isinstance(source, Runner) else Runner(source)
    classifier = runner.classifier
    if not isinstance(classifier, Classifier):
        raise BadInput(f"{classifier.name} cannot honour an intervention on alignment; expected a classifier of pairs")
    values, whose = filled(method, parameters), classifier.fingerprint
    asks, base = pair_asks(runner, encoded, seed, sealed), runner.predict(encoded)
    made = method.explain(asks, runner, tick, **values)
    cut = [classifier.probabilities(logits) for logits in drive_asks(runner, asks, [_nothing_aligned(ask) for ask in asks])]
    return [
        Alignment(
            id=e.example.id, texts=dict(e.example.texts), spans=dict(zip(e.fields, e.spans, strict=True)),
            scores=score_rows(cells.scores), mask=None if cells.mask is None else mask_rows(cells.mask), method=method.name,
            target=classifier.labels[ask.target], probability=float(b.probabilities[ask.target]), parameters=values,
            notes={**cells.notes, **({"unseen_words": float(e.unseen)} if e.unseen else {})}, model=whose,
            seed=seed, sealed=sealed, cut_label=classifier.labels[int(c.argmax())], cut_probability=float(c.max()),
        )
        for e, ask, b, cells, c in zip(encoded, asks, base, made, cut, strict=True)
    ]  # fmt: skip


def _nothing_aligned(ask: PairAsk) -> MaskRounds[np.ndarray]:
    """The logits when no word pair may align; those of the model as it is where there is no word pair."""
    if not ask.read.any():
        return ask.logits
    return (yield np.zeros((1, *ask.shape), dtype=np.float32))[0]


def pair_asks(source: Runner | Classifier, encoded: Sequence[Encoded], seed: int = 0, sealed: bool = False) -> list[PairAsk]:
    """The predictions that are to be explained."""
    runner = source if isinstance(source, Runner) else Runner(source)
    runner.classifier.check(frozenset({"alignment"}))
    for e in encoded:
        if len(e.fields) != 2:
            raise BadInput(
                f"example '{e.example.id}' is a single text; expected a pair (premise, hypothesis): alignments lie between two"
            )
    return [
        PairAsk(e, r.logits.astype(np.float64), r.label, seed, sealed)
        for e, r in zip(encoded, runner.predict(encoded), strict=True)
    ]
