"""Every token explainer against a closed form: a bag of words whose probability is a known function of a sum of weights."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
import torch
from bag_model import DIRECTION, Shape, bag_classifier
from scipy.integrate import quad
from scipy.interpolate import make_interp_spline
from sklearn.linear_model import Ridge

from whence.data import Example
from whence.explain import METHODS, TokenScores, explain
from whence.explain.tokens import Ask, Scored
from whence.explain.tokens.integrated_gradients import integral, largest
from whence.explain.tokens.lime import DRAWS, hidings, lime_rounds, random_hidings, weighted_ridge
from whence.explain.tokens.surrogate import LONGEST
from whence.models import Classifier, Encoded, Label
from whence.run import Request, Result, Rounds, Runner

WEIGHTS = {"good": 2.5, "bad": -2.0, "film": 0.25, "the": 0.0, "very": 0.75, "not": -1.0, "plot": 0.5}
TEXT = "the very good film not bad plot"


def sigmoid(s: float) -> float:
    return float(1 / (1 + np.exp(-s)))


def slope(s: float) -> float:
    return sigmoid(s) * (1 - sigmoid(s))


@pytest.fixture(scope="module")
def bag() -> Classifier:
    return bag_classifier(WEIGHTS)


@pytest.fixture(scope="module")
def encoded(bag: Classifier) -> Encoded:
    return bag.encode([Example("x", {"text": TEXT})])[0]


def weights_of(text: str, weights: dict[str, float] = WEIGHTS) -> np.ndarray:
    return np.array([weights[word] for word in text.split()])


W = weights_of(TEXT)


def scores(classifier: Classifier, encoded: Encoded, method: str, target: int = 1, **parameters: object) -> TokenScores:
    [made] = explain(Runner(classifier), [encoded], METHODS[method], target=Label(target), hide="delete", parameters=parameters)
    return made


def test_gradients(bag: Classifier, encoded: Encoded) -> None:
    """∂p/∂e_i = p(1−p) v for every word; for the other label with the other sign."""
    g = slope(W.sum()) * np.array(DIRECTION)
    expected = {"gradient_l1": np.abs(g).sum(), "gradient_l2": np.linalg.norm(g), "gradient_sum": g.sum()}
    for name, value in expected.items():
        assert scores(bag, encoded, name).scores == pytest.approx([value] * len(W), rel=1e-5)
    assert scores(bag, encoded, "gradient_sum", target=0).scores == pytest.approx([-g.sum()] * len(W), rel=1e-5)


def test_input_x_gradient(bag: Classifier, encoded: Encoded) -> None:
    """e_i · p(1−p) v = p(1−p) w_i."""
    assert scores(bag, encoded, "input_x_gradient").scores == pytest.approx(slope(W.sum()) * W, abs=1e-6)


def test_integrated_gradients(bag: Classifier, encoded: Encoded) -> None:
    """IG_i = w_i ∫ p(1−p)(t s) dt = w_i (p(s) − p(0))/s: the closed form, and the integral by a numerical rule."""
    s = W.sum()
    made = scores(bag, encoded, "integrated_gradients", n_steps=100)
    assert made.scores == pytest.approx(W * (sigmoid(s) - 0.5) / s, abs=1e-5)
    assert made.scores == pytest.approx(W * quad(lambda t: slope(t * s), 0, 1)[0], abs=1e-5)
    assert made.notes["completeness_error"] < 1e-5
    assert sum(made.scores) == pytest.approx(sigmoid(s) - 0.5, abs=1e-5)


@pytest.mark.parametrize(("shape", "power"), [("square", 2), ("cube", 3)])
def test_integrated_gradients_end_points(shape: Shape, power: int) -> None:
    """Trap 6 of peers.md: averaging over [0, 29/30] gives 0.967 of x² and 0.935 of x³; a spline in √t misses under 1e-5."""
    weights = {"good": 0.4, "film": 0.3, "plot": 0.1}
    classifier = bag_classifier(weights, shape)
    [item] = classifier.encode([Example("x", {"text": "good film plot"})])
    made = scores(classifier, item, "integrated_gradients", n_steps=60)
    assert sum(made.scores) == pytest.approx(0.8**power, rel=1e-5)
    assert made.notes["completeness_error"] < 1e-5 * 0.8**power
    assert made.scores == pytest.approx(np.array([0.4, 0.3, 0.1]) / 0.8 * 0.8**power, rel=1e-5)
    # in u = √t the slopes are 4u³ and 6u⁵: a chord, Simpson's rule, and his rule for three steps
    for steps, expected in ((1, {2: 2, 3: 3}), (2, {2: 1, 3: 9 / 8}), (3, {2: 1, 3: (3 * 6 + 3 * 6 * 32 + 6 * 243) / 243 / 8})):
        coarse = scores(classifier, item, "integrated_gradients", n_steps=steps, max_steps=steps)
        assert sum(coarse.scores) / 0.8**power == pytest.approx(expected[power], abs=1e-4)


def test_integrated_gradients_takes_more_steps_until_the_error_is_small() -> None:
    """Of x³ a chord gives three times as much, Simpson's rule 9/8; each round says how far it moved."""
    classifier = bag_classifier({"good": 0.4, "film": 0.3, "plot": 0.1}, "cube")
    [item] = classifier.encode([Example("x", {"text": "good film plot"})])
    made = scores(classifier, item, "integrated_gradients", n_steps=1)
    assert "not_converged" not in made.notes
    assert sum(made.scores) == pytest.approx(0.8**3, rel=0.02)
    assert made.notes["completeness_error"] == pytest.approx(abs(sum(made.scores) - 0.8**3), abs=1e-5)
    finer = scores(classifier, item, "integrated_gradients", n_steps=1, tolerance=0.002)
    assert finer.notes["steps"] > made.notes["steps"]
    assert sum(finer.scores) == pytest.approx(0.8**3, rel=0.002)
    capped = scores(classifier, item, "integrated_gradients", n_steps=1, max_steps=2)
    assert (capped.notes["steps"], capped.notes["not_converged"]) == (2, 1)
    assert capped.scores == pytest.approx(
        scores(classifier, item, "integrated_gradients", n_steps=2, max_steps=2).scores, rel=1e-6
    )
    alone = scores(classifier, item, "integrated_gradients", n_steps=20, max_steps=20)  # one round judges itself, too
    assert "not_converged" not in alone.notes
    assert scores(classifier, item, "integrated_gradients", n_steps=3, max_steps=3).notes["not_converged"] == 1


