"""One-pass variances of rows: as close to the f64 truth as eager's for any ratio of mean to spread,
also for mixed rows; and there is really only one pass."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim

import ingot
from tests.programs.check import by_threads

EPS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
MEANS = [0.0, 0.5, 1.0, 1.1, 3.0, -20.0, 1e3, -1e5]
LENGTHS = [1, 2, 15, 64, 200, 768, 1000, 5000]


def rows(length: int, dtype: torch.dtype) -> Tensor:
    """A spread of about one around each mean, three times; and rows that are constant, constant but
    for one element, huge, tiny, or not finite."""
    torch.manual_seed(length)
    spread = torch.randn(3 * len(MEANS), length, dtype=torch.float64)
    plain = spread + torch.tensor(MEANS * 3, dtype=torch.float64)[:, None]
    largest = float(torch.finfo(dtype).max) ** 0.5
    odd = torch.randn(11, length, dtype=torch.float64)
    odd[0], odd[1], odd[2], odd[3] = 0.0, 0.1, -7.3e4, 2.5
    odd[3, 0] = -1000.0
    odd[4] *= largest / 1e3
    odd[5] = odd[5] * largest / 1e5 + largest / 10
    odd[6] *= largest * 10
    odd[7] /= largest
    odd[8, -1], odd[9, 0], odd[10] = nan, inf, -inf
    return torch.cat((plain, odd)).to(dtype)


def assert_near(
    result: Tensor, eager: Tensor, truth: Tensor, relative: float, absolute: Tensor | float = 0.0
) -> None:
    """Errors at most twice eager's plus the tolerances; NaN and infinities as in eager."""
    assert result.dtype is eager.dtype and result.shape == eager.shape
    finite = eager.isfinite()
    torch.testing.assert_close(result[~finite], eager[~finite], rtol=0, atol=0, equal_nan=True)
    allowed = 2 * (eager - truth).abs() + relative * truth.abs() + absolute
    wrong = finite & ~((result - truth).abs() <= allowed)
    assert not wrong.any(), (result[wrong], eager[wrong], truth[wrong])


def variance(x: Tensor, correction: int) -> Tensor:
    """Variances of rows, in 80-bit floats."""
    wide = x.numpy().astype(np.longdouble)
    with np.errstate(all="ignore"):
        distance = wide - wide.mean(-1, keepdims=True)
        squares = (distance**2).sum(-1) / max(0, x.shape[-1] - correction)
        return torch.from_numpy(squares.astype(np.float64))


def compare(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    steps: float = 8,
    truth: Tensor | None = None,
    smallest: Tensor | float = 0.0,
) -> None:
    compiled = ingot.compile(function, (x,), options={"strict": True})
    eager, truth = function(x), function(x.double()) if truth is None else truth
    for result in by_threads(lambda: compiled(x)):
        assert_near(result, eager, truth, steps * EPS[x.dtype], smallest)


@torch.no_grad()
@pytest.mark.parametrize("dtype", EPS, ids=str)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")
def test_along_rows_and_down_columns(length: int, dtype: torch.dtype) -> None:
    """The absolute tolerance, for rows without spread, is a thousandth of a squared rounding
    error."""
    x = rows(length, dtype)
    smallest = 1e-3 * (EPS[dtype] * x.double().abs().amax(-1)) ** 2 + torch.finfo(dtype).tiny
    for correction in (0, 1):
        truth = variance(x, correction)
        compare(lambda x, c=correction: x.var(-1, correction=c), x, 8, truth, smallest)
        # A column is summed sequentially, 64 elements at a time.
        columns = x.t().contiguous()
        compare(lambda x, c=correction: x.var(0, correction=c), columns, 48, truth, smallest)


@torch.no_grad()
def test_of_what_is_computed_and_used_again() -> None:
    """An expensive value is computed once, and again only in rows that are read twice."""

    def function(x: Tensor) -> Tensor:
        y = torch.exp(torch.tanh(x))
        return (y - y.mean(-1, keepdim=True)) * torch.rsqrt(y.var(-1, keepdim=True) + 1e-5)

    compare(function, torch.randn(40, 768), smallest=2e-6)
    compare(lambda x: torch.exp(torch.tanh(x)).var(-1), torch.randn(40, 768), steps=16)
    compare(lambda x: ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1), rows(768, torch.float32))


@torch.no_grad()
@pytest.mark.parametrize("shift", [0.0, 3.0, -1e5])
@pytest.mark.parametrize(
    "shape, dim",
    [((1 << 20,), 0), ((3, 1 << 18), -1), ((50_176, 64), 0), ((40, 300, 17), 1), ((1000, 3), 0)],
    ids=str,
)
def test_long_rows_that_threads_share(shape: tuple[int, ...], dim: int, shift: float) -> None:
    """Two passes, the first for the mean; the contribution of the mean's rounding error is
    subtracted."""
    torch.manual_seed(0)
    x = torch.randn(shape) + shift
    compare(lambda x: x.var(dim), x, 48)


