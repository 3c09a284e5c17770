"""Ops whose meta kernels predict strides that differ from eager's, which tracing would then rely
on. These decompositions give results the strides that the kernels write. The arithmetic is the op's
own, or that of PyTorch's decomposition. An op whose operands are all contiguous stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import sympy
import torch
from torch import Tensor
from torch._decomp import decomposition_table as of_pytorch
from torch._ops import OpOverload
from torch._prims_common import (
    is_contiguous_for_memory_format_or_false,
    is_contiguous_or_false,
    make_contiguous_strides_for,
    suggest_memory_format,
)
from torch.fx.experimental.symbolic_shapes import guard_or_false

from ingot.passes.decompositions import Decomposition, decomposes, overload
from ingot.program.graph import same_numbers

aten = torch.ops.aten

ITERATED = (
    "copysign.Tensor", "div.Tensor_mode", "floor_divide", "heaviside", "logaddexp", "logaddexp2",
    "logical_and", "logical_or", "logical_xor", "special_xlog1py", "xlogy.Tensor",
)  # fmt: skip
"""Elementwise ops described as several ops, so that an operand other than the first determines the
strides."""


def is_contiguous(x: Tensor) -> bool:
    """Without a guard. The products of more than a few symbols are compared as expressions."""
    if is_contiguous_or_false(x):
        return True
    return same_numbers(x.stride(), make_contiguous_strides_for(x.shape))


def dense(x: Tensor) -> Tensor:
    return x if is_contiguous(x) else aten.clone(x, memory_format=torch.contiguous_format)


def _iterated(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Compute with dimensions permuted to the result's memory order. PyTorch accepts Python scalars
    in place of every tensor, as in torch.div(7, 2)."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    rank = max((t.dim() for t in tensors), default=0)
    if rank < 2 or all(map(is_contiguous, tensors)):
        return NotImplemented
    order = dimension_order(tensors, rank)
    turned = [_turned(a, order) if isinstance(a, Tensor) and a.dim() else a for a in args]
    return aten.permute(op(*turned, **kwargs), [order.index(dim) for dim in range(rank)])


def _turned(x: Tensor, order: Sequence[int]) -> Tensor:
    missing = len(order) - x.dim()
    return dense(aten.permute(aten.view(x, [1] * missing + list(x.shape)), list(order)))


def dimension_order(tensors: Sequence[Tensor], rank: int) -> list[int]:
    """The memory order of dimensions in the result of eager's elementwise kernels, outermost
    first."""
    order = list(reversed(range(rank)))
    strides = [_broadcast_strides(t, rank) for t in tensors]
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    for i in range(1, rank):
        place = i
        for before in reversed(range(i)):
            later = _compare(order[before], order[place], strides, shape)
            if later > 0:
                order[before], order[place] = order[place], order[before]
                place = before
            elif later < 0:
                break
    return order[::-1]


def _compare(a: int, b: int, strides: Sequence[Sequence[Any]], shape: Sequence[Any]) -> int:
    """1 if dimension `a` is outside of `b`, -1 if inside; the first operand that has both
    decides."""
    for stride in strides:
        if guard_or_false(stride[a] == 0) or guard_or_false(stride[b] == 0):
            continue
        if _is_less(stride[a], stride[b]):
            return -1
        if _is_less(stride[b], stride[a]):
            return 1
        if guard_or_false(shape[a] > shape[b]):
            return 1
    return 0


def _is_less(a: Any, b: Any) -> bool:
    """Of strides with symbols, whether it holds if all sizes are two or more: the stride of a
    dimension of one is not observable."""
    if guard_or_false(a < b):
        return True
    exprs = [n.node.expr if isinstance(n, torch.SymInt) else sympy.Integer(n) for n in (a, b)]
    rest = {s: sympy.Symbol(f"t{k}") + 2 for k, s in enumerate(_symbols(exprs))}
    difference = sympy.expand((exprs[1] - exprs[0]).xreplace(rest))
    if not rest or not difference.is_polynomial(
        *(each.free_symbols.pop() for each in rest.values())
    ):
        return False
    terms = difference.as_coefficients_dict().values()
    return bool(terms) and all(term > 0 for term in terms)


def _symbols(exprs: Sequence[sympy.Expr]) -> list[sympy.Symbol]:
    return sorted({s for expr in exprs for s in expr.free_symbols}, key=str)


def _broadcast_strides(x: Tensor, rank: int) -> list[Any]:
    own = [
        0 if guard_or_false(size == 1) else stride
        for size, stride in zip(x.shape, x.stride(), strict=True)
    ]
    return [0] * (rank - x.dim()) + own


def in_the_format_of(x: Tensor, result: Tensor) -> Tensor:
    """`result` in the memory format of `x`: contiguous or channels-last."""
    if is_contiguous_or_false(x):
        return result
    kept = suggest_memory_format(x)
    if is_contiguous_for_memory_format_or_false(result, memory_format=kept):
        return result
    return aten.clone(result, memory_format=kept)


def unless_as_described(norm: Decomposition, x: Tensor, *args: Any) -> Any:
    """Stays whole if PyTorch's prediction is right: that a batch norm's result has the strides of
    `x`."""
    return NotImplemented if in_the_format_of(x, x) is x else norm(x, *args)


@decomposes("log_sigmoid_forward")
def log_sigmoid(x: Tensor) -> Any:
    return of_pytorch[aten.log_sigmoid_forward.default](dense(x))


@decomposes("rrelu_with_noise_functional")
def rrelu(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    if is_contiguous(x):
        return NotImplemented
    return aten.rrelu_with_noise_functional(dense(x), *args, **kwargs)


@decomposes("channel_shuffle")
def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    made: Tensor = of_pytorch[aten.channel_shuffle.default](x, groups)
    return in_the_format_of(x, made)


for name in ITERATED:
    decomposes(name)(partial(_iterated, overload(name)))
