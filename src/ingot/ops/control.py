"""A builder for structured control flow: loops and branches of the scf dialect. Their bodies are
written by callables or within `with`; values that they carry may be vectors and addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch

from ingot.ops.instructions import OpBuilder
from ingot.ops.values import Ptr, Val, Value

Range = tuple[Val, Val, Val]
"""From, to (exclusive), step."""
V = TypeVar("V", Val, Ptr, Value)
_NOT_UNROLLED = " {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}"


class ControlBuilder(OpBuilder):
    """Writes loops and branches."""

    @contextmanager
    def when(self, condition: Val) -> Iterator[None]:
        """Runs the body if a scalar holds."""
        self.line(f"scf.if {condition.name} {{")
        with self.indented():
            yield
        self.line("}")

    def either(
        self, condition: Val, then: Callable[[], object], otherwise: Callable[[], object]
    ) -> None:
        """Runs one of two bodies."""
        self.line(f"scf.if {condition.name} {{")
        with self.indented():
            then()
        self.line("} else {")
        with self.indented():
            otherwise()
        self.line("}")

    def branch(self, condition: Val, then: Callable[[], V], otherwise: Callable[[], V]) -> V:
        """A real branch on a scalar, for rare and expensive code; both sides give a value of one
        type."""
        return self.branches(condition, lambda: [then()], lambda: [otherwise()])[0]

    def branches(
        self,
        condition: Val,
        then: Callable[[], Sequence[V]],
        otherwise: Callable[[], Sequence[V]],
    ) -> list[V]:
        """As `branch`, for several values."""
        header = len(self.lines)
        name = self.fresh()
        self.line("")
        with self.indented():
            first = then()
            self._yield(first)
        self.line("} else {")
        with self.indented():
            self._yield(otherwise())
        self.line("}")
        many, kinds = _count(first), ", ".join(v.type for v in first)
        self.lines[header] = f"{self._margin}{name}{many} = scf.if {condition.name} -> ({kinds}) {{"
        return _results(name, first)

    @contextmanager
    def loop(self, low: Val, high: Val, step: Val) -> Iterator[Val]:
        """A counted loop; yields the counter."""
        name = self.fresh()
        self.line(f"scf.for {name} = {low.name} to {high.name} step {step.name} : i64 {{")
        with self.indented():
            yield Val(name, torch.int64)
        self.line("}")

    def carrying(
        self,
        extent: Range,
        start: Sequence[Val],
        step: Callable[[Val, Sequence[Val]], Sequence[Val]],
        unrolled: bool = True,
    ) -> list[Val]:
        """A counted loop that carries values: `step` gives the next ones. `unrolled`: whether LLVM
        may unroll it."""
        names = [self.fresh() for _ in start]
        result, at = self.fresh(), self.fresh()
        low, high, by = extent
        kinds = ", ".join(v.type for v in start)
        self.line(
            f"{result}{_count(start)} = scf.for {at} = {low.name} to {high.name} step {by.name} "
            f"iter_args({_given(names, start)}) -> ({kinds}) : i64 {{"
        )
        with self.indented():
            self._yield(step(Val(at, torch.int64), [_renamed(v, n) for v, n in zip(start, names)]))
        self.line("}" if unrolled else f"}}{_NOT_UNROLLED}")
        return _results(result, start)

    def repeat_while(
        self,
        start: Sequence[V],
        condition: Callable[[Sequence[V]], Val],
        step: Callable[[Sequence[V]], Sequence[V]],
    ) -> list[V]:
        """A while loop: `step` updates the values as long as `condition`, a scalar of them,
        holds."""
        return self.repeat(start, lambda values: (condition(values), values), step)

    def repeat(
        self,
        start: Sequence[V],
        head: Callable[[Sequence[V]], tuple[Val, Sequence[V]]],
        step: Callable[[Sequence[V]], Sequence[V]],
    ) -> list[V]:
        """A while loop whose head also computes: it gives the condition, and the values for `step`
        or, at the end, of the loop."""
        kinds = [v.type for v in start]
        names, before, inside = ([self.fresh() for _ in start] for _ in range(3))
        joined = ", ".join(kinds)
        self.line(
            f"{names[0]}{_count(start)} = scf.while ({_given(before, start)}) : ({joined}) -> "
            f"({joined}) {{"
        )
        with self.indented():
            held, values = head([_renamed(v, n) for v, n in zip(start, before)])
            self.line(f"scf.condition({held.name}) {', '.join(v.name for v in values)} : {joined}")
        self.line("} do {")
        arguments = ", ".join(f"{n}: {k}" for n, k in zip(inside, kinds))
        self.line(f"^bb0({arguments}):")
        with self.indented():
            self._yield(step([_renamed(v, n) for v, n in zip(start, inside)]))
        self.line("}")
        return _results(names[0], start)

    def _yield(self, values: Sequence[Value]) -> None:
        names, kinds = ", ".join(v.name for v in values), ", ".join(v.type for v in values)
        self.line(f"scf.yield {names} : {kinds}")


def _renamed(value: V, name: str) -> V:
    """A value of the same type."""
    return Ptr(name) if isinstance(value, Ptr) else Val(name, value.dtype, value.lanes)


def _given(names: Sequence[str], start: Sequence[Value]) -> str:
    return ", ".join(f"{n} = {v.name}" for n, v in zip(names, start, strict=True))


def _count(values: Sequence[Value]) -> str:
    return f":{len(values)}" if len(values) > 1 else ""


def _results(name: str, values: Sequence[V]) -> list[V]:
    if len(values) == 1:
        return [_renamed(values[0], name)]
    return [_renamed(v, f"{name}#{i}") for i, v in enumerate(values)]
