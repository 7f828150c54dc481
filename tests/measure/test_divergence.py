"""TVD, KL and JSD against scipy; padding adds nothing; tensors and arrays give the same."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from whence.measure.divergence import LN2, halved_tvd, jsd, kl, tvd

positive = st.floats(1e-3, 1.0)


def distribution(values: np.ndarray) -> np.ndarray:
    return values / values.sum()


@example(np.full(7, 1.0), np.full(7, 1e-3))
@given(arrays(float, 7, elements=positive), arrays(float, 7, elements=positive))
def test_equal_to_scipy(a: np.ndarray, b: np.ndarray) -> None:
    p, q = distribution(a), distribution(b)
    middle = (p + q) / 2
    assert jsd(p, q) == pytest.approx((entropy(p, middle) + entropy(q, middle)) / 2, abs=1e-8)
    distance = jensenshannon(p, q)  # nan where rounding makes equal distributions differ by less than nothing
    assert np.isnan(distance) or jsd(p, q) == pytest.approx(distance**2, abs=1e-8)
    assert kl(p, q) == pytest.approx(entropy(p, q), abs=1e-5)
    assert tvd(p, q) == pytest.approx(np.abs(p - q).sum() / 2)
    assert float(jsd(torch.from_numpy(p), torch.from_numpy(q))) == pytest.approx(float(jsd(p, q)), abs=1e-12)


def test_bounds_zeros_and_padding() -> None:
    one, other = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    assert jsd(one, other) == pytest.approx(LN2, abs=1e-8)
    assert jsd(one, one) == kl(one, one) == tvd(one, one) == 0.0
    assert np.isfinite(kl(one, other))
    padded = np.pad(one, (0, 4)), np.pad(other, (0, 4))
    assert jsd(*padded) == jsd(one, other)
    assert tvd(*padded) == 1.0


def test_two_classes_and_the_halved_value() -> None:
    p, q = np.array([0.9, 0.1]), np.array([0.6, 0.4])
    assert tvd(p, q) == pytest.approx(0.3)
    assert halved_tvd(p, q) == pytest.approx(0.15)


def test_gradients_are_finite_at_zero() -> None:
    p = torch.tensor([1.0, 0.0], requires_grad=True)
    jsd(p, torch.tensor([0.0, 1.0])).backward()
    assert p.grad is not None
    assert torch.isfinite(p.grad).all()
