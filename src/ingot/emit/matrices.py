"""Direct methods of linear algebra, unrolled: factorisations of small matrices, and solutions,
inverses and determinants from them. Matrices are real, of a static size of at most LARGEST; pivots
are chosen as in LAPACK. Iterative methods (singular values, eigenvalues) are not included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from ingot.emit.decompositions import Decomposition, decomposes

aten = torch.ops.aten

LARGEST = 16


def direct(*targets: Any) -> Callable[[Decomposition], Decomposition]:
    """Register a function of matrices, which declines large and complex ones."""

    def register(function: Decomposition) -> Decomposition:
        @wraps(function)
        def small(*args: Any, **kwargs: Any) -> Any:
            matrices = [a for a in args if isinstance(a, Tensor) and a.dtype.is_floating_point]
            sizes = [size for matrix in matrices for size in matrix.shape[-2:]]
            fits = all(isinstance(size, int) and 0 < size <= LARGEST for size in sizes)
            real = not any(isinstance(a, Tensor) and a.dtype.is_complex for a in args)
            return function(*args, **kwargs) if fits and real else NotImplemented

        decomposes(*targets)(small)
        return function

    return register


def _rows(x: Tensor) -> Tensor:
    return torch.arange(x.shape[-2]).unsqueeze(1)


def _columns(x: Tensor) -> Tensor:
    return torch.arange(x.shape[-1])


def _no_trouble(x: Tensor) -> Tensor:
    """LAPACK's info for each matrix: success."""
    return torch.zeros(x.shape[:-2], dtype=torch.int32)


