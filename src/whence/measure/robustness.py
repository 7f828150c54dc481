"""Robustness equivalence: do labels and rationales fail together when the input is noised? (Wiegreffe et al. 2021, §4.1)

For each variance σ² of a grid that begins with 0, and each of a few draws of noise N(0, σ²) on the encoder's input embeddings:

  stable[σ², draw, x]   the written label is that of σ² = 0 (an output without a label is never stable)
  similar[σ², draw, x]  F1 of the words of the written rationale and of that of σ² = 0

  collapse   the first σ² at which a curve has come half-way from its value at 0 down to its floor, linear between grid points.
             The floor is chance (the same label, or the same words, in another example's output at σ² = 0), or the lowest
             point of the curve where noise leads to outputs that nothing clean would give
  distance   σ² at which rationales collapse − σ² at which labels do; `steps`: the same counted in grid steps. A curve that
             does not collapse counts as collapsing at the grid's end: a lower bound. Bootstrap intervals over examples
  coupling   correlation of `stable` and `similar` over the draws of one example and one σ² (means over draws taken off),
             against draws shuffled within example and σ²; bootstrap interval over examples

`verdict`
  together        both collapse within one step of each other, and the same draws break both: p < 0.05, and the interval of
                  the coupling does not end below 0.3
  apart           surely more than one step lies between, or the interval of the coupling ends below 0.3
  undecided       else: too few examples or draws
  nothing failed  neither curve collapses on the grid

The paper compares the curves by eye. Two independent networks of one kind collapse at the same σ² though neither knows of the
other, so the distance alone cannot tell them from one model: what can is coupling, whether the same draw breaks both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from whence.data import Example, words
from whence.errors import BadInput
from whence.explain.text import MAX_TOKENS, Rationale, write_each, write_rationales
from whence.explain.text.write import generator_of
from whence.measure.statistics import Estimate, bootstrap
from whence.run import Runner

IN_VARIANCES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""The usual grid, in units of the embeddings' own variance: T5's table is a thousand times as wide as MiniLM's."""
PILOT, FINER, FINEST = 8, 8.0, 8.0**-5
"""How `fitting_scale` looks for a finer grid: on so many examples, by this factor, down to this."""
PERMUTATIONS = 2000
LEVEL = 0.05
LITTLE = 0.3
"""A coupling below this is next to none: one model has more than twice as much (docs/association.md)."""
ENOUGH = 10
"""Examples without which nothing is said about coupling."""
OTHERS = 20
"""Examples with which each is compared for the floor."""
Curves = Float[np.ndarray, "variances draws examples"]


@dataclass(frozen=True, eq=False)
class Robustness:
    variances: tuple[float, ...]
    stable: Curves
    similar: Curves
    label_collapse: float | None
    rationale_collapse: float | None
    """None where the curve does not come half-way to its floor on the grid, or begins there (one rationale for everything)."""
    distance: Estimate
    steps: Estimate
    coupling: float
    p: float
    coupling_interval: tuple[float, float]

    @property
    def verdict(self) -> Literal["together", "apart", "undecided", "nothing failed"]:
        if self.label_collapse is None and self.rationale_collapse is None:
            return "nothing failed"
        both = self.label_collapse is not None and self.rationale_collapse is not None
        if both and abs(self.steps.value) <= 1 and self._coupled:
            return "together"
        far = self.steps.low > 1 or self.steps.high < -1
        return "apart" if far or self.coupling_interval[1] < LITTLE else "undecided"

    @property
    def _coupled(self) -> bool:
        return self.p < LEVEL and self.coupling > 0 and self.coupling_interval[1] >= LITTLE

    def told(self) -> str:
        """In one sentence."""
        most = self.variances[-1]
        if self.verdict == "nothing failed":
            return f"Neither labels nor rationales failed up to σ² = {most:.3g}."
        places = [
            f"{what} {f'collapse at σ² = {at:.3g}' if at is not None else f'do not collapse up to σ² = {most:.3g}'}"
            for what, at in (("labels", self.label_collapse), ("rationales", self.rationale_collapse))
        ]
        known = "break" if self._coupled else "are not seen to break"
        same = f"the same draws {known} both (coupling {self.coupling:.2f}, p = {self.p:.3g})".replace("-", "−")
        fail = f"Labels and rationales of this model fail {self.verdict}"
        if self.verdict == "undecided":
            fail = "Whether labels and rationales of this model fail together or apart is undecided"
        return f"{fail}: {places[0]}, {places[1]}; {same}."


