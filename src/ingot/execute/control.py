"""Branches and loops in a plan. Natively each is one step that runs tables: what is carried lies in
two pieces of memory that change places after every iteration, what is gone through is where a base
points to. Where something in a body needs the host, the host steers, and the bodies are plans of
their own. What holds: no operand is ever written; every result is memory of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch import fx

from ingot.codegen.executor import steering_address
from ingot.fuse.fused import CallStep, Fused
from ingot.plan.places import Moved, Place, bytes_of
from ingot.plan.products import root_of
from ingot.plan.segment import ZERO, AnyStep, NativeStep, Segment, Word
from ingot.plan.teams import teamed
from ingot.program.graph import output_values, placeholders
from ingot.program.higher_order import Control
from ingot.program.shapes import Size, shape_of, strides_of, tensor_of

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter

Table = tuple[AnyStep, ...]


def write_control(writer: RunnerWriter, step: CallStep, control: Control) -> None:
    for body in step.bodies:
        writer.name_constants(body.program)
    {"branch": _branch, "loop": _loop, "scan": _scan}[control.kind](_Control(writer, step, control))


class _Control:
    """One branch or loop while it is written."""

    def __init__(self, writer: RunnerWriter, step: CallStep, control: Control):
        self.writer = writer
        self.step = step
        self.control = control
        self.results: dict[int, fx.Node] = {
            user.args[1]: user  # type: ignore[misc]
            for user in step.node.users
            if user.target is operator.getitem
        }
        """The parts of the result that are used."""

    def inputs(self, body: Fused) -> list[fx.Node]:
        return placeholders(body.program.graph)

    def outputs(self, body: Fused) -> list[fx.Node]:
        return list(output_values(body.program.graph))

    def share(self, body: Fused) -> None:
        """What all iterations share lies where it lies outside."""
        w, shared = self.writer, self.control.shared
        inside = self.inputs(body)[len(self.control.operands()) - len(shared) :]
        for inner, outer in zip(inside, shared, strict=True):
            if not isinstance(inner.meta["val"], torch.Tensor):
                continue
            w.places.put(inner, w.places.of(outer))
            if outer in w.names:
                w.names[inner] = w.names[outer]

    def table(self, body: Fused) -> Table:
        """The steps of a body."""
        self.writer.name_prepared(body)
        outer, self.writer.segment = self.writer.segment, Segment(self.writer.arena)
        for step in body.steps:
            self.writer.step(step)
        outer.conditions += self.writer.segment.conditions
        steps, self.writer.segment = tuple(teamed(self.writer.segment.steps)), outer
        return steps

    def add(self, name: str, words: Sequence[Word | Size], tables: Sequence[Table] = ()) -> None:
        """One step of the surroundings."""
        given = tuple(w if isinstance(w, Word) else Word(ZERO, w) for w in words)
        step = NativeStep(steering_address(name), given, self.step.node, tuple(tables))
        self.writer.segment.steps.append(step)

    def pairs(self, first: Fused) -> list[tuple[Moved, Moved]]:
        """For each carried value, where an iteration reads it and where it writes the next; set to
        two pieces of memory, the first with what the loop starts from."""
        w, number = self.writer, self.writer.tick()
        found = []
        carried = zip(self.inputs(first), self.outputs(first), self.control.carried)
        for inner, made, start in carried:
            old, new = Moved(inner), Moved(made)
            for moved, node in ((old, inner), (new, made)):
                w.make(node, number)
                self.add("point", [w.moved_base(moved), w.memory(node, number)])
            self.add("copy", [w.memory(inner, number), w.address(start, number), bytes_of(inner)])
            found.append((old, new))
        for (old, new), inner, made in zip(found, self.inputs(first), self.outputs(first)):
            w.places.put(inner, Place(old))
            w.places.put(made, Place(new))
        return found

    def finish(self, pairs: Sequence[tuple[Moved, Moved]], start: int) -> None:
        """What the last iteration left becomes the result."""
        w, end = self.writer, self.writer.tick()
        w.arena.repeat(start, end)
        for k, (old, new) in enumerate(pairs):
            for moved in (old, new):
                w.memory(moved.node, end)
            if k in self.results:
                result = self.results[k]
                w.make(result, end)
                source = Word(w.moved_base(old), 0)
                self.add("copy", [w.address(result, end), source, bytes_of(result)])


def _branch(control: _Control) -> None:
    w, number = control.writer, control.writer.tick()
    for result in control.results.values():
        w.make(result, number)
        w.address(result, number)
    tables = []
    for body in control.step.bodies:
        control.share(body)
        for k, result in control.results.items():
            w.places.put(root_of(control.outputs(body)[k]), w.places.of(result))
        tables.append(control.table(body))
    control.add("branch", _predicate(control, number), tables)
    for result in control.results.values():
        w.address(result, w.tick())


def _predicate(control: _Control, number: int) -> list[Word | Size]:
    """Two sizes, the first at most the second where the answer is yes; or where the answer lies."""
    predicate = control.control.predicate
    value = predicate.meta["val"] if isinstance(predicate, fx.Node) else predicate
    if isinstance(value, torch.Tensor):
        return [0, 0, control.writer.address(predicate, number)]
    if isinstance(value, torch.SymBool):
        return [*_compared(value.node.expr), 0]
    return [int(not value), 0, 0]


def _compared(fact: Any) -> tuple[Size, Size]:
    match fact:
        case sympy.Le():
            return fact.lhs, fact.rhs
        case sympy.Lt():
            return fact.lhs + 1, fact.rhs
        case sympy.Ge():
            return fact.rhs, fact.lhs
        case sympy.Gt():
            return fact.rhs + 1, fact.lhs
    return sympy.Not(fact), 0


def _loop(control: _Control) -> None:
    w = control.writer
    test, body = control.step.bodies
    pairs = control.pairs(body)
    start = w.tick()
    for one in (test, body):
        control.share(one)
    for inner, (old, _) in zip(control.inputs(test), pairs):
        w.places.put(inner, Place(old))
    test_table = control.table(test)
    flag = w.address(control.outputs(test)[0], w.tick())
    body_table = control.table(body)
    moved = [w.moved_base(m) for pair in pairs for m in pair]
    control.add("loop", [flag, len(pairs), *moved], [test_table, body_table])
    control.finish(pairs, start)


def _scan(control: _Control) -> None:
    w = control.writer
    (body,) = control.step.bodies
    first = len(control.control.carried)
    pairs = control.pairs(body)
    start = w.tick()
    control.share(body)
    steps: list[Word | Size] = []
    for inner, outer in zip(control.inputs(body)[first:], control.control.sliced):
        steps += _gone_through(control, inner, outer, start)
    for k, result in control.results.items():
        if k >= first:
            w.make(result, start)
            steps += _gone_through(control, control.outputs(body)[k], result, start)
    table = control.table(body)
    moved = [w.moved_base(m) for pair in pairs for m in pair]
    times = shape_of(control.control.sliced[0])[0]
    words = [times, len(pairs), len(steps) // 2, *moved, *steps]
    control.add("scan", words, [table])
    for k, result in control.results.items():
        if k >= first:
            w.address(result, w.tick())
    control.finish(pairs, start)


def _gone_through(
    control: _Control, inner: fx.Node, outer: fx.Node, number: int
) -> tuple[Word | Size, Word | Size]:
    """(base, bytes from one element to the next) of a value of the body's that is one element of
    `outer`; set to the first."""
    w, moved = control.writer, Moved(inner)
    base = w.moved_base(moved)
    control.add("point", [base, w.address(outer, number)])
    w.places.put(inner, Place(moved))
    return base, strides_of(outer)[0] * tensor_of(outer).dtype.itemsize


# -- steered by the host ---------------------------------------------------------------------------

Run = Callable[[list[Any]], Sequence[Any]]


def steered(control: Control, runs: Sequence[Run]) -> Callable[..., Sequence[Any]]:
    """A function of the predicate and the operands."""
    carried, sliced = len(control.carried), len(control.sliced)

    def branch(predicate: Any, operands: tuple[Any, ...]) -> Sequence[Any]:
        yes, no = runs
        return (yes if predicate else no)(list(operands))

    def loop(_: None, operands: tuple[Any, ...]) -> Sequence[Any]:
        test, body = runs
        values, shared = list(operands[:carried]), operands[carried:]
        while test([*values, *shared])[0]:
            values = list(body([*values, *shared]))
        return [_own(value, operands) for value in values]

    def scan(_: None, operands: tuple[Any, ...]) -> Sequence[Any]:
        (body,) = runs
        values, shared = list(operands[:carried]), operands[carried + sliced :]
        stacked: list[Sequence[Any]] = []
        for elements in zip(*operands[carried : carried + sliced]):
            results = list(body([*values, *elements, *shared]))
            values = results[:carried]
            stacked.append(results[carried:])
        return [
            *(_own(value, operands) for value in values),
            *(torch.stack(parts) for parts in zip(*stacked)),
        ]

    kinds: dict[str, Callable[..., Sequence[Any]]] = {"branch": branch, "loop": loop, "scan": scan}
    return kinds[control.kind]


def _own(value: Any, operands: tuple[Any, ...]) -> Any:
    """A loop that never ran gives copies of what it started from."""
    same = isinstance(value, torch.Tensor) and any(value is operand for operand in operands)
    return value.clone() if same else value
