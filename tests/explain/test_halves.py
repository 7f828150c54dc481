"""Stability from the halves of one sample, against what it estimates: the rank correlation of two runs with different seeds."""

import numpy as np
import pytest

from whence.explain.ranks import rank_agreement
from whence.explain.tokens.coalitions import coalitions
from whence.explain.tokens.halves import TAKEN, lengthened, stability_of_halves
from whence.explain.tokens.kernel_shap import shapley_regression


def game(words: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Main effects and interactions of a smooth function of sets of words."""
    draw = np.random.default_rng(seed)
    return draw.normal(size=words), draw.normal(size=(words, words)) * 0.6


def worth(masks: np.ndarray, effects: np.ndarray, together: np.ndarray) -> np.ndarray:
    z = masks.astype(float)
    return 1 / (1 + np.exp(-(z @ effects + ((z @ together) * z).sum(1))))


def one_run(words: int, samples: int, of: int, seed: int) -> tuple[np.ndarray, dict[str, float]]:
    """(Shapley values by sampling, the note)."""
    effects = game(words, of)
    masks, weights, draw = coalitions(words, samples, np.random.default_rng([seed, of]))
    values = worth(masks, *effects)
    empty, full = (float(worth(np.full((1, words), kept), *effects)[0]) for kept in (False, True))
    note = stability_of_halves(
        draw, words, lambda mine, times: shapley_regression(masks[mine], values[mine], times * weights[mine], empty, full)
    )
    return shapley_regression(masks, values, weights, empty, full), note


@pytest.mark.parametrize(("words", "samples", "off"), [(12, 64, 0.05), (12, 256, 0.025), (20, 256, 0.025), (40, 256, 0.025)])
def test_the_mean_is_that_of_two_runs(words: int, samples: int, off: float) -> None:
    """Over 100 games. Plain halves would be lower by more than that."""
    first = [one_run(words, samples, of, 0) for of in range(100)]
    second = [one_run(words, samples, of, 1)[0] for of in range(100)]
    two_runs = np.mean([tau[0] for (a, _), b in zip(first, second, strict=True) if (tau := rank_agreement(a, b))])
    assert np.mean([note["stability"] for _, note in first]) == pytest.approx(two_runs, abs=off)


def test_exact_values_are_stable_and_too_few_samples_say_nothing() -> None:
    assert one_run(6, 256, 0, 0)[1] == {"stability": 1.0}
    assert one_run(60, 100, 0, 0)[1] == {}


def test_halves_share_what_every_seed_takes_and_nothing_else() -> None:
    masks, weights, draw = coalitions(9, 200, np.random.default_rng(0))
    asked: list[tuple[np.ndarray, np.ndarray]] = []

    def fit(mine: np.ndarray, times: np.ndarray) -> np.ndarray:
        asked.append((mine, times))
        return np.arange(9.0)

    assert stability_of_halves(draw, 9, fit) == {"stability": 1.0}
    (first, times), (second, others) = asked
    assert set(masks[draw == TAKEN].sum(1)) == {1, 2, 7, 8}
    assert np.array_equal(first & second, draw == TAKEN)
    assert (first | second).all()
    for mine, factors in ((first, times), (second, others)):
        assert {row.tobytes() for row in masks[mine]} == {row.tobytes() for row in ~masks[mine]}  # pairs stay together
        assert (factors * weights[mine]).sum() == pytest.approx(weights.sum())


def test_spearman_brown() -> None:
    """Twice the length: r = 0.5 becomes 2/3. Nothing is made of a negative correlation."""
    tau = 2 / np.pi * np.arcsin(0.5)
    assert lengthened(tau, 2) == pytest.approx(2 / np.pi * np.arcsin(2 / 3))
    assert lengthened(1.0, 3) == pytest.approx(1.0)
    assert lengthened(-0.2, 2) == -0.2
