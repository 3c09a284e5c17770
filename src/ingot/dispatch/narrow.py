"""Symbolic values under constraints. Values of a traced program, with ranges for sizes made of its
symbols, become fake values of the same sizes in an isolated ShapeEnv, where the same symbols have
these ranges. Facts found or assumed there stay there and can be queried. Sizes can be translated
back to the program's ShapeEnv, because the symbols are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv, ValueRangesSLoc
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy
from torch.utils._traceback import CapturedTraceback

from ingot.dispatch.ranges import Range

Constraint = tuple[Any, Range]
"""A size and its range."""
Symbolic = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Narrow(ValueError):
    """No example sizes are known, or the constraints do not fit them."""


def expression(number: Any) -> Any:
    return number.node.expr if isinstance(number, Symbolic) else number


def free_symbols(values: Iterable[Any]) -> list[sympy.Symbol]:
    found: set[sympy.Symbol] = set()
    for value in values:
        for number in _numbers(value):
            if isinstance(number, Symbolic):
                found |= number.node.expr.free_symbols
    return sorted(found, key=lambda symbol: symbol.name)


def world_of(values: Iterable[Any]) -> ShapeEnv | None:
    """The ShapeEnv of the symbols in the values; None if there are none."""
    for value in values:
        for number in _numbers(value):
            if isinstance(number, Symbolic):
                return number.node.shape_env
    return None


def description(values: Any) -> Any:
    """Dtypes, sizes and strides of all tensors, and everything else as it is: equal for values that
    trace alike."""
    leaves, spec = pytree.tree_flatten(values)
    parts = [
        (leaf.dtype, tuple(expression(n) for n in _numbers(leaf)), leaf.dim())
        if isinstance(leaf, torch.Tensor)
        else expression(leaf)
        for leaf in leaves
    ]
    return tuple(parts), str(spec)


def bounds_of(number: Any, world: ShapeEnv | None) -> tuple[int, int | None]:
    """Known bounds of a size: its minimum, and its maximum or None."""
    expr = expression(number)
    if isinstance(expr, int) or world is None:
        return int(expr), int(expr)
    known = bound_sympy(expr, world.var_to_range)
    low = int(known.lower) if known.lower.is_Integer else 0
    return low, int(known.upper) if known.upper.is_Integer else None


class World:
    """An isolated ShapeEnv and FakeTensorMode with the same symbols."""

    def __init__(self, values: Sequence[Any], constraints: Sequence[Constraint] = ()):
        outer = world_of(values)
        self.env = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)
        symbols = free_symbols([*values, *(size for size, _ in constraints)])
        hints = {} if outer is None else _hints(symbols, outer, constraints)
        for symbol in symbols:
            assert outer is not None
            self._add(symbol, outer.var_to_range[symbol], hints[symbol], constraints)
        self._assume(constraints)
        self.values = [self._fake(value) for value in values]
        self._given = len(self.env.guards)

    def assumed(self) -> list[sympy.Basic]:
        """Facts decided by an example, because the constraints leave them open."""
        return [guard.expr for guard in self.env.guards[self._given :]]

    def _add(
        self, symbol: sympy.Symbol, known: Any, hint: int, constraints: Sequence[Constraint]
    ) -> None:
        for size, part in constraints:
            if expression(size) == symbol:
                known = known & _value_range(part)
        place = self.env._get_sloc()
        self.env.var_to_range[symbol] = known
        self.env.var_to_range_sloc[symbol] = ValueRangesSLoc(place, place)
        self.env.backed_var_to_val[symbol] = sympy.Integer(hint)
        self.env.var_to_sources[symbol] = []
        self.env.var_to_stack[symbol] = CapturedTraceback.extract(skip=1)

    def _assume(self, constraints: Sequence[Constraint]) -> None:
        for size, part in constraints:
            if not isinstance(size, torch.SymInt):
                continue
            number = self._number(size)
            fits = number >= part.low and (part.high is None or number <= part.high)
            if not fits:
                raise Narrow(f"no example of {expression(size)} in {part.as_text()} was found")

    def _number(self, number: Any) -> Any:
        if not isinstance(number, torch.SymInt):
            return number
        return symbolic_number(number.node.expr, self.env)

    def _fake(self, value: Any) -> Any:
        return moved(value, self.mode, self._number)


def moved(value: Any, mode: FakeTensorMode | None, number: Any) -> Any:
    """A value in another ShapeEnv: `number` translates sizes."""
    if not isinstance(value, torch.Tensor):
        return number(value)
    sizes, strides = [number(s) for s in value.shape], [number(s) for s in value.stride()]
    offset = number(value.storage_offset())
    with _disable_current_modes(), mode or FakeTensorMode():
        whole = torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device)
        at_start = isinstance(offset, int) and offset == 0
        return whole if at_start else whole.as_strided(sizes, strides, offset)


def symbolic_number(expr: sympy.Basic, env: ShapeEnv) -> Any:
    """The expression as an int or SymInt of this ShapeEnv."""
    if expr.is_Integer:
        return int(expr)
    hint = expr.xreplace(dict(env.backed_var_to_val))
    return env.create_symintnode(expr, hint=int(hint) if hint.is_Integer else None)


def _value_range(part: Range) -> ValueRanges[Any]:
    return ValueRanges(part.low, int_oo if part.high is None else part.high)


def _numbers(value: Any) -> Iterable[Any]:
    if isinstance(value, torch.Tensor):
        strided = value.layout is torch.strided
        return (*value.shape, *(value.stride() if strided else ()))
    return (value,)


def _hints(
    symbols: Sequence[sympy.Symbol], outer: ShapeEnv, constraints: Sequence[Constraint]
) -> dict[sympy.Symbol, int]:
    """An example for each symbol that fits the constraints: the program's own if it fits."""
    hints = {symbol: _own_hint(symbol, outer) for symbol in symbols}
    for size, part in constraints:
        expr = expression(size)
        if isinstance(expr, int) or int(expr.xreplace(hints)) in part:
            continue
        for symbol in sorted(expr.free_symbols, key=lambda s: s.name):
            known = outer.var_to_range[symbol]
            found = _example(expr, symbol, hints, part, known, middle(part))
            if found is not None:
                hints[symbol] = found
                break
    return hints


