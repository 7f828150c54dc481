"""Matrix products of a pass: oneDNN's in the place of MKL's where MKL would use half of the processor.

torch multiplies float32 matrices on a CPU by MKL, which has AVX2 code for processors that are not Intel's. oneDNN, which comes
with torch as well, has AVX-512 code for them: twice as many products a second on an EPYC, forward and backward. Both compute in
float32 and add up in different orders, as they do for other batch sizes (logits of MiniLM within 1e-6). Whether it is done
depends on the processor and never on a clock, so that a machine always gives the same numbers.

The model is not touched: calls of `torch.nn.functional.linear` are answered here for the time of a pass. What is not a plain
float32 product on the CPU goes its usual way. Measured in benchmarks/pass_speed.py.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

ROUND = 32
"""Rows of a product are rounded up to a multiple of this where there would be many sizes."""


def fast_products() -> AbstractContextManager[Any]:
    """For passes of which gradients are taken with respect to inputs alone: those of weights are not computed."""
    return _Products() if _pays() else nullcontext()


def product_of(like: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """(x, weight) → x·weightᵀ for whole matrices like this one, of which no gradient is taken. Chosen once: a look at each
    would take as long as a small product."""
    return _rounded_product if _pays() and _plain((like, like)) else functional.linear


def _rounded_product(x: Tensor, weight: Tensor) -> Tensor:
    """oneDNN writes code for each new number of rows, which takes longer than a small product. There must be few of them."""
    rows = len(x)
    if rows % ROUND:
        padded = x.new_zeros(-(-rows // ROUND) * ROUND, x.shape[1])
        padded[:rows] = x
        x = padded
    return _product(x, weight, None)[:rows]


@cache
def _pays() -> bool:
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    return torch.backends.cpu.get_cpu_capability().startswith("AVX512") and "AuthenticAMD" in _vendor()


def _vendor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("vendor_id")), "")


class _Products(TorchFunctionMode):
    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is functional.linear and not kwargs and _plain(args):
            x, weight, *bias = args
            # some models divide the product in place, which autograd refuses where a view was made inside a function
            flat: Tensor = _Linear.apply(x.reshape(-1, x.shape[-1]), weight, *(bias or [None]))
            return flat.reshape(*x.shape[:-1], len(weight))
        return func(*args, **(kwargs or {}))


def _plain(tensors: Sequence[Any]) -> bool:
    """Float32 matrices on the CPU, and nothing that wraps them. With a weight that is part of a larger one (Decomposable
    Attention has such) oneDNN multiplies in plain loops, a thousand times as slowly."""
    given = [tensor for tensor in tensors if tensor is not None]
    return (
        all(type(t) in (Tensor, torch.nn.Parameter) and t.dtype == torch.float32 and t.layout == torch.strided
            and t.device.type == "cpu" for t in given)
        and given[0].dim() > 1 and given[0].numel() > 0 and given[1].dim() == 2 and given[1].is_contiguous()
        and not torch.is_autocast_enabled("cpu")
    )  # fmt: skip


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        [weight] = ctx.saved_tensors
        return _product(slopes[0], weight.t(), None), None, None


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product
