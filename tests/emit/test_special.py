"""Special functions as polynomials: each element is as close to the truth as eager's, or within a
few ulps, with the same infinities and NaNs."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from ingot.emit.decompositions import own_decompositions
from ingot.emit.legalize import decompositions

aten = torch.ops.aten

RANGES: dict[Any, tuple[float, float]] = {
    aten.erfinv.default: (-1, 1),
    aten.erfc.default: (-5, 4),
    aten.special_ndtri.default: (0, 1),
    aten.special_erfcx.default: (-4, 30),
    aten.special_log_ndtr.default: (-30, 10),
    aten.lgamma.default: (0.01, 50),
    aten.digamma.default: (0.01, 50),
    aten.i0.default: (-20, 20),
    aten.special_i0e.default: (-50, 50),
    aten.special_i1.default: (-20, 20),
    aten.special_i1e.default: (-50, 50),
    aten.special_modified_bessel_k0.default: (0, 20),
    aten.special_modified_bessel_k1.default: (0, 20),
    aten.special_scaled_modified_bessel_k0.default: (0, 50),
    aten.special_scaled_modified_bessel_k1.default: (0, 50),
    aten.special_bessel_j0.default: (-40, 40),
    aten.special_bessel_j1.default: (-40, 40),
    aten.special_bessel_y0.default: (0, 40),
    aten.special_bessel_y1.default: (0, 40),
    aten.special_spherical_bessel_j0.default: (-40, 40),
    aten.atan2.default: (-4, 4),
    aten.asin.default: (-1, 1),
    aten.acos.default: (-1, 1),
    aten.sinh.default: (-20, 20),
    aten.cosh.default: (-20, 20),
    aten.asinh.default: (-50, 50),
    aten.acosh.default: (1, 50),
    aten.atanh.default: (-1, 1),
}

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.0, 3.0, 1e-10, -1e-10, 1e10, math.inf, math.nan]


def own(op: Any) -> Any:
    decompositions("tosa")
    return {**own_decompositions[""], **own_decompositions["tosa"]}[op]


def arguments(op: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (x, x.flip(0)) if op is aten.atan2.default else (x,)


def errors(got: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Relative errors; near zero, relative to 0.01."""
    return (got.double() - truth).abs() / truth.abs().clamp(min=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("op", RANGES, ids=str)
def test_is_as_exact_as_its_dtype(op: Any, dtype: torch.dtype) -> None:
    x = torch.cat([torch.linspace(*RANGES[op], 5001), torch.tensor([1e-3, 1e-2])])
    given = arguments(op, x.to(dtype))
    truth = op(*arguments(op, x.double()))
    got, eager = own(op)(*given), op(*given)
    assert torch.equal(got.isfinite(), eager.isfinite())
    known = truth.isfinite() & eager.isfinite()
    allowed = max(64 * torch.finfo(dtype).eps, 2e-13 if dtype is torch.float64 else 0.0)
    worst = errors(eager, truth)[known].max().item()
    assert errors(got, truth)[known].max().item() <= max(allowed, 2 * worst)


@pytest.mark.parametrize("op", RANGES, ids=str)
def test_edges_are_eagers(op: Any) -> None:
    given = arguments(op, torch.tensor(EDGES))
    torch.testing.assert_close(own(op)(*given), op(*given), rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64], ids=str)
def test_other_dtypes_come_back_as_eagers(dtype: torch.dtype) -> None:
    x = torch.arange(-3, 4).to(dtype)
    got, eager = own(aten.i0.default)(x), aten.i0.default(x)
    torch.testing.assert_close(got, eager, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("order", range(5))
def test_polygamma_on_both_sides_of_zero(order: int) -> None:
    x = torch.cat([torch.linspace(-5.3, 20, 500), torch.tensor([0.0, -1.0, -2.0])])
    truth = torch.polygamma(order, x.double())
    got = own(aten.polygamma.default)(order, x)
    known = truth.isfinite() & (truth.abs() < 1e6)
    assert errors(got, truth)[known].max() < 1e-4
