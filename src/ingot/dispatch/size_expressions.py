"""Expressions over sizes: the `on` of a dispatch and the `when` of an implementation. Text such as
`x.shape[1] * w.size(0)` or `x.shape[1] <= 512 and y.numel() % 8 == 0` becomes a function of the
arguments' shapes. Only sizes and integers occur; with symbolic sizes the value is symbolic and no
guard is added.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import torch

Shapes = Mapping[str, Sequence[Any]]

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_BOTH: dict[type[ast.boolop], Callable[[Any, Any], Any]] = {
    ast.And: operator.and_,
    ast.Or: operator.or_,
}
_EXTREMES: dict[str, Callable[[Any, Any], Any]] = {"min": torch.sym_min, "max": torch.sym_max}


class SizeError(ValueError):
    """A text is not an expression of sizes, or has no value for these shapes."""


@dataclass(frozen=True)
class SizeExpression:
    text: str
    tree: ast.expr = field(compare=False, repr=False)
    dimensions: tuple[tuple[str, int | None], ...]
    """The sizes it reads: a tensor's name and a dimension, None for all of them."""

    def of(self, shapes: Shapes) -> Any:
        return _value(self.tree, shapes)

    def holds(self, shapes: Shapes) -> bool:
        return bool(self.of(shapes))

    @property
    def dimension(self) -> tuple[str, int] | None:
        """The tensor and dimension whose size it is, if it is nothing else."""
        found = _size(self.tree)
        return None if found is None or found[1] is None else (found[0], found[1])

    def names(self) -> set[str]:
        return {name for name, _ in self.dimensions}


def size_of(name: str, dimension: int) -> SizeExpression:
    return parse(f"{name}.shape[{dimension}]")


def parse(text: str) -> SizeExpression:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise SizeError(f"{text!r} is not an expression: {error.msg}") from error
    found: dict[tuple[str, int | None], None] = {}
    _check(tree, found)
    return SizeExpression(text.strip(), tree, tuple(found))


def _check(tree: ast.expr, found: dict[tuple[str, int | None], None]) -> None:
    """Raises for anything but an expression of sizes; collects the sizes it reads."""
    if (size := _size(tree)) is not None:
        found.setdefault(size)
        return
    for part in _parts(tree):
        _check(part, found)


def _parts(tree: ast.expr) -> Iterable[ast.expr]:
    match tree:
        case ast.Constant(value=int()):
            return ()
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return (left, right)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            return (operand,)
        case ast.BoolOp(values=values):
            return values
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(
            type(op) in _COMPARISONS for op in ops
        ):
            return (left, *rest)
        case ast.Call(func=ast.Name(id="min" | "max"), args=args) if args:
            return args
    raise SizeError(
        f"{ast.unparse(tree)!r} is no size: use name.shape[i], name.size(i), name.numel(), whole "
        "numbers, + - * // %, min, max, comparisons, and, or, not"
    )


def _size(tree: ast.expr) -> tuple[str, int | None] | None:
    """(name, dimension) of `name.shape[i]` and `name.size(i)`; no dimension for `name.numel()`."""
    match tree:
        case (
            ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=index)
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[index])
        ):
            return name, _dimension(index)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numel"), args=[]):
            return name, None
    return None


def _dimension(tree: ast.expr) -> int:
    match tree:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    raise SizeError(f"{ast.unparse(tree)!r} is no dimension: give a whole number")


def _value(tree: ast.expr, shapes: Shapes) -> Any:
    if (size := _size(tree)) is not None:
        return _read(shapes, *size)
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_value(left, shapes), _value(right, shapes))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, shapes)
        case ast.UnaryOp(operand=operand):
            return torch.sym_not(_value(operand, shapes))
        case ast.BoolOp(op=both, values=values):
            return reduce(_BOTH[type(both)], (_value(v, shapes) for v in values))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            values = [_value(v, shapes) for v in (left, *rest)]
            steps = [_COMPARISONS[type(o)](a, b) for o, a, b in zip(ops, values, values[1:])]
            return reduce(operator.and_, steps)
        case ast.Call(func=ast.Name(id=name), args=args):
            return reduce(_EXTREMES[name], (_value(a, shapes) for a in args))
    raise AssertionError(ast.dump(tree))


def _read(shapes: Shapes, name: str, dimension: int | None) -> Any:
    shape = shapes[name]
    if dimension is None:
        return math.prod(shape)
    if not -len(shape) <= dimension < len(shape):
        raise SizeError(
            f"{name} has {len(shape)} dimensions, and there is no dimension {dimension}"
        )
    return shape[dimension]