def written_under_noise(
    runner: Runner,
    examples: Sequence[Example],
    in_variances: Sequence[float] = IN_VARIANCES,
    draws: int = 4,
    seed: int = 0,
    max_tokens: int = MAX_TOKENS,
) -> list[list[list[Rationale]]]:
    """Rationales by variance (given in units of the embeddings' own), draw and example. Without noise all draws are one."""
    unit = generator_of(runner).embedding_variance
    cells = [(unit * number, seed * draws + d) for number in in_variances for d in range(draws if number else 1)]
    written = iter(write_each(runner, [(example, *cell) for cell in cells for example in examples], max_tokens))
    rows = iter([[next(written) for _ in examples] for _ in cells])
    return [[next(rows) for _ in range(draws)] if number else [next(rows)] * draws for number in in_variances]


def fitting_scale(runner: Runner, examples: Sequence[Example], seed: int = 0, max_tokens: int = MAX_TOKENS) -> float:
    """By what the usual grid is multiplied so that something can be seen on it: 1, or the first of 1/8, 1/64, … at which its
    lowest noise leaves half of the labels of the first few examples. Causal models lose theirs at far less than others."""
    clean = write_rationales(runner, examples[:PILOT], max_tokens=max_tokens)
    few = [(e, r.label) for e, r in zip(examples, clean, strict=False) if r.label is not None]
    lowest, scale = IN_VARIANCES[1] * generator_of(runner).embedding_variance, 1.0
    while few and scale > FINEST:
        noised = write_rationales(runner, [e for e, _ in few], lowest * scale, seed, max_tokens)
        if 2 * sum(r.label == label for r, (_, label) in zip(noised, few, strict=True)) >= len(few):
            break
        scale /= FINER
    return scale


def robustness(written: Sequence[Sequence[Sequence[Rationale]]], seed: int = 0) -> Robustness:
    """`written` by variance, draw and example; the first variance is 0."""
    variances = [draws[0][0].noise for draws in written]
    if len(variances) < 2 or variances[0] != 0 or sorted(set(variances)) != variances:
        raise BadInput(f"variances are {variances}; expected 0 and at least one more, rising")
    clean = written[0][0]
    stable = np.array([[[float(c.label is not None and r.label == c.label) for c, r in zip(clean, row, strict=True)]
                        for row in draws] for draws in written])  # fmt: skip
    similar = np.array([[[word_f1(c.text, r.text) for c, r in zip(clean, row, strict=True)] for row in draws]
                        for draws in written])  # fmt: skip
    others = [np.roll(np.arange(len(clean)), -k).tolist() for k in range(1, min(OTHERS, len(clean) - 1) + 1)]
    floors = [
        np.mean([[score(clean[i], clean[j]) for i, j in enumerate(other)] for other in others], axis=0)
        if others else np.zeros(len(clean))
        for score in (lambda a, b: float(a.label == b.label), lambda a, b: word_f1(a.text, b.text))
    ]  # fmt: skip
    grid = np.array(variances)
    rows = np.concatenate(
        [stable.mean(1), floors[0][None], similar.mean(1), floors[1][None]]
    ).T  # examples, 2 · (variances + 1)
    ends = _places(rows)
    at = [None if np.isnan(place) else float(np.interp(place, np.arange(len(grid)), grid)) for place in ends]
    steps = bootstrap(rows, _gap_in_steps, seed)
    distance = bootstrap(rows, lambda r: _gap(r, grid), seed)
    value, p = coupling(stable, similar, seed)
    sure = _coupling_interval(stable, similar, seed)
    return Robustness(tuple(variances), stable, similar, at[0], at[1], distance, steps, value, p, sure)