@direct(aten.linalg_lu_factor_ex.default)
def lu_factor(
    a: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Each step pivots on the largest element of its column and eliminates the rows below."""
    rows, columns, pivots = _rows(a), _columns(a), []
    for k in range(min(a.shape[-2:])):
        if pivot:
            size = torch.where(rows.squeeze(1) >= k, a[..., k].abs(), -1)
            place = size.argmax(-1, keepdim=True)
            a = _swapped(a, k, place)
        else:
            place = torch.full((*a.shape[:-2], 1), k)
        pivots.append(place + 1)
        top = a[..., k, k, None, None]
        share = torch.where(rows > k, a[..., k, None] / torch.where(top == 0, 1, top), 0)
        behind = torch.where(columns > k, a[..., k, None, :], 0)
        a = torch.where((columns == k) & (rows > k), share, a - share * behind)
    return a, torch.cat(pivots, -1).to(torch.int32), _no_trouble(a)


def _swapped(a: Tensor, k: int, place: Tensor) -> Tensor:
    rows = torch.arange(a.shape[-2])
    order = torch.where(rows == k, place, torch.where(rows == place, k, rows))
    return a.gather(-2, order.unsqueeze(-1).expand(a.shape))


def _lower(lu: Tensor) -> Tensor:
    count = min(lu.shape[-2:])
    part = lu[..., :count]
    rows, columns = _rows(part), _columns(part)
    below = torch.where(rows > columns, part, 0)
    return below + (rows == columns).to(lu.dtype)


def _upper(lu: Tensor) -> Tensor:
    part = lu[..., : min(lu.shape[-2:]), :]
    return torch.where(_rows(part) <= _columns(part), part, 0)


def _order(pivots: Tensor, size: int) -> Tensor:
    """For each row of the factors, its row in the matrix."""
    rows = torch.arange(size)
    order = rows.expand(*pivots.shape[:-1], size)
    for k in range(pivots.shape[-1]):
        place = (pivots[..., k, None] - 1).to(torch.int64)
        moved = torch.where(rows == k, place, torch.where(rows == place, k, rows))
        order = order.gather(-1, moved)
    return order


def _permutation(pivots: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """P of A = P L U."""
    order = _order(pivots, size)
    return (torch.arange(size).unsqueeze(1) == order.unsqueeze(-2)).to(dtype)


@direct(aten.lu_unpack.default)
def lu_unpack(
    lu: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    nothing = lu.new_empty(0)
    p = _permutation(pivots, lu.shape[-2], lu.dtype) if unpack_pivots else nothing
    return (p, _lower(lu), _upper(lu)) if unpack_data else (p, nothing, nothing)


@direct(aten.linalg_lu.default)
def lu(a: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    factors, pivots, _ = lu_factor(a, pivot=pivot)
    made = lu_unpack(factors, pivots)
    return made if pivot else (a.new_empty(0), *made[1:])


@direct(aten.linalg_solve_triangular.default)
def solve_triangular(
    a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Substitution: each step solves one row and subtracts it from the remaining ones."""
    if not left:
        turned = solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular)
        return turned.mT
    size = a.shape[-1]
    rows = _rows(a)
    x = b.expand(*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    for k in reversed(range(size)) if upper else range(size):
        row = x[..., k, None, :]
        row = row if unitriangular else row / a[..., k, k, None, None]
        others = rows < k if upper else rows > k
        rest = x - torch.where(others, a[..., k, None], 0) * row
        x = torch.where(rows == k, row, rest)
    return x


@direct(aten.triangular_solve.default)
def triangular_solve(
    b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    side = a.mT if transpose else a
    lies = upper != transpose
    solution = solve_triangular(side, b, upper=lies, unitriangular=unitriangular)
    return solution, a.expand(*solution.shape[:-2], *a.shape[-2:])


@direct(aten.linalg_lu_solve.default)
def lu_solve(
    lu: Tensor, pivots: Tensor, b: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    if not left:
        return lu_solve(lu, pivots, b.mT, adjoint=not adjoint).mT
    p = _permutation(pivots, lu.shape[-2], lu.dtype)
    if adjoint:
        y = solve_triangular(lu.mT, b, upper=False)
        return p @ solve_triangular(lu.mT, y, upper=True, unitriangular=True)
    y = solve_triangular(lu, p.mT @ b, upper=False, unitriangular=True)
    return solve_triangular(lu, y, upper=True)


@direct(aten._linalg_solve_ex.default)
def solve(
    a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    factors, pivots, report = lu_factor(a)
    right = b.unsqueeze(-1) if vector else b
    x = lu_solve(factors, pivots, right, left=left or vector)
    return x.squeeze(-1) if vector else x, factors, pivots, report


@direct(aten.linalg_inv_ex.default)
def inverse(a: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    one = (_rows(a) == _columns(a)).to(a.dtype)
    return solve(a, one.expand(a.shape))[0], _no_trouble(a)


def _diagonal(a: Tensor) -> Tensor:
    return torch.where(_rows(a) == _columns(a), a, 0).sum(-1)


def _sign(pivots: Tensor) -> Tensor:
    """Each exchange of rows flips the sign of the determinant."""
    exchanged = pivots != torch.arange(1, pivots.shape[-1] + 1)
    return 1 - 2 * (exchanged.to(torch.int64).sum(-1) % 2)


def _product(x: Tensor) -> Tensor:
    made = x[..., 0]
    for i in range(1, x.shape[-1]):
        made = made * x[..., i]
    return made


@direct(aten._linalg_det.default)
def determinant(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    factors, pivots, _ = lu_factor(a.mT)  # as eager does, for its gradient
    return _product(_diagonal(factors)) * _sign(pivots).to(a.dtype), factors, pivots


@direct(aten._linalg_slogdet.default)
def log_determinant(a: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    factors, pivots, _ = lu_factor(a.mT)
    diagonal = _diagonal(factors)
    sign = _product(torch.sign(diagonal)) * _sign(pivots).to(a.dtype)
    return sign, torch.log(diagonal.abs()).sum(-1), factors, pivots


@direct(aten.linalg_cholesky_ex.default)
def cholesky_factor(
    a: Tensor, *, upper: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor]:
    rows, columns = _rows(a), _columns(a)
    a = a.mT if upper else a
    made = torch.zeros_like(a)
    for k in range(a.shape[-1]):
        column = a[..., k, None] / torch.sqrt(a[..., k, k, None, None])
        column = torch.where(rows >= k, column, 0)
        made = torch.where(columns == k, column, made)
        a = a - column * column.mT
    return made.mT if upper else made, _no_trouble(a)


@direct(aten.cholesky.default)
def cholesky(a: Tensor, upper: bool = False) -> Tensor:
    return cholesky_factor(a, upper=upper)[0]


@direct(aten.cholesky_solve.default)
def cholesky_solve(b: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    lower = factor.mT if upper else factor
    return solve_triangular(lower.mT, solve_triangular(lower, b, upper=False), upper=True)


@direct(aten.cholesky_inverse.default)
def cholesky_inverse(factor: Tensor, upper: bool = False) -> Tensor:
    one = (_rows(factor) == _columns(factor)).to(factor.dtype)
    return cholesky_solve(one.expand(factor.shape), factor, upper)


@direct(aten.geqrf.default)
def reflections(a: Tensor) -> tuple[Tensor, Tensor]:
    """Householder reflections, one per column: R above, the vectors without leading one below."""
    rows, columns, shares = _rows(a), _columns(a), []
    for k in range(min(a.shape[-2:])):
        column = a[..., k, None]
        head, tail = a[..., k, k, None, None], torch.where(rows > k, column, 0)
        below = (tail * tail).sum(-2, keepdim=True)
        length = torch.sqrt(head * head + below)
        end = torch.where(head < 0, length, -length)
        flat = below == 0
        safe = torch.where(flat, 1, end)
        share = torch.where(flat, 0, (end - head) / safe)
        vector = tail / torch.where(flat, 1, head - end)
        mirror = torch.where(rows == k, 1, vector)
        turned = a - share * mirror * (mirror * a).sum(-2, keepdim=True)
        kept = torch.where(rows == k, torch.where(flat, head, end), vector)
        a = torch.where(columns < k, a, torch.where(columns > k, turned, torch.where(
            rows >= k, kept, a)))  # fmt: skip
        shares.append(share[..., 0])
    return a, torch.cat(shares, -1)


def _reflected(a: Tensor, shares: Tensor, c: Tensor, *, forward: bool) -> Tensor:
    """Apply the reflections one after the other to c from the left."""
    rows = torch.arange(a.shape[-2]).unsqueeze(1)
    count = shares.shape[-1]
    for k in range(count) if forward else reversed(range(count)):
        vector = torch.where(rows > k, a[..., k, None], (rows == k).to(a.dtype))
        share = shares[..., k, None, None]
        c = c - share * vector * (vector * c).sum(-2, keepdim=True)
    return c


@direct(aten.linalg_householder_product.default)
def householder_product(a: Tensor, shares: Tensor) -> Tensor:
    one = (_rows(a) == _columns(a)).to(a.dtype)
    return _reflected(a, shares, one.expand(a.shape), forward=False)


@direct(aten.ormqr.default)
def times_reflections(
    a: Tensor, shares: Tensor, c: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    if not left:
        return _reflected(a, shares, c.mT, forward=not transpose).mT
    return _reflected(a, shares, c, forward=transpose)


@direct(aten.linalg_qr.default)
def qr(a: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    made, shares = reflections(a)
    rows, count = a.shape[-2], min(a.shape[-2:])
    width = rows if mode == "complete" else count
    r = torch.where(_rows(made) <= _columns(made), made, 0)[..., :width, :]
    if mode == "r":
        return a.new_empty(0), r
    one = (torch.arange(rows).unsqueeze(1) == torch.arange(width)).to(a.dtype)
    start = one.expand(*a.shape[:-2], rows, width)
    return _reflected(made, shares, start, forward=False), r


@direct(aten.linalg_matrix_exp.default)
def matrix_exp(a: Tensor) -> Tensor:
    """Scaling and squaring: halve until the norm is small, sum a short series, square as often."""
    size = a.abs().sum(-2).amax(-1)[..., None, None]
    halved = []
    for _ in range(12):
        large = size > 0.5
        halved.append(large)
        size, a = torch.where(large, size / 2, size), torch.where(large, a / 2, a)
    one = (_rows(a) == _columns(a)).to(a.dtype)
    made = one.expand(a.shape)
    for k in range(14, 0, -1):
        made = one + (a @ made) / k
    for large in halved:
        made = torch.where(large, made @ made, made)
    return made
