"""Which sets of words Kernel SHAP asks about: each at most once, with the weights that keep the regression unbiased.

The Shapley kernel gives all coalitions of size k together the mass (n−1)/(k (n−k)), so the smallest and largest weigh most. A
coalition always comes with its complement, which removes most of the variance (Covert & Lee 2021).

Sizes are taken whole from the ends inwards (1 and n−1, 2 and n−2, …) as long as a size's share of the passes that are left, in
proportion to mass, pays for all of it. The passes that remain are shared out among the other sizes in proportion to mass (by
systematic sampling, so that no size is more than one pair off its share), and within a size coalitions are drawn without
replacement. Each of those has the same weight: the mass of their sizes, divided by their number. If all 2ⁿ − 2 coalitions fit,
all are taken.
"""

from itertools import combinations, islice
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int

from whence.explain.tokens.halves import TAKEN


def coalitions(
    n: int, n_samples: int, draw: np.random.Generator
) -> tuple[Bool[np.ndarray, "samples n"], Float[np.ndarray, " samples"], Int[np.ndarray, " samples"]]:
    """At most `n_samples` distinct coalitions of n ≥ 2 words, neither empty nor full, their weights in the regression, and of
    which draw each is (halves.py)."""
    pairs_left = n_samples // 2
    sizes = list(range(1, n // 2 + 1))
    mass = [(n - 1) / (k * (n - k)) * (2 if 2 * k < n else 1) for k in sizes]  # of size k and n − k together
    whole = 0
    while whole < len(sizes) and pairs_left * mass[whole] >= _pairs(n, sizes[whole]) * sum(mass[whole:]) * (1 - 1e-9):
        pairs_left -= _pairs(n, sizes[whole])
        whole += 1
    halves = [_all_of_size(n, k) for k in sizes[:whole]]
    weights = [np.full(len(half), mass[i] / (2 * len(half))) for i, half in enumerate(halves)]
    if whole < len(sizes) and pairs_left:
        shares = pairs_left * np.cumsum(mass[whole:]) / sum(mass[whole:])
        shares[-1] = pairs_left  # not a rounding error less
        counts = np.diff(np.floor(shares + draw.random()).astype(int), prepend=0)
        drawn = [_some_of_size(n, k, int(count), draw) for k, count in zip(sizes[whole:], counts, strict=True)]
        halves += drawn
        weights += [np.full(len(half), sum(mass[whole:]) / (2 * pairs_left)) for half in drawn]
    half = np.concatenate(halves) if halves else np.zeros((0, n), dtype=bool)
    taken = sum(map(len, halves[:whole]))
    numbers = np.concatenate([np.full(taken, TAKEN), np.arange(len(half) - taken)])
    weight = np.concatenate(weights) if weights else np.zeros(0)
    return np.concatenate([half, ~half]), np.tile(weight, 2), np.tile(numbers, 2)


def _pairs(n: int, k: int) -> int:
    """How many pairs (coalition, complement) have sizes k and n − k."""
    return comb(n, k) if 2 * k < n else comb(n, k) // 2


def _all_of_size(n: int, k: int) -> Bool[np.ndarray, "pairs n"]:
    """One of every pair. Of size n/2 the complement has the same size: those with the first word come first."""
    members = np.array(list(islice(combinations(range(n), k), _pairs(n, k))))
    masks = np.zeros((len(members), n), dtype=bool)
    np.put_along_axis(masks, members, True, axis=1)
    return masks


def _some_of_size(n: int, k: int, count: int, draw: np.random.Generator) -> Bool[np.ndarray, "count n"]:
    """`count` different pairs, uniformly: chosen from the list of all where that is short, else drawn until enough differ."""
    if count * 4 > _pairs(n, k):
        return _all_of_size(n, k)[draw.choice(_pairs(n, k), size=count, replace=False)]
    found: dict[bytes, Bool[np.ndarray, " n"]] = {}
    while len(found) < count:
        mask = np.zeros(n, dtype=bool)
        mask[draw.choice(n, size=k, replace=False)] = True
        mask = ~mask if 2 * k == n and not mask[0] else mask
        found.setdefault(mask.tobytes(), mask)
    return np.array(list(found.values()), dtype=bool).reshape(count, n)