def test_integral_is_that_of_a_cubic_spline() -> None:
    """Exact for cubics on any points; elsewhere as another implementation of the same spline, by its basis functions."""
    points = np.array([0.0, 0.1, 0.15, 0.4, 0.8, 1.0])
    found, bends = integral(points, np.stack([points**3, points, np.exp(points)], axis=1))
    expected = make_interp_spline(points, np.exp(points)).integrate(0, 1)
    assert found == pytest.approx([1 / 4, 1 / 2, float(expected)], rel=1e-12)
    assert bends[:, 0] == pytest.approx(np.diff(points) ** 3 / 24 * 6 * (points[1:] + points[:-1]), rel=1e-9)
    assert bends[:, 1] == pytest.approx(0, abs=1e-12)
    assert largest(np.array([1.0, 5.0, 2.0, 3.0]), 9).tolist() == [1, 3]
    assert largest(np.array([1.0, 5.0, 2.0, 3.0]), 1).tolist() == [1]


def test_integrated_gradients_look_where_the_path_turns(encoded: Encoded) -> None:
    """Two words with a narrow peak each, one up and one down: the errors of equal steps cancel in the sum, which is 0 for any
    number of them, but not word by word. The truth is the integral of a Gaussian."""
    spy = PeakedPath(encoded, np.array([0.13, 0.17]), 0.01)
    made = spy.answer(METHODS["integrated_gradients"].rounds(Ask(encoded, Label(1))))
    truth = 0.01 * np.sqrt(2 * np.pi)
    assert made.scores[:2] == pytest.approx([truth, -truth], rel=0.05)
    assert made.scores[2:] == pytest.approx(0, abs=1e-9)
    assert made.notes["steps"] == spy.points <= 60
    assert "not_converged" not in made.notes


