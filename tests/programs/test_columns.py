"""Column reductions: adjacent rows, strips of columns, chunks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ingot

SHAPES = [(16, 5), (17, 64), (40, 1), (130, 33), (601, 700), (600, 1025), (5000, 3), (129, 4100)]
"""Few and many rows and columns. From 512 rows on, threads split the rows, else the columns."""


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def both_numbers_of_threads(function: Callable[..., Any], *inputs: Tensor) -> list[Tensor]:
    """The results with one thread, which must equal those with two."""
    compiled = ingot.compile(function, inputs, options={"strict": True})
    given = []
    for number in (1, 2):
        torch.set_num_threads(number)
        result = compiled(*inputs)
        given.append([result] if isinstance(result, Tensor) else list(result))
    for one, two in zip(*given, strict=True):
        assert torch.equal(one.nan_to_num(12.5), two.nan_to_num(12.5))
    return given[0]


def check(function: Callable[..., Any], *inputs: Tensor) -> None:
    """Compare with f64 if the dtype is floating point: errors of the order of eager's."""
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    expected, truth = function(*inputs), function(*wide)
    if isinstance(expected, Tensor):
        expected, truth = [expected], [truth]
    got = both_numbers_of_threads(function, *inputs)
    for mine, eager, right in zip(got, expected, truth, strict=True):
        assert mine.dtype == eager.dtype and mine.shape == eager.shape
        if not mine.is_floating_point():
            assert torch.equal(mine, eager)
            continue
        assert torch.equal(mine.isfinite(), eager.isfinite())
        assert torch.equal(mine.isnan(), eager.isnan())
        dtype = mine.dtype
        mine, eager, right = (t.double()[mine.isfinite()] for t in (mine, eager, right))
        if mine.numel():
            # With a single sum, eager's result may be exact by chance.
            slack = (
                (2 if mine.numel() > 9 else 8)
                * torch.finfo(dtype).eps
                * max(1.0, right.abs().max().item())
            )
            assert (mine - right).abs().max() <= 2 * (eager - right).abs().max() + slack


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_their_like(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(shape), torch.randn(shape)
    check(lambda x: x.sum(0), x)
    check(lambda x: (x.mean(0), x.amax(0), x.amin(0)), x)
    check(lambda x, y: (x * y).sum(0) * 2 + 1, x, y)
    check(lambda x: (x > 3).any(0), x)
    check(lambda x: (x > -3).all(0), x)
    check(lambda x: x.argmax(0), x)
    check(lambda x: x.min(0), x)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_other_dtypes(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    check(lambda x: x.sum(0), torch.randn(shape, dtype=torch.float64))
    check(lambda x: x.sum(0), torch.randn(shape).bfloat16())
    check(lambda x: x.amax(0), torch.randn(shape).half())
    check(lambda x: x.sum(0), torch.randint(-9, 9, shape))
    check(lambda x: x.sum(0), torch.randint(0, 9, shape, dtype=torch.uint8))
    check(lambda x: x.prod(0), torch.randint(-2, 3, shape, dtype=torch.int32))


def test_rows_with_weights_and_columns_with_weights() -> None:
    x, r, c = torch.randn(700, 300), torch.randn(700, 1), torch.randn(300)
    check(lambda x, r, c: (x * r + c).sum(0), x, r, c)
    check(lambda x, r, c: (x * r).sum(0) * c, x, r, c)


@pytest.mark.parametrize("shape", [(3, 200, 96), (16, 14, 14, 40), (2, 2, 1100, 7)], ids=str)
def test_several_dimensions(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    before = tuple(range(len(shape) - 1))
    check(lambda x: x.sum(before), x)
    check(lambda x: x.amax(before), x)


def test_strided_rows_and_columns() -> None:
    x = torch.randn(800, 600)
    check(lambda x: x.sum(0), x[::3, :])
    check(lambda x: x.sum(0), x[:, 100:433])
    check(lambda x: x.sum(0), x[5:6].expand(70, 600))


def test_what_a_guard_cuts() -> None:
    x = torch.randn(200, 90)
    check(lambda x: F.pad(x, (3, 5)).sum(0), x)
    check(lambda x: F.pad(x, (0, 0, 7, 9)).amax(0), x)
    check(lambda x: torch.cat([x, x * 2], 1).sum(0), x)
    check(lambda x: torch.cat([x, x * 2], 0).sum(0), x)
    tall = torch.randn(900, 150)
    check(lambda x: F.pad(x, (3, 5)).sum(0), tall)
    check(lambda x: F.pad(x, (0, 0, 7, 9)).amax(0), tall)


def test_several_results_of_many_rows() -> None:
    x, y = torch.randn(900, 400), torch.randn(900, 400)
    check(lambda x, y: (x.sum(0), x.amax(0), y.sum(0)), x, y)
    check(lambda x, y: (x.sum(0), y.amin(0)), x[:, :200], y[:, :200])


def test_nothing_and_what_is_no_number() -> None:
    check(lambda x: x.sum(0), torch.randn(0, 70))
    check(lambda x: x.sum(0), torch.randn(70, 0))
    x = torch.randn(1000, 130)
    x[700, 5], x[3, 129], x[999, 7] = torch.nan, torch.inf, -torch.inf
    check(lambda x: x.sum(0), x)
    check(lambda x: (x.amax(0), x.amin(0)), x)
    check(lambda x: x.argmax(0), x)


def test_first_of_equals() -> None:
    check(lambda x: x.argmax(0), torch.zeros(900, 70))
    check(lambda x: x.argmin(0), torch.randint(0, 3, (900, 70)))


@pytest.mark.parametrize("rows", [16, 100, 511, 3000])
def test_rows_that_move(rows: int) -> None:
    torch.manual_seed(0)
    compiled = torch.compile(
        lambda x: (x * 2).sum(0), backend="ingot", dynamic=True, options={"strict": True}
    )
    for count in (33, rows):
        x = torch.randn(count, 200)
        torch.testing.assert_close(compiled(x), (x * 2).sum(0), rtol=1e-5, atol=1e-4)


def test_long_sums_are_no_worse_than_eagers() -> None:
    torch.manual_seed(0)
    x = torch.rand(200_000, 40) + 100
    truth = x.double().sum(0)
    mine = both_numbers_of_threads(lambda x: x.sum(0), x)[0]
    assert (mine - truth).abs().max() <= 2 * (x.sum(0) - truth).abs().max() + 1e-7 * truth.max()


def test_gradient_of_a_bias() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(24, 130)
    x = torch.randn(900, 24)
    expected = torch.autograd.grad(layer(x).square().sum(), layer.bias)[0]
    compiled = torch.compile(layer, backend="ingot", options={"strict": True})
    got = torch.autograd.grad(compiled(x).square().sum(), layer.bias)[0]
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-3)
