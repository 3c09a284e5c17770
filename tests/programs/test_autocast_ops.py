"""Every kind of op on autocast's lists, inside an autocast region of the compiled function. Dtypes
equal eager's. Elementwise ops and casts are bitwise equal; ops that sum are as close as the dtype
allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_leaves

import ingot

Function = Callable[..., Any]


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def squared(x: Tensor) -> Tensor:
    """A value that autocast has made half precision."""
    return torch.mm(x, x.t())


PRODUCTS: dict[str, tuple[Function, tuple[Tensor, ...]]] = {
    "linear": (F.linear, (numbers(6, 16), numbers(8, 16), numbers(8))),
    "linear and relu": (lambda x, w, b, y: F.relu(F.linear(x, w, b)) + y,
                        (numbers(6, 16), numbers(8, 16), numbers(8), numbers(6, 8))),
    "linear twice": (lambda x, w, v: F.linear(F.linear(x, w), v),
                     (numbers(6, 16), numbers(8, 16), numbers(5, 8))),
    "residual": (lambda x, w: x + F.linear(x, w), (numbers(6, 16), numbers(16, 16))),
    "bmm": (torch.bmm, (numbers(3, 6, 16), numbers(3, 16, 8))),
    "matmul": (torch.matmul, (numbers(3, 6, 16), numbers(16, 8))),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=0.3, alpha=0.7),
              (numbers(6, 8), numbers(6, 16), numbers(16, 8))),
    "baddbmm": (torch.baddbmm, (numbers(3, 6, 8), numbers(3, 6, 16), numbers(3, 16, 8))),
    "addbmm": (torch.addbmm, (numbers(6, 8), numbers(3, 6, 16), numbers(3, 16, 8))),
    "einsum": (lambda a, b: torch.einsum("bij,bkj->bik", a, b),
               (numbers(3, 6, 16), numbers(3, 8, 16))),
    "multi_dot": (lambda a, b, c: torch.linalg.multi_dot([a, b, c]),
                  (numbers(3, 4), numbers(4, 5), numbers(5, 6))),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 1), (numbers(3, 4), numbers(4, 5))),
    "vecdot": (torch.linalg.vecdot, (numbers(5, 6), numbers(5, 6))),
    "conv1d": (F.conv1d, (numbers(2, 3, 12), numbers(4, 3, 3), numbers(4))),
    "conv2d": (F.conv2d, (numbers(2, 3, 9, 9), numbers(4, 3, 3, 3), numbers(4))),
    "conv_transpose2d": (F.conv_transpose2d,
                         (numbers(2, 3, 9, 9), numbers(3, 4, 3, 3), numbers(4))),
    "attention": (F.scaled_dot_product_attention, (numbers(2, 2, 6, 16),) * 3),
    "attention by hand": (lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / 4, -1) @ v,
                          (numbers(2, 2, 6, 16), numbers(2, 2, 7, 16), numbers(2, 2, 7, 16))),
}  # fmt: skip
AFTER: dict[str, Callable[[Tensor], Any]] = {
    "promoted to f32": lambda h, x: h + x,
    "halves": lambda h, x: h + h * 1.3,
    "several": lambda h, x: ((h * 1.1 + x[0]).to(h.dtype) * 1.3 - 0.7).sigmoid(),
    "made f32": lambda h, x: h.float() * 1.001,
    "there and back": lambda h, x: (x.to(h.dtype) * 1.7).float() + x,
    "clamp": lambda h, x: h.clamp(-1, 1.3) * 1.7,
    "where": lambda h, x: torch.where(x > 0, h, x),
    "cat": lambda h, x: torch.cat([h, x]),
    "stack": lambda h, x: torch.stack([h, x]),
    "a power": lambda h, x: h.abs() ** 1.7,
    "a third power": lambda h, x: h**3,
    "an inverse square": lambda h, x: h**-2,
    "a power of a number": lambda h, x: 1.3 ** (h * 0.1),
    "logit": lambda h, x: torch.logit((h * 0.01).sigmoid()),
    "quotient": lambda h, x: h / 3,
    "relu": lambda h, x: F.relu(h),
    "silu": lambda h, x: F.silu(h),
    "hardswish": lambda h, x: F.hardswish(h),
    "leaky_relu": lambda h, x: F.leaky_relu(h),
    "addcmul": lambda h, x: torch.addcmul(h, h, h),
    "lerp": lambda h, x: torch.lerp(h, h * 2, 0.3),
    "pad": lambda h, x: F.pad(h, (1, 1), value=0.3),
    "max": lambda h, x: h.max(-1),
}  # fmt: skip
SUMMED: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "softmax": lambda h, x: h.softmax(-1),
    "log_softmax": lambda h, x: h.log_softmax(-1),
    "layer_norm": lambda h, x: F.layer_norm(h, h.shape[-1:]),
    "group_norm": lambda h, x: F.group_norm(h[None], 2),
    "rms_norm": lambda h, x: F.rms_norm(h, h.shape[-1:]),
    "sum": lambda h, x: h.sum(-1),
    "mean": lambda h, x: h.mean(-1),
    "prod": lambda h, x: h.prod(-1),
    "cumsum": lambda h, x: h.cumsum(-1),
    "norm": lambda h, x: h.norm(),
    "vector_norm": lambda h, x: torch.linalg.vector_norm(h, dim=-1),
    "cdist": lambda h, x: torch.cdist(h, x),
    "mse_loss": lambda h, x: F.mse_loss(h, x),
    "smooth_l1_loss": lambda h, x: F.smooth_l1_loss(h, x),
    "nll_loss": lambda h, x: F.nll_loss(h.log_softmax(-1), torch.arange(len(h))),
    "cross_entropy": lambda h, x: F.cross_entropy(h, torch.arange(len(h))),
    "kl_div": lambda h, x: F.kl_div(h.log_softmax(-1), x.softmax(-1), reduction="batchmean"),
    "binary_cross_entropy_with_logits":
        lambda h, x: F.binary_cross_entropy_with_logits(h, x.sigmoid()),
    "interpolate": lambda h, x: F.interpolate(h[None, None], scale_factor=2, mode="bilinear"),
    "adaptive_avg_pool2d": lambda h, x: F.adaptive_avg_pool2d(h[None], 4),
}  # fmt: skip
DTYPES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)


def _compared(
    function: Function, args: tuple[Tensor, ...], dtype: torch.dtype, exact: bool
) -> None:
    def region(*args: Tensor) -> Any:
        with torch.autocast("cpu", dtype):
            return function(*args)

    with torch.no_grad():
        expected = region(*args)
        by_entry = {
            "ingot.compile": ingot.compile(region, args)(*args),
            "torch.compile": torch.compile(region, backend="ingot")(*args),
        }
    for name, results in by_entry.items():
        for actual, eager in zip(_leaves(results), _leaves(expected), strict=True):
            assert actual.dtype is eager.dtype, name
            # f32 results also contain half-precision rounding errors.
            step = 0.0 if exact else 4 * torch.finfo(dtype).eps * float(eager.abs().max())
            torch.testing.assert_close(actual, eager, rtol=0, atol=step, equal_nan=True)


def _leaves(results: Any) -> list[Any]:
    return tree_leaves(results)


SIXTEENTHS = torch.arange(-32.0, 32.0).reshape(8, 8) / 16
"""Their matmuls are exact. 64 elements fill eager's vectors; in the scalar remainder it rounds
powers differently."""
Case = tuple[Function, tuple[Tensor, ...], bool]


def _cases() -> dict[str, Case]:
    """Name → (function, arguments, whether results must be bitwise equal)."""
    found: dict[str, Case] = {name: (*case, False) for name, case in PRODUCTS.items()}
    for table, x, exact in ((AFTER, SIXTEENTHS, True), (SUMMED, numbers(8, 8), False)):
        for name, function in table.items():
            after: Function = lambda x, function=function: function(squared(x), x)  # noqa: E731
            found[name] = after, (x,), exact
    return found


CASES = _cases()


@DTYPES
@pytest.mark.parametrize("table", [PRODUCTS, AFTER, SUMMED], ids=["products", "elements", "sums"])
def test_all_of_a_kind(table: dict[str, Any], dtype: torch.dtype) -> None:
    """All cases of a table in one program."""
    cases = [CASES[name] for name in table]

    def each(*args: Tensor) -> list[Any]:
        left, results = list(args), []
        for function, given, _ in cases:
            results.append(function(*left[: len(given)]))
            del left[: len(given)]
        return results

    args = tuple(arg for _, given, _ in cases for arg in given)
    _compared(each, args, dtype, exact=table is AFTER)


@pytest.mark.slow
@DTYPES
@pytest.mark.parametrize("name", CASES)
def test_alone(name: str, dtype: torch.dtype) -> None:
    function, args, exact = CASES[name]
    _compared(function, args, dtype, exact)


def test_parts_of_an_op_with_a_rule_of_its_own_are_not_cast_again() -> None:
    """cdist is an f32 op; its matmuls must not be cast to half precision."""
    x = numbers(30, 8)

    def region(x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return torch.cdist(x, x + 1)

    torch.testing.assert_close(ingot.compile(region, (x,))(x), torch.cdist(x, x + 1))


def test_a_region_switched_off_inside() -> None:
    def region(x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            with torch.autocast("cpu", enabled=False):
                inner = torch.einsum("ij,jk->ik", x, x)
            return inner, torch.einsum("ij,jk->ik", x, x)

    x = numbers(6, 6)
    inner, outer = ingot.compile(region, (x,))(x)
    assert inner.dtype is torch.float32 and outer.dtype is torch.bfloat16
