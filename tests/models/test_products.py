"""oneDNN's matrix products in the place of MKL's: the same numbers, forward and backward, and nothing else is touched."""

import numpy as np
import pytest
import torch
from tiny import tiny_bert
from torch import nn

from whence.data import Example
from whence.explain import METHODS, explain
from whence.models import products
from whence.run import Runner

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="no oneDNN here"
)


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """On any processor; gives what was multiplied that way."""
    seen: list[torch.Tensor] = []
    plain = products._product

    def spy(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        seen.append(x)
        return plain(x, weight, bias)

    monkeypatch.setattr(products, "_pays", lambda: True)
    monkeypatch.setattr(products, "_product", spy)
    return seen


@needs_onednn
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5, 8), (2, 3, 8), (1, 1, 8)])
def test_product_and_gradient_are_torchs(forced: list[torch.Tensor], bias: bool, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(8, 12, bias=bias), torch.randn(*shape, requires_grad=True)
    expected = layer(x)
    slope = torch.randn_like(expected)
    [by_torch] = torch.autograd.grad(expected, [x], slope)
    with products.fast_products():
        found = layer(x)
        [ours] = torch.autograd.grad(found, [x], slope)
    assert len(forced) == 2
    assert torch.allclose(found, expected, atol=1e-6)
    assert torch.allclose(ours, by_torch, atol=1e-6)


@needs_onednn
@pytest.mark.filterwarnings("error:.*performance drop")
def test_backward_passes_that_are_taken_together(forced: list[torch.Tensor]) -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(8, 12), torch.randn(2, 3, 8, requires_grad=True)
    several = torch.randn(5, 2, 3, 12)
    expected = torch.stack([torch.autograd.grad(layer(x), [x], slope)[0] for slope in several])
    with products.fast_products():
        [found] = torch.autograd.grad(layer(x), [x], several, is_grads_batched=True)
    assert torch.allclose(found, expected, atol=1e-6)
    assert len(forced) == 2  # the pass, and one product for all five


@needs_onednn
def test_a_product_may_be_changed_in_place(forced: list[torch.Tensor]) -> None:
    """As DeBERTa and Longformer do with their queries."""
    torch.manual_seed(0)
    layer, x = nn.Linear(8, 12), torch.randn(2, 3, 8, requires_grad=True)

    def divided() -> torch.Tensor:
        found = layer(x).transpose(0, 1)
        found /= 3
        return torch.autograd.grad(found.square().sum(), [x])[0]

    expected = divided()
    with products.fast_products():
        assert torch.allclose(divided(), expected, atol=1e-6)
    assert len(forced) == 2


@needs_onednn
def test_rows_that_lie_apart(forced: list[torch.Tensor]) -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(8, 12), torch.randn(3, 4, 8)
    with torch.no_grad(), products.fast_products():
        for part in (x[:, :1], x.transpose(0, 1), x[:, ::2]):
            assert torch.allclose(layer(part), nn.functional.linear(part, weight=layer.weight, bias=layer.bias), atol=1e-6)
    assert len(forced) == 3


@needs_onednn
def test_what_is_no_plain_float32_product_goes_its_usual_way(forced: list[torch.Tensor]) -> None:
    with torch.no_grad(), products.fast_products():
        assert nn.Linear(4, 2).double()(torch.ones(3, 4).double()).dtype == torch.float64
        assert nn.Linear(4, 2).bfloat16()(torch.ones(3, 4).bfloat16()).dtype == torch.bfloat16
        assert nn.Linear(4, 2)(torch.ones(4)).shape == (2,)
        assert nn.Linear(4, 2)(torch.ones(0, 4)).shape == (0, 2)
        with torch.autocast("cpu", torch.bfloat16):
            assert nn.Linear(4, 2)(torch.ones(3, 4)).dtype == torch.bfloat16
        part, _ = torch.ones(2, 8).chunk(2, dim=1)
        assert nn.functional.linear(torch.ones(3, 4), part).tolist() == [[4.0, 4.0]] * 3
    assert not forced


@needs_onednn
def test_explanations_stay_the_same(forced: list[torch.Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    bert = tiny_bert()
    examples = [Example(str(i), {"text": text}) for i, text in enumerate(("a good film", "not good , but good"))]
    names = ("kernel_shap", "integrated_gradients", "gradient_l1", "attention_gradient")

    def scores() -> dict[str, list[np.ndarray]]:
        made = {name: explain(Runner(bert), bert.encode(examples), METHODS[name]) for name in names}
        return {name: [np.array(x.scores) for x in several] for name, several in made.items()}

    found = scores()
    assert forced
    monkeypatch.setattr(products, "_pays", lambda: False)
    for name, expected in scores().items():
        for ours, plain in zip(found[name], expected, strict=True):
            assert ours == pytest.approx(plain, abs=1e-5, rel=1e-3)


def test_it_depends_on_the_processor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_vendor", lambda: "vendor_id : GenuineIntel")
    assert not products._pays.__wrapped__()
