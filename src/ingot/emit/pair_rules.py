"""Complex arithmetic on real and imaginary parts. One rule for each op: it takes the op and its
arguments, with complex tensors as Pairs, and returns a Pair, or a tensor for a real result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


@dataclass(frozen=True)
class Pair:
    re: Any
    im: Any


PAIR_RULES: dict[Any, Callable[..., Any]] = {}


def on(*targets: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for target in targets:
            if target in PAIR_RULES:
                raise ValueError(f"{target} has a rule already")
            PAIR_RULES[target] = rule
        return rule

    return register


def pair(value: Any) -> Pair:
    """Any operand as a Pair; a real one has a zero imaginary part."""
    if isinstance(value, Pair):
        return value
    if isinstance(value, Tensor):
        return Pair(value, torch.zeros_like(value))
    number = complex(value)
    return Pair(number.real, number.imag)


@on(
    aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.permute.default,
    aten.transpose.int, aten.t.default, aten.slice.Tensor, aten.select.int, aten.unsqueeze.default,
    aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.expand.default,
    aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default,
    aten.neg.default, aten.flip.default, aten.index.Tensor, aten.gather.default,
    aten.index_select.default, aten.embedding.default, aten.resolve_conj.default,
    aten.resolve_neg.default, aten.roll.default,
)  # fmt: skip
def part_by_part(op: Any, x: Pair, *args: Any, **kwargs: Any) -> Pair:
    kwargs.pop("memory_format", None)
    return Pair(op(x.re, *args, **kwargs), op(x.im, *args, **kwargs))


@on(aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim)
def totals(op: Any, x: Pair, *args: Any, dtype: Any = None) -> Pair:
    return Pair(op(x.re, *args), op(x.im, *args))


@on(aten.cat.default, aten.stack.default)
def joined(op: Any, tensors: list[Any], dim: int = 0) -> Pair:
    pairs = [pair(tensor) for tensor in tensors]
    return Pair(op([p.re for p in pairs], dim), op([p.im for p in pairs], dim))


@on(aten.complex.default)
def made(op: Any, re: Tensor, im: Tensor) -> Pair:
    return Pair(*torch.broadcast_tensors(re, im))


@on(aten.polar.default)
def polar(op: Any, length: Tensor, angle: Tensor) -> Pair:
    return Pair(length * angle.cos(), length * angle.sin())


@on(aten.view_as_complex.default)
def seen_as_complex(op: Any, x: Tensor) -> Pair:
    return Pair(x.select(-1, 0), x.select(-1, 1))


@on(aten.view_as_real.default)
def seen_as_real(op: Any, x: Pair) -> Tensor:
    return torch.stack([x.re, x.im], -1)


@on(aten._conj.default, aten.conj_physical.default, aten._conj_physical.default)
def conjugate(op: Any, x: Pair) -> Pair:
    return Pair(x.re, -x.im)


@on(aten.add.Tensor, aten.add.Scalar, aten.sub.Tensor, aten.sub.Scalar)
def total(op: Any, x: Any, y: Any, *, alpha: Any = 1) -> Pair:
    x, y = pair(x), pair(y)
    if alpha != 1:
        y = times(pair(alpha), y)
    sign = -1 if op in (aten.sub.Tensor, aten.sub.Scalar) else 1
    return Pair(x.re + sign * y.re, x.im + sign * y.im)


@on(aten.mul.Tensor, aten.mul.Scalar)
def product(op: Any, x: Any, y: Any) -> Pair:
    return times(pair(x), pair(y))


def times(x: Pair, y: Pair) -> Pair:
    return Pair(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


@on(aten.div.Tensor, aten.div.Scalar)
def quotient(op: Any, x: Any, y: Any) -> Pair:
    if not isinstance(y, Pair) and not isinstance(y, complex):
        return Pair(pair(x).re / y, pair(x).im / y)
    y = pair(y)
    above = times(pair(x), Pair(y.re, -y.im))
    below = y.re * y.re + y.im * y.im
    return Pair(above.re / below, above.im / below)


@on(aten.reciprocal.default)
def reciprocal(op: Any, x: Pair) -> Pair:
    below = x.re * x.re + x.im * x.im
    return Pair(x.re / below, -x.im / below)


@on(aten.abs.default)
def length(op: Any, x: Pair) -> Tensor:
    return torch.sqrt(x.re * x.re + x.im * x.im)


@on(aten.angle.default)
def angle(op: Any, x: Pair) -> Tensor:
    return torch.atan2(x.im, x.re)


@on(aten.exp.default)
def exponential(op: Any, x: Pair) -> Pair:
    size = x.re.exp()
    return Pair(size * x.im.cos(), size * x.im.sin())


@on(aten.log.default)
def logarithm(op: Any, x: Pair) -> Pair:
    return Pair(length(op, x).log(), torch.atan2(x.im, x.re))


@on(aten.mm.default, aten.bmm.default)
def matrix_product(op: Any, x: Any, y: Any) -> Pair:
    x, y = pair(x), pair(y)
    return Pair(op(x.re, y.re) - op(x.im, y.im), op(x.re, y.im) + op(x.im, y.re))


@on(aten.addmm.default)
def sum_and_product(op: Any, b: Any, x: Any, y: Any) -> Pair:
    made = matrix_product(aten.mm.default, x, y)
    return Pair(pair(b).re + made.re, pair(b).im + made.im)


@on(aten.eq.Tensor, aten.eq.Scalar)
def equal(op: Any, x: Any, y: Any) -> Tensor:
    x, y = pair(x), pair(y)
    return (x.re == y.re) & (x.im == y.im)


@on(aten.ne.Tensor, aten.ne.Scalar)
def unequal(op: Any, x: Any, y: Any) -> Tensor:
    return ~equal(op, x, y)


@on(aten.where.self)
def choice(op: Any, condition: Tensor, x: Any, y: Any) -> Pair:
    x, y = pair(x), pair(y)
    return Pair(op(condition, x.re, y.re), op(condition, x.im, y.im))


@on(aten._to_copy.default)
def converted(op: Any, x: Any, *, dtype: Any = None, **_: Any) -> Any:
    if dtype is not None and not dtype.is_complex:
        return op(x.re, dtype=dtype)
    real = None if dtype is None else dtype.to_real()
    return Pair(op(pair(x).re, dtype=real), op(pair(x).im, dtype=real))


@on(torch.ops.prims.convert_element_type.default)
def converted_element(op: Any, x: Any, dtype: torch.dtype) -> Any:
    return converted(aten._to_copy.default, x, dtype=dtype)


@on(aten.constant_pad_nd.default)
def padded(op: Any, x: Pair, padding: Any, number: Any = 0) -> Pair:
    parts = pair(number)
    return Pair(op(x.re, padding, parts.re), op(x.im, padding, parts.im))


@on(aten.sigmoid.default)
def sigmoid(op: Any, x: Pair) -> Pair:
    grown = exponential(op, Pair(-x.re, -x.im))
    return reciprocal(op, Pair(grown.re + 1, grown.im))


@on(aten.silu.default)
def silu(op: Any, x: Pair) -> Pair:
    return times(x, sigmoid(op, x))


@on(aten.full_like.default, aten.ones_like.default, aten.zeros_like.default)
def filled_like(op: Any, x: Any, number: Any = None, *, dtype: Any = None, **_: Any) -> Any:
    given = {aten.ones_like.default: 1, aten.zeros_like.default: 0}.get(op, number)
    model = x.re if isinstance(x, Pair) else x
    if dtype is not None and not dtype.is_complex:
        return torch.full_like(model, given, dtype=dtype)
    parts = pair(given)
    return Pair(torch.full_like(model, parts.re), torch.full_like(model, parts.im))


@on(aten.full.default)
def filled(op: Any, sizes: Any, number: Any, *, dtype: Any = None, **_: Any) -> Pair:
    real = (dtype or torch.complex64).to_real()
    parts = pair(number)
    return Pair(op(sizes, parts.re, dtype=real), op(sizes, parts.im, dtype=real))


BY_PARTS: tuple[Any, ...] = (
    aten._conj.default, aten.conj_physical.default, aten._conj_physical.default,
    aten.angle.default, aten.exp.default, aten.log.default, aten.reciprocal.default,
    aten.div.Tensor, aten.div.Scalar, aten.eq.Tensor, aten.eq.Scalar, aten.ne.Tensor,
    aten.ne.Scalar, aten.mm.default, aten.bmm.default, aten.addmm.default, aten.mean.default,
    aten.mean.dim, aten.sum.default, aten.sum.dim_IntList, aten.neg.default,
    aten.constant_pad_nd.default, aten.sigmoid.default,
    torch.ops.prims.convert_element_type.default,
)  # fmt: skip
"""Ops that torch-mlir does not lower for complex dtypes although the dialect has them."""

FROM_REAL = (aten._fft_r2c.default,)
"""Ops with real operands and complex results."""


def by_parts(op: Any, otherwise: Callable[..., Any] | None) -> Callable[..., Any]:
    """A decomposition of the op on complex tensors; `otherwise` handles all others."""

    def decomposition(*args: Any, **kwargs: Any) -> Any:
        if op not in FROM_REAL and not any(map(_is_complex, args)):
            return NotImplemented if otherwise is None else otherwise(*args, **kwargs)
        made = PAIR_RULES[op](op, *map(_split, args), **kwargs)
        if not isinstance(made, Pair):
            return made
        return torch.view_as_complex(torch.stack([made.re, made.im], -1))

    return decomposition


def _is_complex(value: Any) -> bool:
    """A complex tensor, or a complex dtype as an argument."""
    dtype = value.dtype if isinstance(value, Tensor) else value
    return isinstance(dtype, torch.dtype) and dtype.is_complex


def _split(value: Any) -> Any:
    if not isinstance(value, Tensor) or not value.dtype.is_complex:
        return value
    return seen_as_complex(None, torch.view_as_real(value))
