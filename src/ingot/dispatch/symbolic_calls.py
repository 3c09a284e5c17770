"""Operator calls with symbols for the dispatched sizes, made from real or fake arguments. Existing
symbols stay; sizes that the reference requires to be equal share one symbol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from ingot.dispatch.declaration import Declaration
from ingot.dispatch.narrow import World, symbolic_number
from ingot.dispatch.trace import OperatorCall

EXAMPLE = 509
"""For sizes of 0 and 1, which would be specialised; unlike any other size."""


def call_at(
    dispatch: Declaration, bound: Mapping[str, Any], sizes: Sequence[int]
) -> OperatorCall | None:
    """A call without symbols whose dispatched sizes are these; None if a size is not that of a
    single dimension."""
    chosen: dict[tuple[str, int], int] = {}
    for axis, size in zip(dispatch.axes, sizes, strict=True):
        if axis.dimension is None:
            return None
        name, dimension = axis.dimension
        chosen[name, dimension % bound[name].dim()] = size
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    made: dict[str, Any] = {}
    for name, value in bound.items():
        if not isinstance(value, torch.Tensor):
            made[name] = _example(value)
            continue
        shape = [chosen.get((name, k), _example(n)) for k, n in enumerate(value.shape)]
        made[name] = _fake(value, shape, mode)
    return OperatorCall(dispatch, made)


def symbolic_call(dispatch: Declaration, bound: Mapping[str, Any]) -> OperatorCall:
    sizes = dispatch.sizes(dispatch.shapes(bound))
    if all(isinstance(size, torch.SymInt) for size in sizes):
        return OperatorCall(dispatch, dict(bound))
    for linked in (False, True):
        call = _with_symbols(dispatch, bound, linked)
        if _runs(call):
            return call
    return call


def _with_symbols(dispatch: Declaration, bound: Mapping[str, Any], linked: bool) -> OperatorCall:
    """With `linked`, equal sizes share one symbol."""
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    dimensions = _dispatched(dispatch, bound)
    by_value: dict[int, Any] = {}
    symbols: dict[tuple[str, int], Any] = {}
    for name, k in dimensions:
        value = _example(bound[name].shape[k])
        if value not in by_value or not linked:
            by_value[value] = _new_symbol(env, len(symbols), value)
        symbols[name, k] = by_value[value]
    made: dict[str, Any] = {}
    for name, value in bound.items():
        if not isinstance(value, torch.Tensor):
            made[name] = _example(value)
            continue
        shape = []
        for k, size in enumerate(value.shape):
            number = _example(size)
            new = symbols.get((name, k), by_value.get(number) if linked else None)
            shape.append(number if new is None else new)
        made[name] = _fake(value, shape, mode)
    return OperatorCall(dispatch, made)


def _runs(call: OperatorCall) -> bool:
    """Does the reference accept these sizes without assuming an equality?"""
    try:
        world = World(call.inputs)
        with world.mode:
            call.dispatch.reference(**call.with_inputs(world.values))
    except Exception:
        return False
    return not any(isinstance(fact, sympy.Eq) for fact in world.assumed())


def _dispatched(dispatch: Declaration, bound: Mapping[str, Any]) -> list[tuple[str, int]]:
    found: dict[tuple[str, int], None] = {}
    for axis in dispatch.axes:
        for name, dimension in axis.dimensions:
            rank = bound[name].dim()
            dims = range(rank) if dimension is None else (dimension % rank,)
            for k in dims:
                found.setdefault((name, k))
    return list(found)


def _new_symbol(env: ShapeEnv, number: int, value: int) -> Any:
    example = value if value > 1 else EXAMPLE
    symbol = env.create_symbol(
        example, ConstantSource(f"size{number}"), dynamic_dim=DimDynamic.DYNAMIC
    )
    assert isinstance(symbol, sympy.Symbol)
    return symbolic_number(symbol, env)


def _fake(value: torch.Tensor, shape: Sequence[Any], mode: FakeTensorMode) -> torch.Tensor:
    """Dense but for broadcast dimensions, in the dimension order that `value` has in memory."""
    order = sorted(range(value.dim()), key=lambda k: (-_example(value.stride(k)), k))
    strides: list[Any] = [0] * value.dim()
    step: Any = 1
    for k in reversed(order):
        broadcast = _example(value.stride(k)) == 0 and _example(value.shape[k]) > 1
        strides[k] = 0 if broadcast else step
        step = step if broadcast else step * shape[k]
    with mode:
        return torch.empty_strided(shape, strides, dtype=value.dtype, device=value.device)


def _example(number: Any) -> Any:
    if not isinstance(number, torch.SymInt):
        return number
    known = dict(number.node.shape_env.backed_var_to_val)
    return int(number.node.expr.xreplace(known))
