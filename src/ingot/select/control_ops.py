"""Native branches and loops: one op each, with the ops of their bodies inside. A carried value has
two pieces of memory that swap after every iteration; a scanned tensor is read or written through a
cursor. Operands are never written; every result has memory of its own.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from ingot.fuse.fused import CallStep, Fused
from ingot.kernels.matmul.claim import root_of
from ingot.plan.facts import compared
from ingot.plan.ir import AtMost, Branch, Carried, Kind, Loop, Op, Operand, Pointer, Sliced
from ingot.program.graph import output_values, placeholders
from ingot.program.higher_order import Control
from ingot.program.shapes import shape_of, strides_of, tensor_of

if TYPE_CHECKING:
    from ingot.select.selector import Selector


def used_results(node: fx.Node) -> dict[int, fx.Node]:
    """The used elements of a result, by index."""
    return {
        user.args[1]: user  # type: ignore[misc]
        for user in node.users
        if user.target is operator.getitem
    }


class ControlOps:
    """Writes one branch or loop."""

    def __init__(self, selector: Selector, step: CallStep, control: Control):
        self.selector, self.draft = selector, selector.draft
        self.step, self.control = step, control
        self.results = used_results(step.node)

    def write(self) -> None:
        for body in self.step.bodies:
            self.selector.constants(body.program)
        op = {"branch": self._branch, "loop": self._loop, "scan": self._scan}[self.control.kind]()
        self.draft.ops.append(op)

    def _branch(self) -> Op:
        draft = self.draft
        for result in self.results.values():
            self.selector._make(result)
        blocks = []
        for body in self.step.bodies:
            self._share(body)
            outputs = output_values(body.program.graph)
            for k, result in self.results.items():
                place = draft.place(result)
                assert place is not None
                draft.put(root_of(outputs[k]), place)
            blocks.append(self._block(body))
        return Branch(self._condition(), blocks[0], blocks[1], draft.step)

    def _condition(self) -> AtMost | Pointer:
        predicate = self.control.predicate
        value = predicate.meta["val"] if isinstance(predicate, fx.Node) else predicate
        if isinstance(value, torch.Tensor):
            return self.draft.pointer(predicate)
        if isinstance(value, torch.SymBool):
            return compared(value.node.expr)
        return AtMost(int(not value), 0)

    def _loop(self) -> Op:
        draft = self.draft
        test, body = self.step.bodies
        carried = self._carried(body)
        for one in (test, body):
            self._share(one)
        for inner, each in zip(placeholders(test.program.graph), carried):
            draft.put(inner, (each.old, 0))
        tested = self._block(test)
        flag = draft.pointer(output_values(test.program.graph)[0])
        return Loop(tuple(carried), (), self._block(body), None, tested, flag, draft.step)

    def _scan(self) -> Op:
        draft, control = self.draft, self.control
        (body,) = self.step.bodies
        first = len(control.carried)
        carried = self._carried(body)
        self._share(body)
        inputs, outputs = placeholders(body.program.graph), output_values(body.program.graph)
        sliced = [
            self._sliced(inner, outer, "r") for inner, outer in zip(inputs[first:], control.sliced)
        ]
        for k, result in self.results.items():
            if k >= first:
                self.selector._make(result)
                sliced.append(self._sliced(outputs[k], result, "w"))
        count = shape_of(control.sliced[0])[0]
        return Loop(tuple(carried), tuple(sliced), self._block(body), count, step=draft.step)

    def _carried(self, body: Fused) -> list[Carried]:
        draft, found = self.draft, []
        inputs, outputs = placeholders(body.program.graph), output_values(body.program.graph)
        for k, (inner, made, start) in enumerate(zip(inputs, outputs, self.control.carried)):
            memory = tuple(draft.add(f"{n.name}_carried", Kind.ARENA, n) for n in (inner, made))
            old, new = (draft.add(n.name, Kind.CURSOR, n) for n in (inner, made))
            begin = draft.operand(start)
            assert begin is not None
            found.append(Carried(begin, old, new, memory, self._result(k)))  # type: ignore[arg-type]
        for inner, made, each in zip(inputs, outputs, found):
            draft.put(inner, (each.old, 0))
            draft.put(made, (each.new, 0))
        return found

    def _result(self, number: int) -> Operand | None:
        result = self.results.get(number)
        if result is None:
            return None
        self.selector._make(result)
        return self.draft.operand(result)

    def _sliced(self, inner: Any, outer: fx.Node, access: str) -> Sliced:
        draft = self.draft
        cursor = draft.add(inner.name, Kind.CURSOR, inner)
        memory = draft.pointer(outer)
        draft.put(inner, (cursor, 0))
        return Sliced(
            cursor, memory, strides_of(outer)[0] * tensor_of(outer).dtype.itemsize, access
        )

    def _share(self, body: Fused) -> None:
        """Values shared by all iterations keep the memory that they have outside the loop."""
        draft, shared = self.draft, self.control.shared
        inside = placeholders(body.program.graph)
        for inner, outer in zip(
            inside[len(self.control.operands()) - len(shared) :], shared, strict=True
        ):
            place = draft.place(outer) if isinstance(inner.meta["val"], torch.Tensor) else None
            if place is not None:
                draft.put(inner, place)
            if outer in draft.handles:
                draft.name_as(inner, draft.handle(outer))

    def _block(self, body: Fused) -> tuple[Op, ...]:
        self.selector.folded(body)
        return self.selector.block(body)
