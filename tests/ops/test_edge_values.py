"""Edge values: integer extremes, promotion, sizes beyond one thread, indices out of range.

Each table maps a name to a program and its inputs; each row is one test against eager. Programs
that eager refuses (division by zero, an index out of range) must raise a similar error compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from .edges import numbers
from .harness import Program, compile_whole, copy_tensor, eager_error
from .judge import check_forward


def signed_extremes(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """All pairs of small and extreme values, without zero divisors."""
    info = torch.iinfo(dtype)
    left = torch.tensor([info.min, info.min + 1, -7, -1, 0, 1, 7, info.max], dtype=dtype)
    right = torch.tensor([-7, -2, -1, 1, 2, 7, info.max, info.min], dtype=dtype)
    return torch.meshgrid(left, right, indexing="ij")


INTEGER_OPS: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "neg": lambda x, y: -x - y,
    "abs": lambda x, y: x.abs() + y,
    "floor_divide": torch.floor_divide,
    "trunc_divide": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "true_divide": torch.div,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "python_floor": lambda x, y: x // -3 + y % -5,
    "shift": lambda x, y: (x << 3) + (y >> 1),
    "square": lambda x, y: x**2 + y**3,
}


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8], ids=str)
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integer_extremes(name: str, dtype: torch.dtype) -> None:
    left, right = signed_extremes(dtype)
    if name == "trunc_divide":
        # Eager itself dies with SIGFPE here; its other divisions wrap.
        overflow = (left == torch.iinfo(dtype).min) & (right == -1)
        left = torch.where(overflow, left + 1, left)
    check_forward(Program(INTEGER_OPS[name], (left, right), {}), name)


@pytest.mark.parametrize("name", ["floor_divide", "trunc_divide", "remainder", "fmod"])
def test_integer_division_by_zero(name: str) -> None:
    """Eager raises RuntimeError("ZeroDivisionError"), so the compiled code must as well."""
    program = Program(INTEGER_OPS[name], (torch.tensor([7, -7]), torch.tensor([2, 0])), {})
    assert isinstance(eager_error(program), RuntimeError)
    with pytest.raises(RuntimeError), torch.no_grad():
        compile_whole(program)(program.tensors())


PROMOTIONS: dict[str, tuple[Callable[..., Tensor], tuple[Any, ...]]] = {
    "int_times_float": (lambda x: x * 2.5, (numbers(3, 7, dtype=torch.int64),)),
    "int32_over_int": (lambda x: x / 3, (numbers(3, 7, dtype=torch.int32),)),
    "bool_plus_one": (lambda x: x + 1, (numbers(9, dtype=torch.bool),)),
    "bool_times_float": (lambda x: x * 0.5, (numbers(9, dtype=torch.bool),)),
    "bool_plus_bool": (lambda x: x + x, (numbers(9, dtype=torch.bool),)),
    "uint8_minus_five": (lambda x: x - 5, (torch.arange(9, dtype=torch.uint8),)),
    "uint8_wraps": (lambda x: x * 100 + 200, (torch.arange(9, dtype=torch.uint8),)),
    "uint8_and_int8": (
        lambda x, y: x - y,
        (torch.arange(9, dtype=torch.uint8), torch.arange(9, dtype=torch.int8)),
    ),
    "half_and_float": (
        lambda x, y: x + y,
        (numbers(9, dtype=torch.float16), numbers(9, dtype=torch.float32)),
    ),
    "bf16_and_half": (
        lambda x, y: x * y,
        (numbers(9, dtype=torch.bfloat16), numbers(9, dtype=torch.float16)),
    ),
    "half_and_f64_scalar_tensor": (
        lambda x, y: x + y,
        (numbers(9, dtype=torch.float16), torch.tensor(0.1, dtype=torch.float64)),
    ),
    "int_and_f32_scalar_tensor": (
        lambda x, y: x * y,
        (numbers(9, dtype=torch.int64), torch.tensor(0.5)),
    ),
    "float_and_int_scalar_tensor": (
        lambda x, y: x * y,
        (numbers(9, dtype=torch.bfloat16), torch.tensor(3)),
    ),
    "two_scalar_tensors": (lambda x, y: x + y, (torch.tensor(3), torch.tensor(0.5).half())),
    "compare_int_float": (lambda x: x < 0.5, (numbers(9, dtype=torch.int64),)),
    "compare_big_int": (lambda x: x == 2**53, (torch.tensor([2**53, 2**53 + 1]),)),
    "where_promotes": (
        lambda c, x: torch.where(c, x, 2.5),
        (numbers(9, dtype=torch.bool), numbers(9, dtype=torch.int32)),
    ),
    "sum_of_bool": (lambda x: x.sum(), (numbers(9, dtype=torch.bool),)),
    "sum_of_int32": (lambda x: x.sum(0), (numbers(9, 3, dtype=torch.int32),)),
    "sum_of_uint8": (lambda x: x.sum(), (torch.full((999,), 255, dtype=torch.uint8),)),
    "mean_of_half": (lambda x: x.mean(), (torch.full((70000,), 1.0, dtype=torch.float16),)),
    "sum_half_overflow": (lambda x: x.sum(), (torch.full((70000,), 1.0, dtype=torch.float16),)),
    "int_pow_negative_base": (lambda x: x**3, (numbers(9, dtype=torch.int32),)),
    "scalar_pow_tensor": (lambda x: 2**x, (torch.arange(9),)),
    "float_to_uint8": (lambda x: (x * 3).to(torch.uint8), (torch.arange(9) / 2,)),
    "float_to_int_truncates": (lambda x: x.to(torch.int64), (numbers(33, dtype=torch.float32),)),
    "bool_to_bf16": (lambda x: x.to(torch.bfloat16) + 1, (numbers(33, dtype=torch.bool),)),
    "clamp_int_float_bound": (lambda x: x.clamp(max=2.5), (numbers(9, dtype=torch.int64),)),
    "rsub_scalar": (lambda x: 1 - x, (numbers(9, dtype=torch.bfloat16),)),
    "alpha": (lambda x, y: torch.add(x, y, alpha=3), (torch.arange(9), torch.arange(9))),
}


@pytest.mark.parametrize("name", PROMOTIONS)
def test_promotion(name: str) -> None:
    function, args = PROMOTIONS[name]
    check_forward(Program(function, args, {}), name)


BIG = 3_000_000
BIG_PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "pointwise": lambda x: torch.tanh(x) * 2 + x,
    "sum": lambda x: x.sum(),
    "sum_outer": lambda x: x.view(1500, 2000).sum(0),
    "mean_inner": lambda x: x.view(1500, 2000).mean(1),
    "softmax": lambda x: x.view(1500, 2000).softmax(-1),
    "one_long_softmax": lambda x: x.softmax(-1),
    "transpose": lambda x: x.view(1500, 2000).t().contiguous(),
    "argmax": lambda x: x.argmax(),
    "cumsum": lambda x: x.view(3, -1).cumsum(-1),
    "var_all": lambda x: x.var(),
    "amax_middle": lambda x: x.view(10, 300, 1000).amax(1),
    "in_place": lambda x: x.mul_(2).sum(),
}


@pytest.mark.parametrize("name", BIG_PROGRAMS)
def test_more_than_two_threads_of_work(name: str) -> None:
    torch.manual_seed(0)
    check_forward(Program(BIG_PROGRAMS[name], (torch.randn(BIG),), {}), name)


OUT_OF_RANGE: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "gather": (
        lambda x, i: x.gather(1, i),
        (numbers(3, 4, dtype=torch.float32), torch.tensor([[0], [4], [1]])),
    ),
    "index": (lambda x, i: x[i], (numbers(5, 2, dtype=torch.float32), torch.tensor([0, 5]))),
    "index_negative": (
        lambda x, i: x[i] + 1,
        (numbers(5, 2, dtype=torch.float32), torch.tensor([0, -6])),
    ),
    "index_select": (
        lambda x, i: x.index_select(0, i),
        (numbers(5, 2, dtype=torch.float32), torch.tensor([0, 7])),
    ),
    "embedding": (
        lambda w, i: F.embedding(i, w),
        (numbers(5, 2, dtype=torch.float32), torch.tensor([0, 5])),
    ),
    "scatter": (
        lambda x, i: x.scatter(0, i, 1.0),
        (numbers(5, 2, dtype=torch.float32), torch.tensor([[0, 9]])),
    ),
    "index_put": (
        lambda x, i: torch.index_put(x, (i,), torch.ones(2, 2)),
        (numbers(5, 2, dtype=torch.float32), torch.tensor([0, 9])),
    ),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_out_of_range_raises(name: str) -> None:
    function, tensors = OUT_OF_RANGE[name]
    program = Program(function, tensors, {})
    assert isinstance(eager_error(program), (IndexError, RuntimeError))
    with pytest.raises((IndexError, RuntimeError)), torch.no_grad():
        compile_whole(program)([copy_tensor(t) for t in tensors])