class PeakedPath:
    """A model whose first two words have Gaussian slopes along the path, of opposite sign; it counts the points it is asked."""

    def __init__(self, encoded: Encoded, centres: np.ndarray, width: float) -> None:
        self.encoded, self.centres, self.width, self.points = encoded, centres, width, 0
        self.tokens = [int(np.flatnonzero(encoded.word == word)[0]) for word in (0, 1)]

    def answer(self, rounds: Rounds[Scored]) -> Scored:
        asked = next(rounds)
        while True:
            try:
                asked = rounds.send([self.one(request) for request in asked])
            except StopIteration as stopped:
                return stopped.value

    def one(self, request: Request) -> Result:
        self.points += bool(request.want)
        gradient, scale = np.zeros((len(self.encoded), 4)), 1.0 if request.change.scale is None else request.change.scale
        gradient[self.tokens, 0] = np.array([1, -1]) * np.exp(-((scale - self.centres) ** 2) / (2 * self.width**2))
        return Result(np.zeros(2), np.full(2, 0.5), {"gradient": gradient})


def test_leave_one_out(bag: Classifier, encoded: Encoded) -> None:
    expected = [sigmoid(W.sum()) - sigmoid(W.sum() - w) for w in W]
    assert scores(bag, encoded, "leave_one_out").scores == pytest.approx(expected, abs=1e-6)
    assert scores(bag, encoded, "leave_one_out", target=0).scores == pytest.approx([-x for x in expected], abs=1e-6)


def shapley(w: np.ndarray) -> np.ndarray:
    """By the definition: the mean over all coalitions of what a word adds."""
    n, found = len(w), np.zeros(len(w))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for members in combinations(others, size):
                s = w[list(members)].sum()
                found[i] += (sigmoid(s + w[i]) - sigmoid(s)) / (n * comb(n - 1, size))
    return found


@pytest.mark.parametrize("text", [TEXT, "good bad", "good", "very good film", "film plot not bad the good"])
def test_kernel_shap_is_exact_for_short_texts(bag: Classifier, text: str) -> None:
    [item] = bag.encode([Example("x", {"text": text})])
    made, w = scores(bag, item, "kernel_shap", n_samples=256), weights_of(text)
    assert made.scores == pytest.approx(shapley(w), abs=1e-6)
    assert sum(made.scores) == pytest.approx(sigmoid(w.sum()) - 0.5, abs=1e-6)


def test_kernel_shap_sampled(bag: Classifier) -> None:
    """Efficiency holds exactly however few the samples; with more of them the values approach the exact ones."""
    text = "the very good film not bad plot very not plot"
    [item] = bag.encode([Example("x", {"text": text})])
    w = weights_of(text)
    exact, errors = shapley(w), []
    for n_samples in (20, 100, 800):
        made = scores(bag, item, "kernel_shap", n_samples=n_samples)
        assert sum(made.scores) == pytest.approx(sigmoid(w.sum()) - 0.5, abs=1e-6)
        errors.append(np.abs(np.array(made.scores) - exact).max())
    assert errors[-1] < 0.02
    assert errors[-1] < errors[0]


def test_lime_ranks_words_by_weight(bag: Classifier, encoded: Encoded) -> None:
    made = np.array(scores(bag, encoded, "lime", n_samples=800).scores)
    assert np.argsort(made).tolist() == np.argsort(W, kind="stable").tolist()
    assert np.sign(made[np.abs(W) > 0.3]).tolist() == np.sign(W[np.abs(W) > 0.3]).tolist()


