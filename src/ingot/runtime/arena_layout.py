"""Offsets of a plan's arena buffers, for each set of sizes. Buffers of a block that a branch on
sizes does not take have size 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sympy

from ingot.plan.arena import Lifetime, arranged
from ingot.plan.ir import AtMost, Branch, Kind, Op, Plan, blocks
from ingot.plan.liveness import uses
from ingot.plan.sizes import evaluator, symbols_in
from ingot.program.shapes import Size
from ingot.runtime.table import remember

Facts = tuple[sympy.Basic, ...]


class ArenaLayout:
    def __init__(self, plan: Plan):
        buffers = [b for b in plan.buffers if b.kind is Kind.ARENA and b.lifetime is not None]
        self.sizes: Mapping[str, Size] = {buffer.name: buffer.nbytes for buffer in buffers}
        self._lifetimes = [buffer.lifetime or (0, 0) for buffer in buffers]
        self._known: dict[tuple[int, ...], tuple[dict[str, int], int]] = {}
        self._evaluate: Callable[[Sequence[int]], list[int]] | None = None
        self._symbols: list[sympy.Symbol] = []
        self._facts: dict[str, Facts] = {}
        if all(buffer.offset is not None for buffer in buffers):
            places = {b.name: b.offset for b in buffers if b.offset is not None}
            total = max((o + _rounded(self.sizes[name]) for name, o in places.items()), default=0)
            self._known[()] = places, total
        else:
            self._facts = dict(_guarding(plan.ops, ()))
            asked = [fact for name in self.sizes for fact in self._facts.get(name, ())]
            self._symbols = symbols_in([*self.sizes.values(), *asked])

    def symbols(self) -> list[sympy.Symbol]:
        return self._symbols

    def bound(self, values: tuple[int, ...]) -> tuple[dict[str, int], int]:
        """(offset of each buffer, total bytes) for the values of the symbols."""
        found = self._known.get(values)
        if found is None:
            if self._evaluate is None:
                guarded = [(size, self._facts.get(n, ())) for n, size in self.sizes.items()]
                self._evaluate = evaluator(guarded, self._symbols)
            sizes = self._evaluate(values)
            lives = [
                Lifetime(first, last, size)
                for (first, last), size in zip(self._lifetimes, sizes, strict=True)
            ]
            offsets, total = arranged(lives)
            found = dict(zip(self.sizes, offsets, strict=True)), total
            remember(self._known, values, found)
        return found


def _rounded(size: Any) -> int:
    return -(-int(size) // 64) * 64


def _guarding(ops: Sequence[Op], facts: Facts) -> Iterator[tuple[str, Facts]]:
    """The facts under which each buffer is used. The walk goes outwards, so a buffer used in
    several blocks comes last with the fewest facts."""
    outer: list[str] = []
    inner: dict[str, Facts] = {}
    for op in ops:
        outer += [name for name, _ in uses(op)]
        for block, fact in zip(blocks(op), _facts_of(op), strict=True):
            for name, found in _guarding(block, (*facts, *fact)):
                inner[name] = found if name not in inner else _shared(inner[name], found)
    yield from inner.items()
    yield from ((name, facts) for name in outer)


def _shared(one: Facts, other: Facts) -> Facts:
    return tuple(fact for fact, also in zip(one, other) if fact == also)


def _facts_of(op: Op) -> tuple[Facts, ...]:
    """The facts that hold in each block of an op."""
    if isinstance(op, Branch):
        fact = _fact(op.condition)
        if fact is not None:
            return (fact,), (sympy.Not(fact),)
    return tuple(() for _ in blocks(op))


def _fact(condition: Any) -> sympy.Basic | None:
    if isinstance(condition, AtMost):
        if isinstance(condition.left, sympy.logic.boolalg.Boolean):
            return None
        fact = sympy.Le(condition.left, condition.right)
        return None if fact in (sympy.true, sympy.false) else fact
    return condition if isinstance(condition, sympy.Basic) else None
