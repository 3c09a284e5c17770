"""64-bit integer sums in TOSA. torch-mlir computes them in 32 bits, so each sum that may overflow
becomes a call whose body adds in 64 bits (TOSA's extension `int64`). Sums that provably fit, from
the ranges of shapes, symbols and constants, are left to be narrowed. A range is (least, largest);
an unknown value has the range of its dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.emit.declared_calls import CALL
from ingot.emit.dynamic_sizes import mark, size_of
from ingot.passes.base import Pass, ProgramDraft
from ingot.program.graph import placeholders

aten = torch.ops.aten

Range = tuple[float, float]
NARROW: Range = (-(2**31), 2**31 - 1)
_SUMS: dict[Any, str] = {aten.add.Tensor: "add", aten.sub.Tensor: "sub"}


@dataclass(frozen=True)
class WideSums(Pass):
    name: ClassVar[str] = "wide-sums"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        if not any(map(_is_wide_sum, draft.graph.nodes)):
            return []
        known = _Ranges(draft)
        wide = 0
        for node in list(draft.graph.nodes):
            if _is_wide_sum(node) and not known.fits(node):
                wide += _widen(draft, node)
        return [f"sums in 64 bits: {wide}"] if wide else []


def _is_wide_sum(node: Node) -> bool:
    return node.target in _SUMS and CALL not in node.meta and _dtype(node) is torch.int64


def _dtype(node: Node) -> Any:
    return getattr(node.meta.get("val"), "dtype", None)


def _widen(draft: ProgramDraft, node: Node) -> bool:
    val = node.meta["val"]
    alpha = node.kwargs.get("alpha", 1)
    operands = [_as_tensor(draft, node, operand) for operand in node.args[:2]]
    if alpha != 1:
        source = operands[1]
        operands[1] = draft.call(node, aten.mul.Scalar, (source, alpha), source.meta["val"])
    node.args, node.kwargs = tuple(operands), {}
    shapes = [operand.meta["val"].shape for operand in operands]
    fill = (_SUMS[node.target], len(shapes[0]), *(size_of(n) for shape in shapes for n in shape))
    if operands[0] is operands[1]:
        return False
    return mark(draft, node, "wide_sum", val.shape, fill) is not None


def _as_tensor(draft: ProgramDraft, node: Node, operand: Any) -> Node:
    if not isinstance(operand, Node):
        tensor = torch.tensor(operand, dtype=torch.int64)
        made = draft.add_constant(node, tensor)
        made.meta["val"] = node.meta["val"].fake_mode.from_tensor(tensor, static_shapes=True)
        return made
    if _dtype(operand) is torch.int64:
        return operand
    wide = operand.meta["val"].to(torch.int64)
    target = torch.ops.prims.convert_element_type.default
    return draft.call(node, target, (operand, torch.int64), wide)


class _Ranges:
    """The range of each value."""

    def __init__(self, draft: ProgramDraft) -> None:
        self.of: dict[Node, Range] = {}
        fixed = {
            node: draft.program.state.get(spec.target or "")
            for spec, node in zip(draft.signature.inputs, placeholders(draft.graph))
            if spec.kind == "constant"
        }
        for node in draft.graph.nodes:
            tensor = fixed.get(node)
            if node.op == "get_attr":
                tensor = draft.constants.get(str(node.target))
            if tensor is not None and tensor.numel() and not tensor.dtype.is_complex:
                self.of[node] = (float(tensor.min()), float(tensor.max()))
            else:
                self.of[node] = self._computed(node)

    def fits(self, node: Node) -> bool:
        """Whether the operands and the result of a sum fit in 32 bits."""
        return all(_inside(self.value(v)) for v in (node, *node.args[:2]))

    def value(self, value: Any) -> Range:
        if isinstance(value, Node):
            return self.of[value]
        return (value, value) if isinstance(value, int | float) else (-math.inf, math.inf)

    def _computed(self, node: Node) -> Range:
        val = node.meta.get("val")
        if isinstance(val, torch.SymInt):
            known = val.node.shape_env.bound_sympy(val.node.expr)
            return (float(known.lower), float(known.upper))
        limits = _limits(getattr(val, "dtype", None))
        rule = _RULES.get(node.target) if node.op == "call_function" else None
        least, largest = rule(self, node) if rule else limits
        if least < limits[0] or largest > limits[1]:
            return limits
        return (least, largest)


def _inside(known: Range) -> bool:
    return known[0] >= NARROW[0] and known[1] <= NARROW[1]


def _limits(dtype: Any) -> Range:
    if dtype is torch.bool:
        return (0, 1)
    if not isinstance(dtype, torch.dtype) or dtype.is_floating_point or dtype.is_complex:
        return (-math.inf, math.inf)
    return (torch.iinfo(dtype).min, torch.iinfo(dtype).max)


def _same(known: _Ranges, node: Node) -> Range:
    return known.value(node.args[0])


def _any_of(known: _Ranges, *values: Any) -> Range:
    ranges = [known.value(value) for value in values]
    return (min(r[0] for r in ranges), max(r[1] for r in ranges))


def _sum(known: _Ranges, node: Node) -> Range:
    (a, b), (c, d) = (known.value(v) for v in node.args[:2])
    alpha = node.kwargs.get("alpha", 1)
    factor = float(alpha) * (-1 if node.target is aten.sub.Tensor else 1)  # type: ignore[arg-type]
    ends = sorted((c * factor, d * factor))
    return (a + ends[0], b + ends[1])


def _product(known: _Ranges, node: Node) -> Range:
    (a, b), (c, d) = (known.value(v) for v in node.args[:2])
    ends = [x * y if x and y else 0 for x in (a, b) for y in (c, d)]
    return (min(ends), max(ends))


def _count(known: _Ranges, node: Node) -> Range:
    val = node.meta["val"]
    start, _, step = (*node.args, 1)[:3]
    if not all(isinstance(n, int | float) for n in (start, step)):
        return (-math.inf, math.inf)
    last = start + step * max(0, _largest(val.shape[0]) - 1)  # type: ignore[operator]
    return (min(start, last), max(start, last))  # type: ignore[type-var, return-value]


def _largest(size: Any) -> float:
    if isinstance(size, int):
        return size
    return float(size.node.shape_env.bound_sympy(size.node.expr).upper)


def _total(known: _Ranges, node: Node) -> Range:
    least, largest = known.value(node.args[0])
    source: Any = node.args[0]
    count = math.prod(map(_largest, source.meta["val"].shape))
    return (min(least * count, least, 0), max(largest * count, largest, 0))


def _place(known: _Ranges, node: Node) -> Range:
    source: Any = node.args[0]
    return (0, math.prod(map(_largest, source.meta["val"].shape)))


def _rest(known: _Ranges, node: Node) -> Range:
    divisor = node.args[1]
    if not isinstance(divisor, int) or divisor <= 0:
        return (-math.inf, math.inf)
    return (0, divisor - 1)


_RULES: dict[Any, Callable[[_Ranges, Node], Range]] = {
    **dict.fromkeys(
        (
            aten.view.default, aten.expand.default, aten.permute.default, aten.transpose.int,
            aten.t.default, aten.slice.Tensor, aten.select.int, aten.unsqueeze.default,
            aten.squeeze.default, aten.squeeze.dim, aten.flip.default, aten.index.Tensor,
            aten.gather.default, aten.index_select.default, aten.embedding.default,
            aten.amax.default, aten.amin.default, aten.scalar_tensor.default,
        ),
        _same,
    ),
    torch.ops.prims.convert_element_type.default: _same,
    aten.full.default: lambda known, node: known.value(node.args[1]),
    aten.full_like.default: lambda known, node: known.value(node.args[1]),
    aten.where.self: lambda known, node: _any_of(known, *node.args[1:]),
    aten.cat.default: lambda known, node: _any_of(known, *node.args[0]),  # type: ignore[misc]
    aten.constant_pad_nd.default: lambda known, node: _any_of(known, 0, *node.args[::2]),
    aten.add.Tensor: _sum,
    aten.sub.Tensor: _sum,
    aten.mul.Tensor: _product,
    aten.mul.Scalar: _product,
    aten.arange.start_step: _count,
    aten.sum.dim_IntList: _total,
    aten.argmax.default: _place,
    aten.argmin.default: _place,
    aten.remainder.Scalar: _rest,
}  # fmt: skip