def test_lime_finds_a_line(bag: Classifier) -> None:
    """Where the probability is nearly linear (small weights: p ≈ ½ + s/4), LIME without ridge finds w/4."""
    small = {word: weight / 100 for word, weight in WEIGHTS.items()}
    classifier = bag_classifier(small)
    [item] = classifier.encode([Example("x", {"text": TEXT})])
    [made] = Runner(classifier).drive([lime_rounds(Ask(item, Label(1), "delete"), n_samples=200, ridge=1e-9)])
    assert made.scores == pytest.approx(W / 100 / 4, abs=1e-5)


@pytest.mark.parametrize("words", [6, 80])  # fewer and more than samples
def test_weighted_ridge_is_scikit_learns(words: int) -> None:
    draw = np.random.default_rng(0)
    masks, weights = random_hidings(words, 50, draw), draw.random(50)
    values = draw.standard_normal(50)
    expected = Ridge(alpha=1.0).fit(masks.astype(float), values, sample_weight=weights).coef_
    assert weighted_ridge(masks, values, weights, 1.0) == pytest.approx(expected)


def test_lime_draws_hidings_of_every_size() -> None:
    masks = random_hidings(5, 1999, np.random.default_rng(0))
    hidden = np.bincount((~masks).sum(axis=1), minlength=6)
    assert hidden[0] == 0
    assert (np.abs(hidden[1:] / 1999 - 0.2) < 0.04).all()  # 1 to all words, equally likely
    assert (np.abs(masks.mean(axis=0) - 0.4) < 0.05).all()  # every word alike: 3 of 5 hidden on average


@pytest.mark.parametrize("n", [2, 5, 8, 14])
def test_masks_of_short_texts_stand_for_the_draws_of_the_authors(n: int) -> None:
    """Every number of hidden words counts equally; where all masks fit, the regression is that of the limit."""
    draw = np.random.default_rng(n)
    masks, counts, _ = hidings(n, 256, draw, draw)
    assert masks[0].all()
    assert not masks[1].any()
    assert len(np.unique(masks, axis=0)) == len(masks) <= 258
    by_size = np.bincount((~masks[1:]).sum(axis=1), weights=counts[1:], minlength=n + 1)[1:]
    assert by_size == pytest.approx((DRAWS - 1) / n, rel=1e-9 if n <= 8 else 0.25)
    words, pairs = draw.standard_normal(n), draw.standard_normal((n, n))

    def value(z: np.ndarray) -> np.ndarray:
        return np.tanh(z @ words + 0.3 * ((z @ pairs) * z).sum(axis=1))

    many = np.vstack([np.ones((50, n), dtype=bool), random_hidings(n, 50 * (DRAWS - 1), draw)])  # the full text is 1 of 5,000
    found = weighted_ridge(masks, value(masks.astype(float)), counts, 1.0)
    limit = weighted_ridge(many, value(many.astype(float)), np.full(len(many), 1 / 50), 1.0)
    assert found == pytest.approx(limit, abs=0.01 if n <= 8 else 0.15)


def test_a_text_is_paid_for_once_by_lime_and_kernel_shap(bag: Classifier, encoded: Encoded) -> None:
    runner = Runner(bag)
    explain(runner, [encoded], METHODS["kernel_shap"])
    paid = runner.paid.forward
    explain(runner, [encoded], METHODS["lime"])
    assert runner.paid.forward == paid


def test_long_texts_are_hidden_as_the_authors_do() -> None:
    masks, counts, _ = hidings(LONGEST + 1, 100, np.random.default_rng(0), np.random.default_rng(1))
    assert masks.shape == (100, LONGEST + 1)
    assert (counts == 1).all()


def test_scores_do_not_touch_the_parameters(bag: Classifier, encoded: Encoded) -> None:
    for name, method in METHODS.items():
        if not method.needs:
            scores(bag, encoded, name)
    assert all(parameter.grad is None for parameter in bag.model.parameters())
    assert torch.equal(bag.model.direction, torch.tensor(DIRECTION))