def coupling(stable: Curves, similar: Curves, seed: int = 0) -> tuple[float, float]:
    """(correlation over draws within example and σ², p of one as large); (0, 1) where no draw differs from another."""
    one, other = (values - values.mean(1, keepdims=True) for values in (stable, similar))
    scale = float(np.sqrt((one**2).sum() * (other**2).sum()))
    if scale < 1e-12:
        return 0.0, 1.0
    draw = np.random.default_rng(seed)
    used = np.abs(one).sum(1) > 0  # only cells whose draws differ can add to the sum
    left, right = (np.moveaxis(values, 1, 2)[used] for values in (one, other))
    observed = float((left * right).sum())
    shuffled = np.array([(left * draw.permuted(right, axis=1)).sum() for _ in range(PERMUTATIONS)])
    return observed / scale, (1 + int((shuffled >= observed - 1e-12).sum())) / (1 + PERMUTATIONS)


def _coupling_interval(stable: Curves, similar: Curves, seed: int) -> tuple[float, float]:
    """Anything is possible where the draws of too few examples differ in both, or in neither (all break at the first level);
    nothing is where one of them never differs."""
    one, other = (values - values.mean(1, keepdims=True) for values in (stable, similar))
    rows = np.stack([(a * b).sum((0, 1)) for a, b in ((one, other), (one, one), (other, other))], 1)
    moved = rows[:, 1:] > 1e-12
    both, neither = moved.any(0).all(), not moved.any()
    if len(rows) < ENOUGH or neither or (both and moved.all(1).sum() < ENOUGH):
        return -1.0, 1.0
    sure = bootstrap(rows, _correlation, seed)
    return sure.low, sure.high


def _correlation(rows: Float[np.ndarray, "*batch examples 3"]) -> np.ndarray:
    both, one, other = np.moveaxis(rows.sum(-2), -1, 0)
    scale = np.sqrt(one * other)
    return np.where(scale > 1e-12, both / np.where(scale > 1e-12, scale, 1.0), 0.0)


def word_f1(one: str, other: str) -> float:
    """F1 of two bags of lower-cased words; 1 for two empty texts."""
    a, b = (Counter(word.casefold() for word in words(text)) for text in (one, other))
    return 1.0 if not a and not b else 2 * (a & b).total() / (a.total() + b.total())


def collapse_place(curve: Float[np.ndarray, "*batch variances"], floor: Float[np.ndarray, " *batch"]) -> np.ndarray:
    """Where on the grid (0: the first variance) the curve first comes down to half-way between its start and the floor, or its
    own minimum if that is lower; NaN where it never does, or starts at its floor."""
    floor = np.minimum(floor, curve.min(-1))
    half = (curve[..., :1] + floor[..., None]) / 2
    below = (curve <= half) & (curve[..., :1] > floor[..., None] + 1e-9)
    first = below.argmax(-1)[..., None]
    before = np.maximum(first - 1, 0)
    high, low = np.take_along_axis(curve, before, -1), np.take_along_axis(curve, first, -1)
    drop = np.where(high > low, high - low, 1.0)
    return np.where(below.any(-1), (before + (high - half) / drop)[..., 0], np.nan)


def _places(rows: Float[np.ndarray, "*batch examples columns"]) -> np.ndarray:
    """Where labels and where rationales collapse: float[2, *batch]."""
    means = rows.mean(-2)
    half = means.shape[-1] // 2
    return np.stack([collapse_place(part[..., :-1], part[..., -1]) for part in (means[..., :half], means[..., half:])])


def _gap_in_steps(rows: np.ndarray) -> np.ndarray:
    last = rows.shape[-1] // 2 - 2
    labels, rationales = np.nan_to_num(_places(rows), nan=last)
    return rationales - labels


def _gap(rows: np.ndarray, grid: np.ndarray) -> np.ndarray:
    labels, rationales = np.interp(np.nan_to_num(_places(rows), nan=len(grid) - 1), np.arange(len(grid)), grid)
    return rationales - labels
