"""The same seed gives the same numbers, whatever the batch, the order or the company; another changes only what is random."""

import numpy as np
import pytest
from tiny import texts

from whence.explain import METHODS, Method, TokenScores, explain
from whence.models import Classifier
from whence.run import Runner

SAMPLES = {"lime": {"n_samples": 24}, "kernel_shap": {"n_samples": 24}, "integrated_gradients": {"n_steps": 4}}


def made(classifier: Classifier, method: Method, order: list[int], budget: int = 2048, seed: int = 0) -> list[TokenScores]:
    """Explanations of the first texts, asked for in `order`, returned in theirs."""
    examples = texts()[:4]
    encoded = classifier.encode([examples[i] for i in order])
    found = explain(Runner(classifier, token_budget=budget), encoded, method, seed=seed, parameters=SAMPLES.get(method.name))
    return [found[order.index(i)] for i in sorted(order)]


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_same_seed_same_numbers(bert: Classifier, method: Method) -> None:
    first = made(bert, method, [0, 1, 2, 3])
    assert made(bert, method, [0, 1, 2, 3]) == first  # twice in a row: equal to the last bit
    for order, budget in ([0, 1, 2, 3], 1), ([3, 1, 0, 2], 100_000), ([2, 0, 3, 1], 64):
        for a, b in zip(first, made(bert, method, order, budget), strict=True):
            assert b.id == a.id
            assert b.scores == pytest.approx(a.scores, abs=1e-5, rel=1e-5)
    alone = [made(bert, method, [i])[0] for i in range(4)]
    assert all(a.scores == pytest.approx(b.scores, abs=1e-5, rel=1e-5) for a, b in zip(first, alone, strict=True))


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_other_seed_other_numbers_only_where_random(bert: Classifier, method: Method) -> None:
    first, second = made(bert, method, [0, 1], seed=0), made(bert, method, [0, 1], seed=1)
    same = all(np.allclose(a.scores, b.scores, atol=1e-6) for a, b in zip(first, second, strict=True))
    assert same != method.stochastic


def test_equal_texts_get_equal_numbers(bert: Classifier) -> None:
    """Randomness comes from seed, text and method: two examples with the same text do not differ by chance."""
    encoded = bert.encode([texts()[0], texts()[0]])
    for name in ("lime", "kernel_shap", "random"):
        a, b = explain(Runner(bert), encoded, METHODS[name], parameters=SAMPLES.get(name))
        assert a.scores == b.scores
