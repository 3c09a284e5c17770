"""Expressions for one element of a region's value: small graphs over loads, index values, pointwise
ops and reductions. Expressions are interned, so equal ones are one object and identity is equality;
each knows the loop variables that it depends on.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import fx

from ingot.fuse.index import Gathered, Index, Var
from ingot.program.shapes import Size

Operand = Any
"""An Expr, or a plain Python value that a rule reads."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Expr:
    dtype: torch.dtype

    def children(self) -> Iterator[Expr]:
        return iter(())

    def indexes(self) -> Iterator[Index]:
        return iter(())

    def variables(self) -> frozenset[Var]:
        return _variables(self)

    def substitute(self, values: dict[Var, Index]) -> Expr:
        return rewritten([self], lambda index: index.substitute(values))[0]


@dataclass(frozen=True, eq=False, slots=True)
class Load(Expr):
    """Element `index` of a buffer's memory."""

    buffer: fx.Node
    index: Index

    def indexes(self) -> Iterator[Index]:
        return iter((self.index,))


@dataclass(frozen=True, eq=False, slots=True)
class Number(Expr):
    value: Any


@dataclass(frozen=True, eq=False, slots=True)
class FromIndex(Expr):
    """An index, or a size, as an int64 value."""

    index: Index

    def indexes(self) -> Iterator[Index]:
        return iter((self.index,))


@dataclass(frozen=True, eq=False, slots=True)
class Apply(Expr):
    """A pointwise rule applied to operands, which are named as in the schema."""

    target: Any
    names: tuple[str, ...]
    operands: tuple[Operand, ...]
    compute: torch.dtype

    def children(self) -> Iterator[Expr]:
        return (o for o in self.operands if isinstance(o, Expr))


@dataclass(frozen=True, eq=False, slots=True)
class Guarded(Expr):
    """`inside` if low <= index < high, else `outside`; `inside` is not evaluated elsewhere."""

    index: Index
    low: Size
    high: Size
    inside: Expr
    outside: Expr

    def children(self) -> Iterator[Expr]:
        return iter((self.inside, self.outside))

    def indexes(self) -> Iterator[Index]:
        return iter((self.index,))


@dataclass(frozen=True, eq=False, slots=True)
class Checked(Expr):
    """A gather index made safe: a negative one counts from the end if `wraps`; one out of range is
    a failure."""

    value: Expr
    size: Size
    wraps: bool
    failure: int
    """The error code of an index out of range."""

    def children(self) -> Iterator[Expr]:
        return iter((self.value,))


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(Expr):
    """A reduction of `operand` over the loop variables `over`. `part` picks the value or, for arg
    reductions, the index; `position` is the index of the element along the reduced dimensions."""

    kind: str
    operand: Expr
    over: tuple[Var, ...]
    part: int
    position: Index | None

    def children(self) -> Iterator[Expr]:
        return iter((self.operand,))

    def indexes(self) -> Iterator[Index]:
        return iter(()) if self.position is None else iter((self.position,))


@dataclass(frozen=True, eq=False, slots=True)
class Scan(Expr):
    """The combination of all elements up to this one along the loop of the variable `position`."""

    kind: str
    operand: Expr
    position: Index

    def children(self) -> Iterator[Expr]:
        return iter((self.operand,))

    def indexes(self) -> Iterator[Index]:
        return iter((self.position,))


_VARIABLES: weakref.WeakKeyDictionary[Expr, frozenset[Var]] = weakref.WeakKeyDictionary()


class ExprTable:
    """Interns expressions. One table serves one region."""

    def __init__(self) -> None:
        self._made: dict[Any, Expr] = {}

    def make(self, kind: type[Expr], *values: Any) -> Any:
        key = (kind, tuple(_hashable(v) for v in values))
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = kind(*values)
        return found


def _hashable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_hashable(v) for v in value)
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, bool | int):
        return (type(value).__name__, value)
    return value


def _variables(expr: Expr) -> frozenset[Var]:
    known = _VARIABLES.get(expr)
    if known is not None:
        return known
    found: set[Var] = set()
    for index in expr.indexes():
        found |= index.variables()
    for child in expr.children():
        found |= _variables(child)
    if isinstance(expr, Reduce):
        found -= set(expr.over)
    result = frozenset(found)
    _VARIABLES[expr] = result
    return result


def rewritten(
    roots: Iterable[Expr],
    on_index: Callable[[Index], Index],
    on_guard: Callable[[Guarded], tuple[Index, Size, Size]] | None = None,
    over: Callable[[tuple[Var, ...]], tuple[Var, ...]] = lambda vs: vs,
) -> list[Expr]:
    """The expressions with every Index passed through `on_index`, the bounds of guards through
    `on_guard` and the variables of reductions through `over`."""
    done: dict[Expr, Expr] = {}
    table = ExprTable()

    def move(index: Index) -> Index:
        return on_index(index.map_gathered(again) if index.has_gathered() else index)

    def again(atom: Gathered) -> Gathered:
        at = tuple(move(i) for i in atom.at)
        return replace(atom, at=at, value=visit(atom.value))

    def visit(expr: Expr) -> Expr:
        found = done.get(expr)
        if found is None:
            found = done[expr] = table.make(type(expr), *values_of(expr))
        return found

    def values_of(expr: Expr) -> list[Any]:
        values: list[Any] = []
        for field in fields(expr):
            value = getattr(expr, field.name)
            if isinstance(value, Expr):
                value = visit(value)
            elif isinstance(value, Index):
                value = move(value)
            elif field.name == "operands":
                value = tuple(visit(v) if isinstance(v, Expr) else v for v in value)
            elif field.name == "over":
                value = over(value)
            values.append(value)
        if isinstance(expr, Guarded) and on_guard is not None:
            values[1:4] = on_guard(expr)
        return values

    return [visit(root) for root in roots]


def ordered(roots: Iterable[Expr], stop: Callable[[Expr], bool] = lambda _: False) -> list[Expr]:
    """Every expression below the roots, children first; none below those for which `stop` holds.
    Expressions inside gather indices count as children."""
    seen: set[Expr] = set()
    result: list[Expr] = []

    def visit(expr: Expr) -> None:
        if expr in seen:
            return
        seen.add(expr)
        if not stop(expr):
            for child in all_children(expr):
                visit(child)
        result.append(expr)

    for root in roots:
        visit(root)
    return result


def all_children(expr: Expr) -> Iterator[Expr]:
    """Operands, and the values of its gather indices."""
    yield from expr.children()
    for index in expr.indexes():
        yield from (atom.value for atom in index.gathered())
