"""The _foreach ops of optimizers, as the plain op on one tensor after the other, like eager's own
loop on CPU. Ops not listed here (norms with a limit, scalars that are tensors) stay whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ingot.passes.decompositions import decomposes

aten = torch.ops.aten

# fmt: off
_UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "clone", "cos", "cosh", "erf", "erfc", "exp", "expm1",
    "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "max", "neg", "reciprocal",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)
# fmt: on

_BINARY = {  # with a list, with a scalar
    "add": (aten.add.Tensor, aten.add.Tensor),
    "sub": (aten.sub.Tensor, aten.sub.Tensor),
    "mul": (aten.mul.Tensor, aten.mul.Tensor),
    "div": (aten.div.Tensor, aten.div.Tensor),
    "pow": (aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar),
    "maximum": (aten.maximum.default, aten.clamp_min.default),
    "minimum": (aten.minimum.default, aten.clamp_max.default),
    "clamp_min": (aten.clamp_min.Tensor, aten.clamp_min.default),
    "clamp_max": (aten.clamp_max.Tensor, aten.clamp_max.default),
}


def _unary(op: Any) -> Callable[..., list[Tensor]]:
    def each(tensors: Sequence[Tensor]) -> list[Tensor]:
        return [op(x) for x in tensors]

    return each


def _by_one(op: Any) -> Callable[..., list[Tensor]]:
    """Apply the op to all tensors with the same scalar or tensor."""

    def each(tensors: Sequence[Tensor], other: Any, **options: Any) -> list[Tensor]:
        return [op(x, other, **options) for x in tensors]

    return each


def _by_list(op: Any) -> Callable[..., list[Tensor]]:
    """Apply the op to each tensor with its own scalar or tensor."""

    def each(tensors: Sequence[Tensor], others: Sequence[Any], **options: Any) -> list[Tensor]:
        return [op(x, y, **options) for x, y in zip(tensors, others)]

    return each


for _name in _UNARY:
    decomposes(f"_foreach_{_name}")(_unary(getattr(aten, _name).default))
for _name, (_list, _number) in _BINARY.items():
    decomposes(f"_foreach_{_name}.List")(_by_list(_list))
    decomposes(f"_foreach_{_name}.Scalar")(_by_one(_number))
    decomposes(f"_foreach_{_name}.ScalarList")(_by_list(_number))
for _name in ("add", "mul", "div"):
    decomposes(f"_foreach_{_name}.Tensor")(_by_one(_BINARY[_name][0]))


@decomposes("_foreach_zero")
def zero(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [aten.full_like(x, 0) for x in tensors]


@decomposes("_foreach_copy")
def copy(
    tensors: Sequence[Tensor], sources: Sequence[Tensor], non_blocking: bool = False
) -> list[Tensor]:
    return [aten.copy(x, y) for x, y in zip(tensors, sources)]


@decomposes("_foreach_pow.ScalarAndTensor")
def pow_number(base: Any, exponents: Sequence[Tensor]) -> list[Tensor]:
    return [aten.pow.Scalar(base, x) for x in exponents]


@decomposes("_foreach_norm.Scalar")
def norm(
    tensors: Sequence[Tensor], order: Any = 2, dtype: torch.dtype | None = None
) -> list[Tensor]:
    return [aten.linalg_vector_norm(x, order, dtype=dtype) for x in tensors]


@decomposes("_foreach_lerp.List")
def lerp_list(
    tensors: Sequence[Tensor], ends: Sequence[Tensor], weights: Sequence[Tensor]
) -> list[Tensor]:
    return [aten.lerp.Tensor(x, y, w) for x, y, w in zip(tensors, ends, weights)]


@decomposes("_foreach_lerp.Scalar")
def lerp(tensors: Sequence[Tensor], ends: Sequence[Tensor], weight: Any) -> list[Tensor]:
    return [aten.lerp.Scalar(x, y, weight) for x, y in zip(tensors, ends)]


@decomposes("_foreach_lerp.ScalarList")
def lerp_numbers(
    tensors: Sequence[Tensor], ends: Sequence[Tensor], weights: Sequence[Any]
) -> list[Tensor]:
    return [aten.lerp.Scalar(x, y, w) for x, y, w in zip(tensors, ends, weights)]


Triple = tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]]


def _fused(op: Any, tensors: Triple, values: Sequence[Any]) -> list[Tensor]:
    return [op(x, a, b, value=value) for x, a, b, value in zip(*tensors, values)]


@decomposes("_foreach_addcmul.Scalar")
def addcmul(
    x: Sequence[Tensor], a: Sequence[Tensor], b: Sequence[Tensor], value: Any = 1
) -> list[Tensor]:
    return _fused(aten.addcmul, (x, a, b), [value] * len(x))


@decomposes("_foreach_addcmul.ScalarList")
def addcmul_numbers(
    x: Sequence[Tensor], a: Sequence[Tensor], b: Sequence[Tensor], values: Sequence[Any]
) -> list[Tensor]:
    return _fused(aten.addcmul, (x, a, b), values)


@decomposes("_foreach_addcdiv.Scalar")
def addcdiv(
    x: Sequence[Tensor], a: Sequence[Tensor], b: Sequence[Tensor], value: Any = 1
) -> list[Tensor]:
    return _fused(aten.addcdiv, (x, a, b), [value] * len(x))


@decomposes("_foreach_addcdiv.ScalarList")
def addcdiv_numbers(
    x: Sequence[Tensor], a: Sequence[Tensor], b: Sequence[Tensor], values: Sequence[Any]
) -> list[Tensor]:
    return _fused(aten.addcdiv, (x, a, b), values)
