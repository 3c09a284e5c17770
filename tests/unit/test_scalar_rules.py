"""Every registered pointwise rule against eager, for every dtype that eager supports.

Each op runs on edge values (±0, ±inf, NaN, denormals, MIN, MAX) and on random ones, all pairs of
them for binary ops, through a vector loop with a scalar tail. If ATen's kernel is plain IEEE
arithmetic, the result must be bitwise equal. Otherwise INEXACT states the allowed distance from
eager in ulp, or the result may be no farther from the f64 truth than eager.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
import torch._inductor.inductor_prims  # registers prims.fma
from torch import Tensor

import ingot.ops.scalar  # noqa: F401  (registers the rules)
from ingot.codegen.mlir.builder import Builder
from ingot.errors import UnsupportedError
from ingot.ops.rules import (
    apply_rule,
    compute_dtypes,
    overload,
    pointwise,
    pointwise_rules,
)
from ingot.ops.scalar.prims import register_late
from ingot.ops.values import Val

from .flat_kernel import Batch

register_late()

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, *WIDE_UNSIGNED)
DTYPES = (*FLOATS, *INTEGERS, torch.bool)
# The ops are split into parts for parallel workers.
PARTS = 8
VECTORS = ("Tensor", "Optional[Tensor]")

FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "erf", "erfc",
    "erfinv", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh",
    "acosh", "atanh", "sinc", "silu", "pow", "hypot", "lgamma", "digamma", "logit",
    "softplus", "elu", "celu", "selu", "logaddexp", "logaddexp2", "xlogy", "special_xlog1py",
    "special_entr", "mish", "gelu", "gelu_backward", "silu_backward", "mish_backward",
    "softplus_backward", "elu_backward", "special_ndtri", "special_log_ndtr", "special_erfcx",
    "erf_inv", "ndtri", "erfcx",
)  # fmt: skip
# Ops that are not bitwise equal to eager, with the allowed difference in ulp of the result.
INEXACT: dict[str, float] = {
    # Built on the functions in `polynomials`, whose own errors test_polynomials bounds.
    **dict.fromkeys(FUNCTIONS, 3),
    # Eager's is MKL's or rounds twice; ingot's is correct to half an ulp.
    "sqrt": 1, "rsqrt": 1,
    # Eager rounds half-precision values after every step.
    "sigmoid_backward": 2, "logit_backward": 3, "native_dropout_backward": 2, "fma": 1,
}  # fmt: skip
# Sums that cancel: the allowed error in eps of the largest finite operand.
CANCELS = {
    "logaddexp": 2, "logaddexp2": 2, "gelu": 0.5, "gelu_backward": 8, "silu_backward": 2,
    "mish_backward": 16, "mish": 1, "digamma": 8,
}  # fmt: skip
# Eager's choice between +0 and -0 depends on the dtype.
ANY_ZERO = {"fmax", "fmin", "gelu", "gelu_backward", "mish_backward"}
# Eager's inf · 0 is NaN, ingot returns the limit.
NAN_AT_INFINITY = {"mish_backward", "gelu_backward", "gelu"}

# Values of non-tensor arguments; one entry for each variant.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "add": [{}, {"alpha": 2}, {"alpha": 0.3}],
    "sub": [{}, {"alpha": 2}, {"alpha": 0.3}],
    "rsub": [{}, {"alpha": 2}, {"alpha": 0.3}],
    "addcmul": [{}, {"value": 3}, {"value": 0.3}],
    "addcdiv": [{}, {"value": 3}, {"value": 0.3}],
    "lerp.Scalar": [{"weight": w} for w in (0.1, 0.5, 0.7, 1.5, -3.0)],
    "clip.default": [{"min": 0, "max": 6}, {"min": math.nan}],
    "clamp.default": [{"min": -1, "max": 2}, {"min": 0.1}, {"max": 2.3}, {"min": 3, "max": 1}],
    "clamp.Tensor": [{}, {"max": None}, {"min": None}],
    "div.Tensor_mode": [{"rounding_mode": m} for m in (None, "floor", "trunc")],
    "div.Scalar_mode": [
        {"rounding_mode": m, "other": o} for m in (None, "floor", "trunc") for o in (3, -7, 0.3)
    ],
    "masked_fill": [{"mask": torch.bool}],
    "masked_fill.Tensor": [{"mask": torch.bool, "value": torch.tensor(0.3)}],
    "where": [{"condition": torch.bool}, {"condition": torch.uint8}],
    "prims.where.default": [{"pred": torch.bool}],
    "gelu": [{}, {"approximate": "tanh"}],
    "gelu_backward": [{}, {"approximate": "tanh"}],
    "elu": [{}, {"alpha": 0.7, "scale": 1.3, "input_scale": 0.6}],
    "elu_backward": [
        {"alpha": 0.7, "scale": 1.3, "input_scale": 0.6, "is_result": r} for r in (False, True)
    ],
    "celu": [{}, {"alpha": 0.3}],
    "leaky_relu": [{}, {"negative_slope": 0.3}],
    "leaky_relu_backward": [{"negative_slope": 0.3, "self_is_result": False}],
    "softplus": [{}, {"beta": 0.7, "threshold": 3.1}],
    "softplus_backward": [{"beta": 1, "threshold": 20}, {"beta": 0.7, "threshold": 3.1}],
    "hardtanh": [{}, {"min_val": -0.3, "max_val": 4.1}],
    "hardtanh_backward": [{"min_val": -0.3, "max_val": 4.1}],
    "hardshrink": [{}, {"lambd": 1.7}],
    "softshrink": [{}, {"lambd": 1.7}],
    "hardshrink_backward": [{"lambd": 1.7}],
    "softshrink_backward": [{"lambd": 1.7}],
    "logit": [{}, {"eps": 0.1}],
    "logit_backward": [{}, {"eps": 0.1}],
    "native_dropout_backward": [{"mask": torch.bool, "scale": 1.25}],
    "nan_to_num": [{}, {"nan": 0.1, "posinf": 7.3, "neginf": -2.0}],
    "round.decimals": [{"decimals": d} for d in (0, 2, -1)],
    "pow.Tensor_Scalar": [
        {"exponent": e} for e in (0, 1, 2, 3, 4, 7, -1, -2, 0.5, -0.5, 1.7, -3.2, 2.0, math.inf)
    ],
    "pow.Scalar": [{"self": s} for s in (2, 3, -2, 0.7, 1, 0)],
    "threshold": [{"threshold": 0.3, "value": 20.1}],
    "threshold_backward": [{"threshold": 0}, {"threshold": 0.3}],
    "copy": [{"src": dtype} for dtype in (torch.float32, torch.int64, torch.bool)],
    "fill.Tensor": [{"value": torch.tensor(2.7)}],
    "_to_copy": [{"dtype": dtype} for dtype in DTYPES],
    "convert_element_type": [{"dtype": dtype} for dtype in DTYPES],
}
# Eager keeps a 0-dim divisor of half-precision tensors in f32; a rule treats it as half precision.
ROUNDS_SCALAR_TENSORS = {"div", "floor_divide"}
DIVIDES = {"div", "floor_divide", "remainder", "fmod", "gcd", "lcm"}
# dtypes for which one variant of each op is tested.
SELDOM = (*WIDE_UNSIGNED, torch.int16, torch.int8)
# Functions left to ATen in f64.
ONLY_F32 = {"special_ndtri", "ndtri", "special_erfcx", "erfcx", "special_log_ndtr"}
SCALARS: list[float] = [3, 0.3, -7]


@dataclass
class Case:
    """One op with one choice of dtypes and arguments."""

    target: torch._ops.OpOverload
    arguments: dict[str, Any]
    eager: Tensor
    dtypes: tuple[torch.dtype, torch.dtype]
    dtype: torch.dtype

    @property
    def label(self) -> str:
        shown = {k: v.dtype if isinstance(v, Tensor) else v for k, v in self.arguments.items()}
        return f"{self.target} {shown}"

    @property
    def op(self) -> str:
        return self.target._schema.name.split("::")[1]

    def in_whole_vectors(self) -> Case:
        """The case truncated to whole vectors, without a tail."""
        length = len(self.eager) // 16 * 16
        cut = {
            k: v[:length] if isinstance(v, Tensor) and v.dim() > 0 else v
            for k, v in self.arguments.items()
        }
        return replace(self, arguments=cut, eager=self.eager[:length])

    @property
    def tensors(self) -> dict[str, Tensor]:
        shape = self.eager.shape
        given = {k: v for k, v in self.arguments.items() if isinstance(v, Tensor)}
        return {k: v.expand(shape) for k, v in given.items()}


def edges(dtype: torch.dtype) -> list[float]:
    if dtype is torch.bool:
        return [0, 1]
    if dtype.is_floating_point:
        info = torch.finfo(dtype)
        halves = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 7.0, 10.0, 88.0, 100.0, 1e4, 3e9]
        small = [info.tiny, info.smallest_normal / 2, info.smallest_normal * info.eps, info.eps]
        sizes = [*halves, *small, info.max, 1 - info.eps, 1 + info.eps, 0.1, 1 / 3, 0.7, 20.5]
        return [0.0, -0.0, math.inf, -math.inf, math.nan, *sizes, *(-s for s in sizes)]
    limits = torch.iinfo(dtype)
    near: list[float] = [
        0,
        1,
        2,
        3,
        7,
        8,
        15,
        31,
        63,
        100,
        limits.max,
        limits.max - 1,
        limits.max // 2,
    ]
    if limits.min < 0:
        near += [-1, -2, -3, -7, -8, -100, limits.min, limits.min + 1]
    return [n for n in near if limits.min <= n <= limits.max]


def random_values(dtype: torch.dtype, count: int, generator: torch.Generator) -> Tensor:
    if dtype is torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if dtype.is_floating_point:
        spread = torch.randn(count, generator=generator, dtype=torch.float64) * 6
        sizes = torch.rand(count, generator=generator, dtype=torch.float64) * 8 - 4
        mixed = torch.where(torch.arange(count) % 2 == 0, spread, spread.sign() * 10**sizes)
        return mixed.to(dtype)
    limits = torch.iinfo(dtype)
    low, high = max(limits.min, -(2**62)), min(limits.max, 2**62)
    wide = torch.randint(low, high, (count,), generator=generator)
    few = torch.randint(max(low, -20), 20, (count,), generator=generator)
    return torch.where(torch.arange(count) % 2 == 0, wide, few).to(dtype)


def pool(dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    special = torch.tensor(edges(dtype), dtype=torch.float64 if dtype.is_floating_point else dtype)
    return torch.cat([special.to(dtype), random_values(dtype, 29, generator)])


def operands(dtypes: list[torch.dtype]) -> list[Tensor]:
    """One tensor for each operand, all of a length that is not a multiple of any vector length."""
    generator = torch.Generator().manual_seed(len(dtypes))
    if len(dtypes) == 1:
        many = [torch.cat([pool(dtypes[0], generator), random_values(dtypes[0], 999, generator)])]
    elif len(dtypes) == 2:
        pools = [pool(d, generator) for d in dtypes]
        places = torch.cartesian_prod(*(torch.arange(len(p)) for p in pools))
        many = [p[places[:, i]] for i, p in enumerate(pools)]
    else:
        many = []
        for dtype in dtypes:
            values = pool(dtype, generator)
            many.append(values[torch.randint(len(values), (4001,), generator=generator)])
    return [torch.cat([m, m[:1]]) if len(m) % 2 == 0 else m for m in many]


def cases_of(target: torch._ops.OpOverload, dtypes: tuple[torch.dtype, ...]) -> list[Case]:
    names = [a.name for a in target._schema.arguments if str(a.type) in VECTORS]
    found = []
    for dtype, variant in itertools.product(dtypes_for(target), variants_of(target)):
        seldom = dtype in SELDOM and found and found[-1].dtype is dtype
        if dtype not in dtypes or seldom:
            continue
        own = {k: v for k, v in variant.items() if not isinstance(v, torch.dtype) or k == "dtype"}
        tensors = [n for n in names if n not in own]
        kinds = [variant.get(n, dtype) for n in tensors]
        given = without_traps(target, operands(kinds))
        found += _case(target, {**dict(zip(tensors, given)), **own}, dtype)
    return found


def without_traps(target: torch._ops.OpOverload, given: list[Tensor]) -> list[Tensor]:
    """Operands that eager can divide: it raises for 0, and MIN / -1 ends the process."""
    op = target._schema.name.split("::")[1]
    if op not in DIVIDES or given[0].dtype not in INTEGERS[:5]:
        return given
    return [t.clamp(min=-100) for t in given] if "c" in op else _divisible(given)


def _divisible(given: list[Tensor]) -> list[Tensor]:
    *rest, divisor = given
    divisor = torch.where(divisor == 0, torch.ones_like(divisor), divisor)
    if not rest:
        return [divisor]
    lowest = rest[0] == torch.iinfo(rest[0].dtype).min
    return [torch.where(lowest & (divisor == -1), divisor, rest[0]), divisor]


def dtypes_for(target: torch._ops.OpOverload) -> tuple[torch.dtype, ...]:
    """The dtypes to test. prims are aliases of the same rules, and functions of floats treat all
    integers alike."""
    if target.namespace == "prims":
        return (torch.float32, torch.bfloat16, torch.int64)
    op = target._schema.name.split("::")[1]
    if op == "digamma":
        # In f64 eager is inaccurate near the poles; test_polynomials compares with the truth.
        return (torch.float32, torch.float16, torch.bfloat16, torch.int64)
    if op in INEXACT and op not in ("add", "sub", "rsub", "pow"):
        return (*FLOATS, torch.int64, torch.uint8, torch.bool)
    return DTYPES


def variants_of(target: torch._ops.OpOverload) -> list[dict[str, Any]]:
    op, _, which = str(target).removeprefix("aten.").removeprefix("prims.").rpartition(".")
    given = VARIANTS.get(str(target)) or VARIANTS.get(f"{op}.{which}") or VARIANTS.get(op, [{}])
    arguments = target._schema.arguments
    needed = [
        a.name
        for a in arguments
        if str(a.type) == "number" and not a.has_default_value() and a.name not in given[0]
    ]
    if needed:
        return [{**variant, **dict.fromkeys(needed, s)} for variant in given for s in SCALARS]
    if target.namespace == "aten" and [a.name for a in arguments if str(a.type) == "Tensor"] == [
        "self",
        "other",
    ]:
        # In graphs these operands may also be numbers or 0-dim tensors.
        numbers: list[Any] = [3, 0.3]
        if op not in ROUNDS_SCALAR_TENSORS:
            numbers += [torch.tensor(0.7, dtype=torch.float64), torch.tensor(5)]
        return [*given, *({**given[0], "other": number} for number in numbers)]
    return given


def _eager(target: torch._ops.OpOverload, arguments: dict[str, Any]) -> Tensor:
    """Run the op on operands repeated to a multiple of ATen's vector length: ATen's scalar tails
    use other formulas (no fma, exponents in f64) than its vector loops."""
    length = max(len(v) for v in arguments.values() if isinstance(v, Tensor) and v.dim() > 0)
    places = torch.arange(-(-length // 128) * 128) % length
    padded = {
        k: v[places] if isinstance(v, Tensor) and v.dim() > 0 else v for k, v in arguments.items()
    }
    return target(**padded)[:length].clone()


def _case(
    target: torch._ops.OpOverload, arguments: dict[str, Any], dtype: torch.dtype
) -> list[Case]:
    try:
        eager = _eager(target, arguments)
    except (RuntimeError, NotImplementedError, TypeError):
        return []
    ordered = {a.name: arguments.get(a.name, a.default_value) for a in target._schema.arguments}
    try:
        dtypes = compute_dtypes(target, ordered)
    except UnsupportedError as refusal:
        if (op := target._schema.name.split("::")[1]) in ONLY_F32:
            return []
        pytest.fail(f"{op} on {[v.dtype for v in arguments.values()]}: eager has it, {refusal}")
    return [Case(target, arguments, eager, dtypes, dtype)]


def add_kernel(batch: Batch, case: Case, lanes: int, tail: bool = True) -> str:
    tensors = case.tensors
    rest = {k: v for k, v in case.arguments.items() if k not in tensors}

    def body(b: Builder, values: list[Val]) -> Val:
        return apply_rule(b, case.target, {**dict(zip(tensors, values)), **rest}, *case.dtypes)

    return batch.add([t.dtype for t in tensors.values()], body, lanes, tail)


def ordered_bits(x: Tensor) -> Tensor:
    """Floats as integers whose difference is the distance in ulp."""
    kinds = {torch.float64: torch.int64, torch.float32: torch.int32}
    bits = x.view(kinds.get(x.dtype, torch.int16)).to(torch.int64)
    low = {8: -(2**63), 4: -(2**31), 2: -(2**15)}[x.element_size()]
    return torch.where(bits < 0, low - bits, bits)


def wrong_elements(case: Case, actual: Tensor, ulp: float) -> Tensor:
    eager = case.eager
    if not eager.dtype.is_floating_point:
        return (actual != eager) & ~_undefined(case)
    nan = actual.isnan() & eager.isnan()
    same = (actual == eager) & ((actual.signbit() == eager.signbit()) | (case.op in ANY_ZERO))
    if ulp == 0:
        return ~(nan | same)
    near = (ordered_bits(actual) - ordered_bits(eager)).abs() <= ulp
    near &= actual.isnan() == eager.isnan()
    finite = [t.double().nan_to_num(0, 0, 0).abs() for t in case.tensors.values()]
    scale = torch.stack(finite).amax(0) * CANCELS.get(case.op, 0) * torch.finfo(eager.dtype).eps
    near |= (actual.double() - eager.double()).abs() <= scale
    if case.op in NAN_AT_INFINITY:
        near |= torch.stack([t.isinf() for t in case.tensors.values()]).any(0)
    suspects = ~(nan | same | near)
    if suspects.any():
        suspects &= ~_no_farther_from_truth(case, actual)
    return suspects


def _undefined(case: Case) -> Tensor:
    """Elements undefined in C++: floats outside the range of an unsigned type."""
    undefined = torch.zeros_like(case.eager, dtype=torch.bool)
    for source in case.tensors.values():
        if source.is_floating_point() and case.eager.dtype in WIDE_UNSIGNED:
            top = float(torch.iinfo(case.eager.dtype).max)
            undefined |= ~((source.double() > -1) & (source.double() < top))
    return undefined


def _no_farther_from_truth(case: Case, actual: Tensor) -> Tensor:
    wide = {
        k: v.double() if isinstance(v, Tensor) and v.dtype is not torch.bool else v
        for k, v in case.arguments.items()
    }
    truth = case.target(**wide).double()
    error = (actual.double() - truth).abs()
    allowed = (case.eager.double() - truth).abs()
    return error <= allowed


def check(cases: list[Case], lanes: int) -> list[str]:
    batch, problems, kernels = Batch(), [], []
    for index, case in enumerate(cases):
        # One tail per dtype is enough, because the rule is the same.
        tail = index == 0 or cases[index - 1].dtype is not case.dtype
        case = case if tail else case.in_whole_vectors()
        try:
            kernels.append((case, add_kernel(batch, case, lanes, tail)))
        except UnsupportedError as refusal:
            problems.append(f"{case.label}: {refusal}")
    if not kernels:
        return problems
    batch.compile()
    for case, kernel in kernels:
        tensors = list(case.tensors.values())
        if case.dtypes[1] is not case.eager.dtype:
            problems.append(f"{case.label}: gives {case.dtypes[1]}, eager {case.eager.dtype}")
            continue
        actual, code = batch.run(kernel, tensors, case.dtypes[1])
        wrong = wrong_elements(case, actual, INEXACT.get(case.op, 0))
        if code:
            problems.append(f"{case.label}: failed with code {code}")
        if wrong.any():
            problems.append(_describe(case, actual, tensors, wrong))
    return problems


def _describe(case: Case, actual: Tensor, tensors: list[Tensor], wrong: Tensor) -> str:
    lines = [f"{case.label}: {int(wrong.sum())} of {wrong.numel()} differ"]
    for index in wrong.nonzero().flatten()[:4].tolist():
        given = ", ".join(repr(t[index].item()) for t in tensors)
        lines.append(f"  ({given}) -> {actual[index].item()!r}, eager {case.eager[index].item()!r}")
    return "\n".join(lines)


def targets(part: int) -> list[torch._ops.OpOverload]:
    return sorted(pointwise_rules, key=str)[part::PARTS]


@pytest.mark.parametrize("part", range(PARTS))
def test_rules_are_eager(part: int) -> None:
    problems = [p for t in targets(part) for p in check(cases_of(t, DTYPES), 8)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
def test_rules_are_eager_in_all_widths(dtype: torch.dtype, lanes: int) -> None:
    cases = [c for part in range(PARTS) for t in targets(part) for c in cases_of(t, (dtype,))[:1]]
    problems = check(cases, lanes)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("dtype", INTEGERS[:5])
@pytest.mark.parametrize(
    "name", ["div.Tensor_mode", "floor_divide.default", "remainder.Tensor", "fmod.Tensor"]
)
def test_integer_division_never_traps(name: str, dtype: torch.dtype) -> None:
    target = overload(name)
    assert pointwise_rules[target].checks == "ZeroDivisionError"
    mode = {"rounding_mode": "trunc"} if "mode" in name else {}
    x, y = operands([dtype, dtype])
    safe_x, safe_y = _divisible([x, y])
    expected = target(self=safe_x, other=safe_y, **mode)
    # MIN / -1 wraps to MIN, with remainder 0.
    lowest = torch.full_like(x, torch.iinfo(dtype).min if "div" in name else 0)
    expected = torch.where(safe_x == x, expected, lowest)
    for lanes in (1, 8):
        batch = Batch()
        case = Case(target, {"self": x, "other": y, **mode}, expected, (dtype, dtype), dtype)
        kernel = add_kernel(batch, case, lanes)
        batch.compile()
        actual, code = batch.run(kernel, [x, y], dtype)
        assert code == 1
        assert torch.equal(actual, expected)
        _, code = batch.run(kernel, [x, safe_y], dtype)
        assert code == 0


def test_registering_twice_raises() -> None:
    with pytest.raises(ValueError, match=r"add\.Tensor"):
        pointwise("add.Tensor")(lambda b, x, y, alpha: x)
