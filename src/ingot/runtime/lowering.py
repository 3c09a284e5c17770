"""Lowers the segments of a plan to steps of the native executor's tables. Addresses first appear
here: those of kernels come from the resources, those of buffers are numbered base pointers that
each call sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ingot.codegen.support.executor import control_flow_address
from ingot.kernels.native_call import NativeCall
from ingot.machine import targeting
from ingot.plan.ir import (
    Argument,
    AtMost,
    Branch,
    Buffer,
    Expansion,
    Function,
    Kind,
    Launch,
    Loop,
    Op,
    Operand,
    Parallel,
    Pointer,
)
from ingot.plan.resources import Resources
from ingot.program.shapes import Size
from ingot.runtime.table import ARENA, ZERO, AnyStep, NativeStep, Share, SizedStep, Word

FIRST_BASE = 2
Table = tuple[AnyStep, ...]


class Bases:
    """Numbers of the base pointers: one for each buffer outside the arena that native code uses."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._set: set[str] = set()
        self._first_used: list[str] = []

    def of(self, name: str) -> int:
        if name not in self._set:
            self._set.add(name)
            self._first_used.append(name)
        return self.numbers.setdefault(name, FIRST_BASE + len(self.numbers))

    def first_used(self) -> list[str]:
        """The buffers that the segment lowered last is the first to use: it must set their
        bases."""
        names, self._first_used = self._first_used, []
        return names

    @contextmanager
    def block(self) -> Iterator[None]:
        """Ops that may not run: the bases that they set count as unset afterwards."""
        before = set(self._set)
        yield
        self._set = before


class Lowering:
    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        parameters: Mapping[str, Sequence[str]],
        resources: Resources,
        bases: Bases,
    ):
        """`parameters`: names of each kernel's parameters."""
        self._buffers, self._parameters = buffers, parameters
        self._resources, self._bases = resources, bases

    def steps(self, ops: Sequence[Op]) -> list[AnyStep]:
        return [step for op in ops for step in self._op(op)]

    def _op(self, op: Op) -> Iterator[AnyStep]:
        match op:
            case Launch():
                yield self._launch(op)
            case Parallel():
                yield self._parallel(op)
            case Branch():
                yield self._branch(op)
            case Loop():
                yield from self._loop(op)
            case _:
                raise AssertionError(f"{type(op).__name__} is not a native op")

    def _launch(self, op: Launch) -> AnyStep:
        entry = self._resources.kernels[op.kernel]
        words = tuple(map(self._word, op.arguments))
        if op.attributes is not None:
            named = dict(zip(self._parameters[op.kernel], words, strict=True))
            code = op.attributes
            return SizedStep(named, code.sizes(), self._for_machine(code), op, op.threads)
        share = None if op.threads is None else Share(entry.share, op.threads)
        return NativeStep(entry.address, words, op, share=share)

    def _for_machine(self, code: Expansion) -> Callable[[Sequence[int]], Sequence[NativeCall]]:
        machine = self._resources.machine

        def launches(sizes: Sequence[int]) -> Sequence[NativeCall]:
            with targeting(machine):
                return code.launches(sizes)

        return launches

    def _parallel(self, op: Parallel) -> NativeStep:
        inside = tuple(self._launch(launch).as_share() for launch in op.launches)
        words = (Word(ZERO, op.threads),)
        return NativeStep(control_flow_address("parallel_region"), words, op, (inside,))

    def _branch(self, op: Branch) -> NativeStep:
        tables = tuple(tuple(self.steps(block)) for block in (op.then, op.otherwise))
        condition = op.condition
        words: tuple[Word, ...]
        if isinstance(condition, AtMost):
            words = (Word(ZERO, condition.left), Word(ZERO, condition.right), Word(ZERO, 0))
        else:
            assert isinstance(condition, Pointer)
            words = (Word(ZERO, 0), Word(ZERO, 0), self._word(condition))
        return NativeStep(control_flow_address("branch"), words, op, tables)

    def _loop(self, op: Loop) -> Iterator[NativeStep]:
        for each in op.carried:
            for cursor, memory in zip((each.old, each.new), each.memory, strict=True):
                yield self._control_flow_step(
                    "point", op, [self._bases.of(cursor), Pointer(memory)]
                )
            size = self._buffers[each.old].nbytes
            yield self._control_flow_step(
                "copy", op, [Pointer(each.memory[0]), _start(each.start), size]
            )
        for piece in op.sliced:
            yield self._control_flow_step("point", op, [self._bases.of(piece.cursor), piece.memory])
        pairs = [self._bases.of(c) for each in op.carried for c in (each.old, each.new)]
        if op.count is None:
            assert op.flag is not None
            tables = (tuple(self.steps(op.test)), tuple(self.steps(op.body)))
            yield self._control_flow_step("loop", op, [op.flag, len(op.carried), *pairs], tables)
        else:
            moved = [w for p in op.sliced for w in (self._bases.of(p.cursor), p.stride)]
            words = [op.count, len(op.carried), len(op.sliced), *pairs, *moved]
            yield self._control_flow_step("scan", op, words, (tuple(self.steps(op.body)),))
        for each in op.carried:
            if each.result is not None:
                size = self._buffers[each.old].nbytes
                yield self._control_flow_step(
                    "copy", op, [_start(each.result), Pointer(each.old), size]
                )

    def _control_flow_step(
        self, name: str, op: Op, words: Sequence[Argument], tables: tuple[Table, ...] = ()
    ) -> NativeStep:
        return NativeStep(control_flow_address(name), tuple(map(self._word, words)), op, tables)

    def _word(self, argument: Argument) -> Word:
        if isinstance(argument, Pointer):
            if self._buffers[argument.buffer].kind is Kind.ARENA:
                return Word(ARENA, argument.offset, argument.buffer)
            return Word(self._bases.of(argument.buffer), argument.offset)
        if isinstance(argument, Function):
            return Word(ZERO, self._resources.kernels[argument.kernel].address)
        size: Size = argument
        return Word(ZERO, size)


def _start(operand: Operand) -> Pointer:
    return Pointer(operand.buffer, operand.offset)
