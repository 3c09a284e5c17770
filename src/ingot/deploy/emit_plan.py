"""The third emitter of plans: native code that runs a plan without tables and without Python.

All functions take the context of a call, an array of words: addresses of the weights, the workspace
and the arguments, the sizes, then the plan's own words. `prepare` checks the sizes, sets the
offsets in the workspace and returns its size in bytes, or a negative status. `run` returns a
status. Each parallel region is a function of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ingot.codegen.mlir.openmp import barrier, most_threads, openmp_declarations, start_threads
from ingot.deploy.context_writer import CONTEXT, I64, ContextWriter
from ingot.deploy.interface import Binding, Status
from ingot.deploy.plan_scope import FIRST, Contents, PlanCode, PlanScope
from ingot.deploy.size_code import joined
from ingot.errors import SaveError
from ingot.ops.failures import ZERO_DIVISION
from ingot.ops.values import Val
from ingot.plan.ir import (
    Allocate,
    AtMost,
    Branch,
    Check,
    Define,
    Eager,
    Fold,
    Free,
    Kind,
    Launch,
    Loop,
    Op,
    Operand,
    Parallel,
    Plan,
    Pointer,
    Ref,
    Require,
    Return,
    Segment,
    walk,
)
from ingot.plan.resources import KernelEntry, Resources
from ingot.program.program import SizeGuard
from ingot.program.shapes import Size

PREPARE, RUN = "prepare", "run"
LINE = 64


def emit_plan(
    plan: Plan, resources: Resources, binding: Binding, contents: Contents,
    guards: Sequence[SizeGuard], examples: Mapping[str, int],
) -> PlanCode:  # fmt: skip
    scope = PlanScope(plan, resources, binding, contents, examples)
    code = scope.code
    code.functions[PREPARE] = _Prepare(scope).text(guards)
    code.functions[RUN] = _Run(scope).text()
    code.declarations = {**openmp_declarations(), **code.declarations}
    return code


class _Prepare(ContextWriter):
    def text(self, guards: Sequence[SizeGuard]) -> str:
        b, plan = self.b, self.plan
        for size in plan.binding.interface.sizes:
            value = self.word(plan.symbols[size.symbol])
            self._require(b.cmp("ge", value, self.const(size.least)))
            self._require(b.cmp("le", value, self.const(size.most)))
        large = [buffer.nbytes for buffer in plan.plan.buffers if buffer.kind in _COUNTED]
        small = [self.sizes.is_small(n) for n in dict.fromkeys(large) if not _is_number(n)]
        self._require(joined(b, small))
        self._require(joined(b, [self.sizes.condition(each.condition) for each in guards]))
        total = self.const(plan.arena.static_bytes)
        line, zero = self.const(LINE - 1), self.const(0)
        for number, members in zip(plan.slots, plan.arena.slots, strict=True):
            self.set_word(number, total)
            longest = zero
            for name in members:
                longest = b.maximum(longest, self.sizes.value(plan.buffers[name].nbytes))
            total = b.add(total, b.and_(b.add(longest, line), b.not_(line)))
        b.give_back(total)
        b.block("wrong")
        return b.function(PREPARE, [CONTEXT], self.const(-Status.SIZE))

    def _require(self, condition: Val) -> None:
        self.b.require(condition, "wrong")


_COUNTED = (Kind.INPUT, Kind.ARENA, Kind.RESULT, Kind.CURSOR)


def _is_number(size: Size) -> bool:
    return isinstance(size, int) or bool(size.is_Integer)


class _Region(ContextWriter):
    """A parallel region: each thread does its share of all launches, with a barrier between."""

    def text(self, name: str, op: Parallel) -> str:
        frame = self.frame_memory()

        def share(entry: KernelEntry, values: Sequence[Val]) -> None:
            self.fill(frame, values)
            self.b.invoke(self.plan.function(entry.share, "(!llvm.ptr) -> ()"), [frame])

        for number, launch in enumerate(op.launches):
            if number:
                barrier(self.b)
            self.launch(launch, share)
        return self.b.function(name, [CONTEXT])


class _Run(ContextWriter):
    def text(self) -> str:
        self._labels = 0
        self.status, self.frame = self.b.slot(I64), self.frame_memory()
        ended = self._ops(self.plan.plan.ops)
        assert ended, "a plan that returns nothing"
        self.b.block("stopped")
        return self.b.function(RUN, [CONTEXT], self.b.load_word(self.status))

    def _label(self) -> str:
        self._labels += 1
        return f"at{self._labels}"

    def _stop_unless(self, condition: Val, status: Val) -> None:
        self.b.store_register(self.status, status)
        self.b.require(condition, "stopped")

    def _ops(self, ops: Sequence[Op]) -> bool:
        """Whether they end the call."""
        return any([self._op(op) for op in ops])

    def _op(self, op: Op) -> bool:
        match op:
            case Segment():
                self._assume(op.requires)
                return self._ops(op.ops)
            case Require():
                self._assume(op.requirements)
            case Launch():
                self._launch(op)
            case Parallel():
                self._parallel(op)
            case Branch():
                return self._branch(op)
            case Loop():
                self._loop(op)
            case Check():
                self._stop_unless(self.sizes.condition(op.condition), self.const(Status.SIZE))
            case Eager():
                self._eager(op)
            case Return():
                self._return()
                return True
            case Define() | Allocate() | Fold() | Free():
                pass  # sizes, results and folded weights are given
            case _:
                raise SaveError(f"it has {type(op).__name__} steps, which Python runs")
        return False

    def _assume(self, requirements: Sequence[Any]) -> None:
        for each in requirements:
            self._stop_unless(self.sizes.holds(each), self.const(Status.SIZE))

    def _launch(self, op: Launch) -> None:
        b, zero = self.b, self.const(0)

        def call(entry: KernelEntry, values: Sequence[Val]) -> None:
            self.fill(self.frame, values)
            code = b.invoke_value(self.plan.function(entry.address), [self.frame], I64)
            if op.attributes is None:  # convolutions cannot fail
                division = b.cmp("eq", code, self.const(ZERO_DIVISION))
                fault = b.select(division, self.const(Status.DIVISION), self.const(Status.INDEX))
                self._stop_unless(b.cmp("eq", code, zero), fault)

        self.launch(op, call)

    def _parallel(self, op: Parallel) -> None:
        b = self.b
        name = f"region{len(self.plan.code.functions)}"
        self.plan.code.functions[name] = _Region(self.plan).text(name, op)
        threads = b.minimum(self.sizes.value(op.threads), most_threads(b))
        b.either(
            b.cmp("gt", threads, self.const(1)),
            lambda: start_threads(b, name, CONTEXT, threads),
            lambda: b.invoke(name, [CONTEXT]),
        )

    def _branch(self, op: Branch) -> bool:
        b, label = self.b, self._label()
        condition = op.condition
        if isinstance(condition, AtMost):
            sides = self.sizes.value(condition.left), self.sizes.value(condition.right)
            holds = b.cmp("le", *sides)
        elif isinstance(condition, Pointer):
            holds = self._flag(condition)
        else:
            holds = self.sizes.condition(condition)
        b.jump_if(holds, f"{label}_then", f"{label}_else")
        for name, block in (("then", op.then), ("else", op.otherwise)):
            b.block(f"{label}_{name}")
            if not self._ops(block):
                b.jump(f"{label}_end")
        if all(any(isinstance(each, Return) for each in walk(x)) for x in (op.then, op.otherwise)):
            return True
        b.block(f"{label}_end")
        return False

    def _flag(self, pointer: Pointer) -> Val:
        at = self.b.as_pointer(self.address(pointer.buffer, pointer.offset))
        return self.b.load(at, torch.bool, 1)

    # -- loops -------------------------------------------------------------------------------------

    def _loop(self, op: Loop) -> None:
        b, label, words = self.b, self._label(), self.plan.words
        for each in op.carried:
            for cursor, memory in zip((each.old, each.new), each.memory, strict=True):
                self.set_word(words[cursor], self.address(memory))
            self._copy(self.address(each.memory[0]), self._start(each.start), each.old)
        for piece in op.sliced:
            at = self.address(piece.memory.buffer, piece.memory.offset)
            self.set_word(words[piece.cursor], at)
        count = Val(f"%{label}", I64)
        b.jump(label, self.const(0))
        b.block(label, count)
        if op.count is None:
            assert op.flag is not None
            self._ops(op.test)
            more = self._flag(op.flag)
        else:
            more = b.cmp("lt", count, self.sizes.value(op.count))
        b.jump_if(more, f"{label}_do", f"{label}_done")
        b.block(f"{label}_do")
        self._ops(op.body)
        for each in op.carried:
            old, new = self.word(words[each.old]), self.word(words[each.new])
            self.set_word(words[each.old], new)
            self.set_word(words[each.new], old)
        for piece in op.sliced:
            place = words[piece.cursor]
            self.set_word(place, b.add(self.word(place), self.sizes.value(piece.stride)))
        b.jump(label, b.add(count, self.const(1)))
        b.block(f"{label}_done")
        for each in op.carried:
            if each.result is not None:
                self._copy(self._start(each.result), self.address(each.old), each.old)

    def _start(self, operand: Operand) -> Val:
        return self.address(operand.buffer, operand.offset)

    def _copy(self, to: Val, start: Val, sized_as: str) -> None:
        size = self.sizes.value(self.plan.buffers[sized_as].nbytes)
        self.b.copy(self.b.as_pointer(to), self.b.as_pointer(start), size)

    # -- tensors -----------------------------------------------------------------------------------

    def _eager(self, op: Eager) -> None:
        """Views of results need no code; a whole tensor may be copied."""
        result = self.plan.buffers.get(op.call.result)
        if result is not None and result.alias is not None:
            return
        copied = copied_buffers(self.plan.plan, op)
        assert copied is not None, "an eager step, which is refused earlier"
        target, source = copied
        self._copy(self.address(target), self.address(source), target)

    def _return(self) -> None:
        for name, number in self.plan.binding.copied.items():
            self._copy(self.word(FIRST + number), self.address(name), name)
        self.b.give_back(self.const(Status.OK))


def copied_buffers(plan: Plan, op: Eager) -> tuple[str, str] | None:
    """(target, source) of an eager step that copies one whole buffer to another of its layout."""
    arguments = op.call.args[:2]
    if op.call.target != "aten.copy_.default" or not all(isinstance(a, Ref) for a in arguments):
        return None
    buffers = plan.by_name()
    target, source = (buffers[a.name] for a in arguments)
    same = (target.dtype, target.shape, target.strides) == (
        source.dtype, source.shape, source.strides
    )  # fmt: skip
    return (target.name, source.name) if same and target.dtype is not None else None
