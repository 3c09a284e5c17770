"""The worst error of every inlined f32 function against f64, over the whole range of f32.

Bit patterns are sampled at a fixed stride over both signs, which covers every exponent, the
denormals, ±inf and NaN. Around the seams and ends of each function every float is tested. WORST
states the bound in ulp. f64 functions that are not from Sleef are compared with mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import pytest
import torch
from torch import Tensor

from ingot.codegen.mlir.builder import Builder
from ingot.ops import polynomials
from ingot.ops.values import Val

from .flat_kernel import Batch

F32 = torch.float32
STRIDE = 4001

# In ulp of f32; half an ulp is optimal. Where eager's error is given as well, it is larger.
WORST: dict[str, float] = {
    "exp": 1.0, "exp2": 1.05, "expm1": 1.45, "log": 0.87, "log2": 1.6, "log10": 1.45, "log1p": 1.5,
    "sin": 1.5, "cos": 1.5, "tan": 1.0, "asin": 0.51, "acos": 0.51, "atan": 0.51, "sinh": 0.51,
    "cosh": 0.51, "tanh": 1.35, "asinh": 0.51, "acosh": 0.51, "atanh": 0.51, "erf": 1.0,
    "erfc": 0.51, "erfinv": 0.52, "sigmoid": 2.2, "erfcx": 0.51, "log_ndtr": 0.51, "ndtri": 0.52,
}  # fmt: skip
REFERENCE: dict[str, Callable[[Tensor], Tensor]] = {
    "erfcx": torch.special.erfcx,
    "log_ndtr": torch.special.log_ndtr,
    "ndtri": torch.special.ndtri,
}
# Points around which every float is tested: ends of the range, seams between two formulas.
SEAMS = (
    0.625, 0.927734375, 2 / 3, 4 / 3, 1.0, 0.5, 0.25, 2.0**-6, 4.0, 9.1, 10.3, 17.33, 87.34, 88.03,
    88.72284, 103.97, 104.0, 126.0, 127.0, 128.0, 149.0, 150.0, math.pi / 4, math.pi / 2, math.pi,
    3 * math.pi / 4, 71476.0, 1e9, 2.0**-126, 2.0**-149, 3.0e38,
)  # fmt: skip


def whole_range() -> Tensor:
    bits = torch.arange(0, 1 << 31, STRIDE)
    near = torch.tensor(SEAMS, dtype=F32).view(torch.int32).to(torch.int64)
    around = (near[:, None] + torch.arange(-200, 201)).flatten().clamp(0, 0x7F800000)
    special = torch.tensor([0, 1, 0x7F800000, 0x7F7FFFFF, 0x7FC00000])
    positive = torch.cat([bits, around, special])
    both = torch.cat([positive, positive + (1 << 31)])
    return torch.where(both >= 1 << 31, both - (1 << 32), both).to(torch.int32).view(F32)


def ulp_errors(actual: Tensor, truth: Tensor) -> Tensor:
    """|actual - truth| in ulp of f32; 0 if both are NaN, the same infinity or overflow."""
    _, exponent = torch.frexp(truth.abs().clamp(2.0**-126, 2.0**127))
    ulp = torch.ldexp(torch.ones_like(truth), (exponent - 24).clamp_min(-149))
    rounded = truth.to(F32)
    same = (actual == rounded) | (actual.isnan() & truth.isnan())
    error = (actual.double() - truth).abs() / ulp
    error = torch.where(same & ~rounded.isfinite(), 0.0, error)
    return torch.where(error.isnan(), math.inf, error)


@pytest.fixture(scope="module")
def batch() -> Batch:
    kernels = Batch()
    for name in WORST:
        function = getattr(polynomials, name)

        def body(b: Builder, values: list[Val], function: Callable[..., Val] = function) -> Val:
            return function(b, values[0])

        kernels.add([F32], body, 8)
    kernels.compile()
    return kernels


@pytest.mark.parametrize("name", WORST)
def test_worst_error(batch: Batch, name: str) -> None:
    x = whole_range()
    actual, _ = batch.run(f"kernel_{list(WORST).index(name)}", [x], F32)
    reference = REFERENCE.get(name) or getattr(torch, name)
    truth = reference(x.double())
    errors = ulp_errors(actual, truth)
    if name == "sigmoid":
        # If exp(-x) overflows, the quotient is 0, as in eager.
        errors = torch.where(x < -87.3, 0.0, errors)
    worst = int(errors.argmax())
    assert errors[worst] <= WORST[name], (
        f"{name}({x[worst].item()!r}) is {actual[worst].item()!r}, not {truth[worst].item()!r}: "
        f"{errors[worst].item():.3f} ulp"
    )
    eager = reference(x)
    zero = (actual == 0) & (eager == 0) & (x == 0)
    assert torch.equal(actual.signbit() & zero, eager.signbit() & zero)


def run_on(function: Callable[..., Val], operands: list[Tensor], lanes: int = 8) -> Tensor:
    kernels = Batch()
    dtype = operands[0].dtype
    name = kernels.add([t.dtype for t in operands], lambda b, v: function(b, *v), lanes)
    kernels.compile()
    return kernels.run(name, operands, dtype)[0]


def crossed(values: Tensor) -> list[Tensor]:
    pairs = torch.cartesian_prod(values, values)
    return [pairs[:, 0].contiguous(), pairs[:, 1].contiguous()]


def many_floats(count: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(-(2**31), 2**31, (count,), generator=generator)
    moderate = torch.randn(count, generator=generator) * 10
    special = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, math.inf, -math.inf, math.nan, 1e-45, 3.4e38]
    return torch.cat([bits.to(torch.int32).view(F32), moderate, torch.tensor(special)])


@pytest.mark.parametrize(
    ("name", "bound"), [("pow", 0.51), ("atan2", 0.51), ("hypot", 0.51), ("fmod", 0.0)]
)
def test_worst_error_of_two_operands(name: str, bound: float) -> None:
    x, y = crossed(many_floats(500))
    actual = run_on(getattr(polynomials, name), [x, y])
    truth = getattr(torch, name)(x.double(), y.double())
    errors = ulp_errors(actual, truth)
    if name == "fmod":
        # If the quotient overflows, Sleef has no result, and neither has eager.
        errors = torch.where((x / y).isinf() & actual.isnan(), 0.0, errors)
    worst = int(errors.argmax())
    assert errors[worst] <= bound, (
        f"{name}({x[worst].item()!r}, {y[worst].item()!r}) is {actual[worst].item()!r}, "
        f"not {truth[worst].item()!r}: {errors[worst].item():.3f} ulp"
    )


@pytest.mark.parametrize(("name", "bound"), [("digamma", 2e-15), ("erfinv", 1e-15)])
def test_f64_against_mpmath(name: str, bound: float) -> None:
    exact = {"digamma": mpmath.digamma, "erfinv": mpmath.erfinv}[name]
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(301, generator=generator, dtype=torch.float64) * 2 - 1
    ends = torch.tensor([1 - 2.0**-53, 1e-9], dtype=torch.float64)
    x = x * 25 if name == "digamma" else torch.cat([x, ends])
    with mpmath.workprec(200):
        truth = torch.tensor([float(exact(mpmath.mpf(v))) for v in x.tolist()], dtype=torch.float64)
    actual = run_on(getattr(polynomials, name), [x])
    # Near a root of digamma, terms of magnitude 1 cancel.
    scale = truth.abs().clamp_min(1.0 if name == "digamma" else 0.0)
    assert ((actual - truth).abs() / scale).max() <= bound


def test_normal_cdf_does_not_cancel() -> None:
    x = torch.linspace(-5.0, 9.0, 100001)
    actual = run_on(polynomials.normal_cdf, [x])
    truth = torch.special.ndtr(x.double())
    error = (actual - truth).abs() / truth
    assert error[x > -1].max() < 2.5e-7
    assert error.max() < 2e-6
    plain = 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))
    assert error.max() < 1e-3 * ((plain - truth).abs() / truth).max()
    far = torch.tensor([-12.0, -1e30, -math.inf, 12.0, 1e30, math.inf, math.nan])
    ends = run_on(polynomials.normal_cdf, [far])
    assert torch.equal(ends[:6], torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
    assert ends[6].isnan()


def test_times_normal_cdf() -> None:
    x = torch.linspace(-5.0, 9.0, 100001)
    actual = run_on(polynomials.times_normal_cdf, [x])
    truth = x.double() * torch.special.ndtr(x.double())
    error = (actual - truth).abs() / truth.abs()
    assert error[x > -1].max() < 2.5e-7
    assert error[x != 0].max() < 2e-6
    ends = torch.tensor([-12.0, -1e30, -0.0, 0.0, 12.0, 1e30, math.inf, -math.inf, math.nan])
    actual = run_on(polynomials.times_normal_cdf, [ends])
    expected = torch.nn.functional.gelu(ends.double()).float()  # eager's f32 result at inf is NaN
    assert torch.equal(actual[:7], expected[:7])
    assert torch.equal(actual[:7].signbit(), expected[:7].signbit())
    assert torch.equal(actual[7:].isnan(), expected[7:].isnan())


@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
def test_all_widths_agree(lanes: int) -> None:
    x = whole_range()[::97].contiguous()
    names = ("exp", "exp2", "sigmoid", "log", "sin", "tan", "pow_two_thirds", "erf", "erfc", "tanh")
    for name in names:

        def body(b: Builder, value: Val, name: str = name) -> Val:
            if name == "pow_two_thirds":
                return polynomials.pow(b, value, b.const(2 / 3, F32))
            return getattr(polynomials, name)(b, value)

        narrow, wide = run_on(body, [x], lanes), run_on(body, [x], 8)
        assert torch.equal(narrow.nan_to_num(7.0), wide.nan_to_num(7.0)), name
