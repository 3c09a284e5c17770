"""Conversions between all dtypes at the limits of their ranges are bitwise equal to eager: in
vectors, tails and scalars, in chains without stores, in constants, and in ops and reductions that
convert their operands. Conversions undefined in C++ are not compared, because eager's result
depends on its vectorisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot
from tests.programs.edge_numbers import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    drawn,
    edges,
    is_defined,
    same_bits,
)

NATIVE = (*INTEGERS, *FLOATS)
pytestmark = [
    pytest.mark.filterwarnings("ignore:Casting complex"),
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
]


def assert_same(actual: Tensor, expected: Tensor, compared: Tensor, what: Any) -> None:
    wrong = compared & ~same_bits(actual, expected)
    if wrong.any():
        where = wrong.nonzero()[:3].flatten().tolist()
        shown = [(actual[i].item(), expected[i].item()) for i in where]
        raise AssertionError(f"{what}: {int(wrong.sum())} differ, {shown} at {where}")


def to_all(x: Tensor) -> list[Tensor]:
    return [x.to(dtype) for dtype in (*NATIVE, *COMPLEX)]


def _assert_pairs(x: Tensor) -> None:
    results = ingot.compile(to_all, (x,))(x)
    for result, expected in zip(results, to_all(x), strict=True):
        assert_same(result, expected, is_defined(x, expected.dtype), expected.dtype)


@pytest.mark.parametrize("source", (*NATIVE, *COMPLEX), ids=str)
def test_every_pair(source: torch.dtype) -> None:
    _assert_pairs(edges(source))


@pytest.mark.slow
@pytest.mark.parametrize("source", (*NATIVE, *COMPLEX), ids=str)
def test_every_pair_strided_and_short(source: torch.dtype) -> None:
    """Strided elements, and fewer elements than a vector."""
    whole = edges(source)
    _assert_pairs(whole.repeat_interleave(3)[::3])
    _assert_pairs(whole[-3:])


@pytest.mark.parametrize("source", (torch.int64, torch.uint64, torch.int16, *FLOATS), ids=str)
def test_single_numbers(source: torch.dtype) -> None:
    values = drawn(source, 40, 3)
    compiled = ingot.compile(to_all, (values[0],))
    for x in values:
        for result, expected in zip(compiled(x), to_all(x), strict=True):
            if is_defined(x, expected.dtype):
                assert_same(result[None], expected[None], torch.tensor([True]), (x, expected.dtype))


def _assert_chains(source: torch.dtype, through: Any, targets: Any) -> None:
    x = edges(source)
    pairs = [(a, b) for a in through for b in targets if source is not a is not b]
    compiled = ingot.compile(lambda x: [x.to(a).to(b) for a, b in pairs], (x,))
    for (a, b), result in zip(pairs, compiled(x), strict=True):
        middle = x.to(a)
        assert_same(result, middle.to(b), is_defined(x, a) & is_defined(middle, b), (a, b))


@pytest.mark.parametrize("source", (torch.int64, *FLOATS), ids=str)
def test_chains(source: torch.dtype) -> None:
    """A half-precision intermediate rounds even if it is not stored; f32 and f64 round twice if
    eager does."""
    _assert_chains(source, FLOATS[:3], (torch.float16, torch.bfloat16, torch.int64))


@pytest.mark.slow
@pytest.mark.parametrize("source", NATIVE, ids=str)
def test_all_chains(source: torch.dtype) -> None:
    _assert_chains(source, NATIVE, NATIVE)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_numbers_in_the_program(dtype: torch.dtype) -> None:
    """A Python number is rounded to f32 before half precision."""
    numbers = [n for n in edges(torch.float64).tolist() if math.isnan(n) or abs(n) < 6e4][::5]
    numbers += [math.inf, -math.inf]
    x = torch.zeros(3, dtype=dtype)

    def made(x: Tensor) -> list[Tensor]:
        return [torch.full((3,), n, dtype=dtype) for n in numbers]

    def filled(x: Tensor) -> list[Tensor]:
        return [x.masked_fill(x == 0, n) for n in numbers]

    for function in (made, filled):
        results = ingot.compile(function, (x,))(x)
        for n, result, expected in zip(numbers, results, function(x), strict=True):
            assert_same(result, expected, torch.ones(3, dtype=torch.bool), n)


MIXED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "div": torch.div,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "where one": lambda x, y: torch.where(x > 0, x, y[2]),
    "maximum": torch.maximum,
    "lt": torch.lt,
    "eq": torch.eq,
    "le one": lambda x, y: x <= y[11],
    "clamp": lambda x, y: torch.clamp(x, min=y),
    "cat": lambda x, y: torch.cat([x, y])[: len(x)],
    "times one": lambda x, y: x * y[5],
    "into": lambda x, y: x.clone().copy_(y),
    "less half": lambda x, y: x > y * 0.5,
}


def _assert_mixed(first: torch.dtype, second: torch.dtype) -> None:
    x, y = drawn(first, 517, 1), drawn(second, 517, 2)
    usable: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Tensor]] = {}
    for name, function in MIXED.items():
        try:
            usable[name] = function, function(x, y)
        except RuntimeError:
            continue  # eager has no such op
    compiled = ingot.compile(lambda x, y: [f(x, y) for f, _ in usable.values()], (x, y))
    for (name, (_, expected)), result in zip(usable.items(), compiled(x, y), strict=True):
        into = is_defined(y, first) if name == "into" else torch.tensor(True)
        assert_same(result, expected, into.expand(len(x)), (name, first, second))


PAIRS = [
    (torch.int64, torch.float16), (torch.float16, torch.int64), (torch.bfloat16, torch.int64),
    (torch.int64, torch.float32), (torch.float32, torch.uint8), (torch.float16, torch.bfloat16),
    (torch.int32, torch.bfloat16), (torch.uint8, torch.int8), (torch.float64, torch.float16),
]  # fmt: skip


@pytest.mark.parametrize("first, second", PAIRS, ids=str)
def test_mixed_operands(first: torch.dtype, second: torch.dtype) -> None:
    _assert_mixed(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("first", NATIVE, ids=str)
def test_all_mixed_operands(first: torch.dtype) -> None:
    for second in NATIVE:
        _assert_mixed(first, second)


REDUCTIONS: dict[str, Callable[[Tensor, torch.dtype], Tensor]] = {
    "sum": lambda x, dtype: x.sum(-1, dtype=dtype),
    "sum of all": lambda x, dtype: x.sum(dtype=dtype),
    "sum down columns": lambda x, dtype: x.sum(0, dtype=dtype),
    "prod": lambda x, dtype: x.prod(-1, dtype=dtype),
    "mean": lambda x, dtype: x.mean(-1, dtype=dtype),
    "cumsum": lambda x, dtype: x.cumsum(-1, dtype=dtype),
    "cumprod": lambda x, dtype: x.cumprod(-1, dtype=dtype),
    "of one element": lambda x, dtype: x[:, :1].sum(-1, dtype=dtype),
}


TARGETS = (torch.bool, torch.uint8, torch.int64, *FLOATS)


@pytest.mark.parametrize(
    "source", (torch.bool, torch.int64, torch.float16, torch.float32, torch.float64), ids=str
)
def test_reductions_convert_their_elements_first(source: torch.dtype) -> None:
    """Few elements, whose sums and products are exact after the conversion."""
    rows = torch.tensor([[2049.0, 1.0], [1.00390625, 3.0], [0.0, 1.0], [-2.75, 1.001]])
    x = rows.double().add(2.0**-12).to(source) if source.is_floating_point else rows.to(source)
    usable = {}
    for key in ((name, target) for name in REDUCTIONS for target in TARGETS):
        try:
            usable[key] = REDUCTIONS[key[0]](x, key[1])
        except RuntimeError:
            continue  # eager has no such op
    compiled = ingot.compile(lambda x: [REDUCTIONS[n](x, dtype) for n, dtype in usable], (x,))
    for (key, expected), result in zip(usable.items(), compiled(x), strict=True):
        whole = torch.ones(expected.numel(), dtype=torch.bool)
        assert_same(result.reshape(-1), expected.reshape(-1), whole, key)


@pytest.mark.parametrize("index", [0, -1])
@pytest.mark.parametrize("dynamic", [False, True])
def test_select_scatter_keeps_the_dtype(index: int, dynamic: bool) -> None:
    """PyTorch's decomposition promotes."""

    def program(x: Tensor, y: Tensor) -> Tensor:
        return torch.select_scatter(x, y, 1, index)

    torch._dynamo.reset()
    x, y = torch.randn(3, 4).half(), torch.randn(3, dtype=torch.float64)
    compiled = torch.compile(program, backend="ingot", dynamic=dynamic, options={"strict": True})
    for function in (compiled, ingot.compile(program, (x, y), options={"strict": True})):
        torch.testing.assert_close(function(x, y), program(x, y), rtol=0, atol=0)
