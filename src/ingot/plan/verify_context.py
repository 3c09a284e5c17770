"""Context shared by the checks of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import sympy

from ingot.errors import did_you_mean
from ingot.plan.invariants import FINAL, Invariant
from ingot.plan.ir import Buffer, Eager, EagerControlFlow, Kind, Loop, Op, Operand, Plan, walk
from ingot.plan.liveness import lifetimes, uses
from ingot.program.shapes import Size

WRITABLE = frozenset({Kind.INPUT, Kind.ARENA, Kind.RESULT, Kind.EAGER, Kind.CURSOR})


class Fault(Exception):
    """`subject`: the position of an op, or %buffer, @kernel, symbol, `recipe %buffer`."""

    def __init__(self, subject: Any, why: str):
        super().__init__(why)
        self.subject, self.why = subject, why
        self.plan: Plan | None = None
        """The plan that has the subject: a body of eager control flow, or the whole."""


class VerifyContext:
    def __init__(
        self, plan: Plan, sizes: Mapping[str, int] | None, holds: frozenset[Invariant] = FINAL
    ):
        self.plan, self.holds = plan, holds
        self.buffers = plan.by_name()
        self.kernels = {kernel.name: kernel for kernel in plan.kernels}
        self.recipes = {recipe.buffer: recipe for recipe in plan.recipes}
        given = sizes or {}
        self.values = {
            symbol.expr: sympy.Integer(given[symbol.name])
            for symbol in plan.symbols
            if symbol.name in given
        }
        self.sized = sizes is not None
        for symbol in plan.symbols:
            value = given.get(symbol.name, symbol.lower)
            if value < symbol.lower or (symbol.upper is not None and value > symbol.upper):
                raise Fault(symbol.name, f"{value} is outside its range")
        self._numbers: dict[Any, int | None] = {}

    def buffer(self, name: str, position: Any) -> Buffer:
        found = self.buffers.get(name)
        if found is None:
            raise Fault(position, f"no buffer %{name}; {did_you_mean(name, self.buffers)}")
        return found

    def number(self, size: Size) -> int | None:
        """None if it depends on symbols without a value."""
        if isinstance(size, int):
            return size
        if size not in self._numbers:
            found = size.xreplace(self.values)
            known = found.is_Integer or found in (sympy.true, sympy.false)
            self._numbers[size] = int(bool(found) if found.is_Boolean else found) if known else None
        return self._numbers[size]

    def extent(self, operand: Operand | Buffer) -> int | None:
        """Bytes from the start of the first element to the end of the last."""
        assert operand.dtype is not None
        last = 0
        for size, stride in zip(operand.shape, operand.strides, strict=True):
            many, step = self.number(size), self.number(stride)
            if many == 0:
                return 0
            if many is None or step is None:
                return None
            last += (many - 1) * step
        return (last + 1) * operand.dtype.itemsize

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        return tuple(walk(self.plan.ops))

    @cached_property
    def alive(self) -> dict[str, tuple[int, int]]:
        return lifetimes(self.plan.ops)

    @cached_property
    def made(self) -> frozenset[str]:
        """Buffers made by ops; other objects are constants."""
        return frozenset(
            name for op in self.ops for name, access in uses(op) if access in ("w", "make")
        )

    @cached_property
    def read(self) -> frozenset[str]:
        """Buffers whose content an op reads."""
        return frozenset(
            name for op in self.ops for name, access in uses(op) if access in ("r", "rw")
        )

    @cached_property
    def read_cursors(self) -> frozenset[str]:
        loops = [op for op in self.ops if isinstance(op, Loop)]
        old = (carried.old for op in loops for carried in op.carried)
        return frozenset((*old, *(p.cursor for op in loops for p in op.sliced if p.access == "r")))

    def roots(self, names: Iterable[str]) -> frozenset[str]:
        """The buffers that own the memory of these."""
        return frozenset(map(self.root, names))

    def root(self, name: str) -> str:
        seen: set[str] = set()
        while name not in seen and name in self.buffers:
            seen.add(name)
            name = self.buffers[name].alias or name
        return name


def result_of(op: Op) -> str:
    if isinstance(op, Eager):
        return op.call.result
    return op.result if isinstance(op, EagerControlFlow) else ""