@torch.no_grad()
@pytest.mark.parametrize("shape", [(30, 200), (2, 1 << 18)], ids=str)
def test_distances_from_another_mean_stay(shape: tuple[int, ...]) -> None:
    """Nothing is subtracted if the mean is not that of the same elements."""
    x, other = torch.randn(shape), torch.randn(shape) + 1

    def wrong_mean(x: Tensor) -> Tensor:
        return (x - other.to(x.dtype).mean(-1, keepdim=True)).square().sum(-1)

    def wrong_count(x: Tensor) -> Tensor:
        return (x - x.sum(-1, keepdim=True) / 7).square().sum(-1)

    def fewer_dims(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)).square().sum((0, 1))

    def count_in_a_tensor(x: Tensor) -> Tensor:
        return (x - x.sum(-1, keepdim=True) / torch.full((1,), 7.0)).square().sum(-1)

    for function in (wrong_mean, wrong_count, fewer_dims, count_in_a_tensor):
        compare(function, x, 48)


@torch.no_grad()
@pytest.mark.parametrize("dtype", EPS, ids=str)
def test_without_kernels(dtype: torch.dtype) -> None:
    """The same values without kernels, by the op's decomposition."""
    x = rows(768, dtype)[:, None].expand(-1, 2, -1)
    plain = ingot.compile(lambda x: x.var(-1), (x,), options={"fuse": False})
    truth = variance(x[:, 0], 1)[:, None].expand(-1, 2)
    smallest = 1e-3 * (EPS[dtype] * x.double().abs().amax(-1)) ** 2 + torch.finfo(dtype).tiny
    assert_near(plain(x), x.var(-1), truth, 16 * EPS[dtype], smallest)


@torch.no_grad()
def test_two_side_by_side() -> None:
    """The one-pass result is accepted for one operand and rejected for the other."""

    def function(x: Tensor) -> Tensor:
        return torch.stack((x.var(-1), (x + 50).var(-1), (x * x.abs()).var(-1)))

    compare(function, torch.randn(33, 500), steps=8)


@torch.no_grad()
def test_variance_of_squares_around_the_mean() -> None:
    def function(x: Tensor) -> Tensor:
        squares = (x - x.mean(-1, keepdim=True)) ** 2
        return ((squares - squares.mean(-1, keepdim=True)) ** 2).mean(-1)

    compare(function, torch.randn(9, 300), steps=32)


@torch.no_grad()
@pytest.mark.parametrize("shift", [0.0, 1.0, 300.0])
def test_norms(shift: float) -> None:
    x = torch.randn(6, 32, 14, 14) + shift
    weight, bias = torch.randn(32), torch.randn(32)
    cases: list[Callable[[Tensor], Tensor]] = [
        lambda x: F.layer_norm(x, x.shape[1:]),
        lambda x: F.group_norm(x, 8, weight.to(x.dtype), bias.to(x.dtype)),
        lambda x: F.batch_norm(x, None, None, weight.to(x.dtype), bias.to(x.dtype), training=True),
        lambda x: F.instance_norm(x),
    ]
    for function in cases:
        compare(function, x, smallest=2 * (function(x) - function(x.double())).abs().max() + 1e-6)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("shift", [0.0, 2.0, 100.0])
def test_half_types(dtype: torch.dtype, shift: float) -> None:
    """Means and variances are computed in f32, so one rounding error remains."""
    x = (torch.randn(50, 515) + shift).to(dtype)
    compiled = ingot.compile(lambda x: F.layer_norm(x, (515,)), (x,), options={"strict": True})
    truth = F.layer_norm(x.double(), (515,))
    error = (compiled(x).double() - truth).abs()
    assert (error <= 1.01 * torch.finfo(dtype).eps / 2 * truth.abs() + 1e-5).all()


@torch.no_grad()
def test_sizes_that_move() -> None:
    x = torch.randn(8, 100)
    compiled = ingot.compile(
        lambda x: x.var(-1), (x,), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)
    )
    for shape in ((8, 100), (3, 1000), (200, 17), (5, 2)):
        for shift in (0.0, 40.0):
            x = torch.randn(shape) + shift
            assert_near(compiled(x), x.var(-1), x.double().var(-1), 8 * EPS[x.dtype])


@torch.no_grad()
def test_rows_are_read_again_only_where_the_mean_outweighs_the_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the second pass replaced by -1, rows with a small mean keep their result. The kernel
    stays cached in the process, so its size is unique."""
    from ingot.codegen.loops import variance
    from ingot.codegen.loops.rows import RowWriter
    from ingot.fuse.expr import Reduce

    def nothing(w: RowWriter, reductions: list[Reduce], stores: list[object]) -> None:
        for reduction in reductions:
            w.memo[-1][reduction] = w.b.const(-1.0, reduction.dtype)

    def without(w: RowWriter, spreads: list[variance.Spread]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(RowWriter, "phase", nothing)
            write(w, spreads)

    write = variance.write_spreads
    monkeypatch.setattr("ingot.codegen.loops.rows.write_spreads", without)
    x = torch.randn(4, 1237) + torch.tensor([0.0, 0.5, 3.0, 100.0])[:, None]
    got = ingot.compile(lambda x: x.var(-1, correction=0) * 1237, (x,))(x)
    torch.testing.assert_close(got[:2], x[:2].var(-1, correction=0) * 1237)
    assert got[2] == got[3] == -1.0
