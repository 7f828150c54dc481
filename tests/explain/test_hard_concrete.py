"""HardConcrete and AREC's closed forms against Monte Carlo, enumeration and known values."""

from itertools import product

import numpy as np
import pytest
import torch

from whence.explain.alignments.hard_concrete import HardConcrete
from whence.explain.alignments.objective import GATES, bad_windows, fidelity, mask_size, size

TABLE = {
    0.0: (0.38235, 0.38235, 0.501),
    2.0: (0.0773, 0.8206, 0.878),
    -2.0: (0.8206, 0.0773, 0.122),
    0.5: (0.2730, 0.5051, 0.620),
}
"""log α → P(0), P(1), E[Z]"""
DRAWS = 400_000


@pytest.mark.parametrize("log_alpha", list(TABLE))
def test_known_values(log_alpha: float) -> None:
    at = torch.tensor(log_alpha, dtype=torch.float64)
    zero, one, mean = TABLE[log_alpha]
    assert float(GATES.p_zero(at)) == pytest.approx(zero, abs=5e-5)
    assert float(GATES.p_one(at)) == pytest.approx(one, abs=5e-5)
    assert float(GATES.p_nonzero(at)) == pytest.approx(1 - zero, abs=5e-5)
    drawn = GATES.sample(at, torch.rand(DRAWS, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    assert float(drawn.mean()) == pytest.approx(mean, abs=3e-3)


@pytest.mark.parametrize("constants", [(-0.1, 1.1, 0.2), (-0.3, 1.05, 0.7)])
@pytest.mark.parametrize("log_alpha", [-3.0, -0.4, 0.0, 1.3])
def test_probabilities_match_monte_carlo(constants: tuple[float, float, float], log_alpha: float) -> None:
    gates, at = HardConcrete(*constants), torch.tensor(log_alpha, dtype=torch.float64)
    drawn = gates.sample(at, torch.rand(DRAWS, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))
    for probability, share in ((gates.p_zero(at), drawn == 0), (gates.p_one(at), drawn == 1), (gates.p_nonzero(at), drawn > 0)):
        expected = float(probability)
        error = 5 * (expected * (1 - expected) / DRAWS) ** 0.5
        assert float(share.double().mean()) == pytest.approx(expected, abs=error + 1e-6)


def test_one_is_more_probable_exactly_above_zero() -> None:
    around = torch.tensor([-2.0, -1e-3, 1e-3, 2.0])
    assert GATES.more_often_one(around).tolist() == [False, False, True, True]


def test_finite_far_out() -> None:
    far = torch.tensor([-500.0, 500.0], requires_grad=True)
    values = torch.stack([GATES.log_p_zero(far), GATES.log_p_one(far), GATES.log_p_nonzero(far)])
    assert values.isfinite().all()
    edges = GATES.sample(far[None], torch.tensor([[0.0, 1.0]]))
    [slope] = torch.autograd.grad(values.sum() + edges.sum(), [far])
    assert slope.isfinite().all()


def test_expected_size_matches_enumeration() -> None:
    """All 512 masks of 3 × 3 cells, each with its probability."""
    torch.manual_seed(0)
    log_alpha = torch.randn(3, 3, dtype=torch.float64) * 2
    nonzero = GATES.p_nonzero(log_alpha)
    expected = 0.0
    for cells in product((0.0, 1.0), repeat=9):
        mask = torch.tensor(cells, dtype=torch.float64).view(3, 3)
        chance = float(torch.where(mask > 0, nonzero, 1 - nonzero).prod())
        windows = sum(float(mask[i : i + 2, j : j + 2].sum()) == 3 for i in range(2) for j in range(2))
        assert float(mask_size(mask)) == float(mask.sum()) + windows
        expected += chance * (float(mask.sum()) + windows)
    assert float(size(log_alpha, torch.ones(3, 3, dtype=torch.float64))) == pytest.approx(expected, abs=1e-9)


def test_padding_changes_no_size() -> None:
    torch.manual_seed(0)
    log_alpha = torch.randn(3, 4)
    alone = size(log_alpha, torch.ones(3, 4))
    wide, read = torch.full((5, 7), 3.0), torch.zeros(5, 7)
    wide[:3, :4], read[:3, :4] = log_alpha, 1
    assert float(size(wide, read)) == pytest.approx(float(alone), abs=1e-6)


def test_diagonals_and_pairs_are_not_ragged() -> None:
    ragged = {(1, 1, 1, 0): 1.0, (1, 0, 0, 1): 0.0, (1, 1, 0, 0): 0.0, (1, 1, 1, 1): 0.0, (0, 0, 0, 0): 0.0}
    for cells, count in ragged.items():
        assert float(bad_windows(torch.tensor(cells, dtype=torch.float32).view(2, 2))) == count
    assert float(bad_windows(torch.ones(1, 5))) == 0


def test_fidelity_is_the_distance_and_has_a_slope_at_zero() -> None:
    a, b = torch.tensor([[1.0, 2.0, 5.0]], requires_grad=True), torch.tensor([[1.0, -1.0, 1.0]])
    assert float(fidelity(a.detach(), b)) == pytest.approx(float(np.linalg.norm([0, 3, 4])))
    [slope] = torch.autograd.grad(fidelity(a, a.detach()).sum(), [a])
    assert slope.isfinite().all()