def _own_hint(symbol: sympy.Symbol, outer: ShapeEnv) -> int:
    hint = outer.backed_var_to_val.get(symbol)
    if hint is None:
        raise Narrow(f"{symbol} is data-dependent")
    return int(hint)


def _example(
    expr: Any,
    symbol: sympy.Symbol,
    hints: Mapping[sympy.Symbol, Any],
    part: Range,
    known: Any,
    target: int,
) -> int | None:
    """The value of the symbol that brings the expression, which increases with it, closest to the
    target within the range."""
    low = int(known.lower) if known.lower.is_Integer else 0
    high = int(known.upper) if known.upper.is_Integer else 1 << 40

    def value(candidate: int) -> int:
        return int(expr.xreplace({**hints, symbol: sympy.Integer(candidate)}))

    while low < high:
        half = (low + high) // 2
        if value(half) < target:
            low = half + 1
        else:
            high = half
    near = [n for n in (low, low - 1) if value(n) in part]
    return min(near, key=lambda n: abs(value(n) - target)) if near else None


def middle(part: Range) -> int:
    """A size inside the range, away from its ends."""
    return 2 * part.low + 3 if part.high is None else (part.low + part.high + 1) // 2


def solved(
    values: Sequence[Any], wanted: Sequence[tuple[Any, int, Range]]
) -> dict[sympy.Symbol, sympy.Integer] | None:
    """Values of the symbols at which each size is the wanted one, or as close as its range allows;
    the program's own for other symbols. None if a range cannot be met."""
    env = world_of(values)
    if env is None:
        return {}
    symbols = free_symbols(values)
    found = {symbol: sympy.Integer(_own_hint(symbol, env)) for symbol in symbols}
    for size, number, part in wanted:
        expr = expression(size)
        if isinstance(expr, int) or int(expr.xreplace(found)) == number:
            continue
        for symbol in sorted(expr.free_symbols, key=lambda s: s.name):
            example = _example(expr, symbol, found, part, env.var_to_range[symbol], number)
            if example is not None:
                found[symbol] = sympy.Integer(example)
                break
    reached = [(sympy.sympify(expression(size)).xreplace(found), part) for size, _, part in wanted]
    return found if all(int(number) in part for number, part in reached) else None
