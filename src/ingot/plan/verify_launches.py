"""Checks of launches: arguments against the kernel's parameters, and pointers against the
computation."""

from __future__ import annotations

from typing import Any

import sympy
import torch

from ingot.errors import did_you_mean
from ingot.plan.ir import (
    LOOPS,
    EagerControlFlow,
    Function,
    Kind,
    Launch,
    Loop,
    Operand,
    Parallel,
    Parameter,
    Pointer,
    Ref,
    Return,
)
from ingot.plan.sizes import largest
from ingot.plan.verify_context import WRITABLE, Fault, VerifyContext
from ingot.plan.verify_records import named_refs, verify_call
from ingot.program.expressions import is_condition


def verify_launches(context: VerifyContext) -> None:
    for position, op in enumerate(context.ops):
        if isinstance(op, Launch):
            _Launch(context, op, position).verify()
        elif isinstance(op, Parallel):
            _verify_parallel(op, position)
        elif isinstance(op, Loop):
            _verify_loop(context, op, position)
        elif isinstance(op, EagerControlFlow):
            _verify_control_flow(op, position)


class _Launch:
    def __init__(self, context: VerifyContext, launch: Launch, position: int):
        self.context, self.launch, self.at = context, launch, position
        self.pointers: list[tuple[Parameter, Pointer]] = []

    def fail(self, why: str) -> None:
        raise Fault(self.at, why)

    def verify(self) -> None:
        kernel = self.context.kernels.get(self.launch.kernel)
        if kernel is None:
            known = did_you_mean(self.launch.kernel, self.context.kernels)
            raise Fault(self.at, f"no kernel @{self.launch.kernel}; {known}")
        declared, given = kernel.parameters, self.launch.arguments
        if len(declared) != len(given):
            self.fail(f"{len(given)} arguments for {len(declared)} parameters")
        for parameter, argument in zip(declared, given, strict=True):
            self.argument(parameter, argument)
        if kernel.family == LOOPS:
            self.sizes()
        self.computation()
        self.inputs()
        self.outputs()
        self.others()

    # -- arguments ---------------------------------------------------------------------------------

    def argument(self, parameter: Parameter, argument: Any) -> None:
        if parameter.optional and type(argument) is int and argument == 0:
            return
        if not parameter.access:
            self.number(parameter, argument)
        elif parameter.access == "call":
            if not isinstance(argument, Function):
                self.fail(f"{parameter.name} is the address of a kernel, not {argument}")
            if argument.kernel not in self.context.kernels:
                self.fail(f"no kernel @{argument.kernel}")
        elif not isinstance(argument, Pointer):
            self.fail(f"{parameter.name} is a pointer, not {argument}")
        else:
            self.pointer(parameter, argument)

    def number(self, parameter: Parameter, argument: Any) -> None:
        expr = isinstance(argument, sympy.Basic) and not is_condition(argument)
        if type(argument) is not int and not expr:
            self.fail(f"{parameter.name} is a number, not {argument}")

    def sizes(self) -> None:
        """Generated loops take the symbols that they need, each once; other numbers are constants
        of their code."""
        numbers = [a for a in self.launch.arguments if not isinstance(a, Pointer | Function)]
        if not all(isinstance(number, sympy.Symbol) for number in numbers):
            self.fail("generated loops take symbols, not other sizes")
        if len(set(numbers)) < len(numbers):
            self.fail("generated loops take a symbol twice")

    def pointer(self, parameter: Parameter, pointer: Pointer) -> None:
        buffer = self.context.buffer(pointer.buffer, self.at)
        self.pointers.append((parameter, pointer))
        if "w" in parameter.access and buffer.kind not in WRITABLE:
            self.fail(f"{parameter.name} is written, but %{buffer.name} is {buffer.kind.value}")
        if buffer.dtype is None:
            self.fail(f"{parameter.name} points to %{buffer.name}, which is not memory")
        if parameter.dtype not in (None, buffer.dtype) and not self.is_scratch(buffer.name):
            self.fail(f"{parameter.name} is of {parameter.dtype}, %{buffer.name} {buffer.dtype}")

    def is_scratch(self, name: str) -> bool:
        """Is it arena memory of bytes that no op reads afterwards?"""
        buffer = self.context.buffers[name]
        unread = name not in self.context.read
        return buffer.kind is Kind.ARENA and buffer.dtype is torch.uint8 and unread

    # -- the computation ---------------------------------------------------------------------------

    def computation(self) -> None:
        computes = self.launch.computes
        known: set[str] = set()
        for name, source in computes.inputs:
            if not name or name in known:
                self.fail(f"%{name} is not the name of a single operand")
            memory = isinstance(source, Ref) and self.context.buffer(source.name, self.at).dtype
            if memory:
                self.fail(f"an operand without a type refers to memory of {memory}")
            known.add(name)
        for call in computes.calls:
            verify_call(call, known, self.at)
        for name, _ in computes.outputs:
            if name not in known:
                self.fail(f"the computation stores %{name}, which it does not compute")
        used = {*named_refs(computes.calls), *(name for name, _ in computes.outputs)}
        if unread := [name for name, _ in computes.inputs if name not in used]:
            self.fail(f"the computation does not read its operand %{unread[0]}")
        if not computes.outputs:
            self.fail("the computation has no result")
        if len(computes.outputs) > 1 and len({o for _, o in computes.outputs}) < len(
            computes.outputs
        ):
            self.fail("the computation stores two values in one place")
        for operand, _ in computes.operands():
            self.operand(operand)

    def operand(self, operand: Operand) -> None:
        buffer = self.context.buffer(operand.buffer, self.at)
        if buffer.kind in (Kind.PACKED, Kind.OBJECT):
            self.fail(f"%{buffer.name} is {buffer.kind.value}, which a computation cannot use")
        if operand.dtype is not buffer.dtype:
            self.fail(f"%{buffer.name} holds {buffer.dtype}, not {operand.dtype}")

    def reached(self, access: str) -> set[str]:
        return {p.buffer for declared, p in self.pointers if access in declared.access}

    def inputs(self) -> None:
        """Operands of the computation are pointed to, or packed in a buffer that is."""
        readable = self.reached("r")
        packed = {source for name in readable for source in self.sources(name)}
        for _, source in self.launch.computes.inputs:
            if isinstance(source, Ref) or source.buffer in readable:
                continue
            if source.buffer not in packed and not self.sources(source.buffer) & packed:
                self.fail(f"the computation reads %{source.buffer}, but the kernel does not")

    def sources(self, name: str) -> set[str]:
        recipe = self.context.recipes.get(name)
        return set() if recipe is None else set(recipe.sources)

    def outputs(self) -> None:
        written = self.reached("w")
        for _, operand in self.launch.computes.outputs:
            if operand.buffer not in written:
                self.fail(f"the computation writes %{operand.buffer}, but the kernel does not")

    def others(self) -> None:
        """Every pointer is part of the computation, or scratch memory of this launch."""
        computes = self.launch.computes
        outputs = {operand.buffer for _, operand in computes.outputs}
        inputs = {s.buffer for _, s in computes.inputs if isinstance(s, Operand)}
        written = self.reached("w")
        for parameter, pointer in self.pointers:
            name = pointer.buffer
            buffer = self.context.buffers[name]
            if "w" in parameter.access and name not in outputs:
                if buffer.kind is not Kind.ARENA or name in self.context.read:
                    self.fail(f"the kernel writes %{name}, but the computation does not")
            elif name not in inputs and name not in written and buffer.kind is not Kind.PACKED:
                self.fail(f"the kernel reads %{name}, but the computation does not")


# -- parallel regions, loops and eager control flow ------------------------------------------------


def _verify_parallel(op: Parallel, position: int) -> None:
    threads = [launch.threads for launch in op.launches if launch.threads is not None]
    if not threads or op.threads == 0:
        raise Fault(position, "a parallel region without launches or without threads")
    if op.threads != largest(threads):
        raise Fault(position, f"{op.threads} threads are not the most that a launch can use")


def _verify_loop(context: VerifyContext, op: Loop, position: int) -> None:
    for carried in op.carried:
        sides = [carried.start] if carried.result is None else [carried.start, carried.result]
        names = (carried.old, carried.new, *carried.memory)
        dtypes = {operand.dtype for operand in sides} | {context.buffers[n].dtype for n in names}
        dtypes |= {context.buffers[operand.buffer].dtype for operand in sides}
        if len(dtypes) > 1:
            raise Fault(position, f"the value of %{carried.old} changes its dtype")
        layouts = {(o.shape, o.strides) for o in sides}
        layouts |= {(context.buffers[n].shape, context.buffers[n].strides) for n in names}
        if context.sized:
            layouts = {(tuple(map(context.number, a)), tuple(map(context.number, b)))
                       for a, b in layouts}  # fmt: skip
        shapes = {shape for shape, _ in layouts}
        if len(shapes) > 1 and _all_static(shapes):
            raise Fault(position, f"the value of %{carried.old} changes its shape")
    for piece in op.sliced:
        cursor, memory = context.buffers[piece.cursor], context.buffers[piece.memory.buffer]
        if cursor.dtype is not memory.dtype:
            raise Fault(position, f"%{piece.cursor} iterates over memory of another dtype")


def _all_static(shapes: set[tuple[Any, ...]]) -> bool:
    return all(isinstance(size, int) for shape in shapes for size in shape)


_BODIES = {"branch": 2, "loop": 2, "scan": 1}


def _verify_control_flow(op: EagerControlFlow, position: int) -> None:
    if _BODIES.get(op.kind) != len(op.bodies):
        raise Fault(position, f"no control flow {op.kind!r} with {len(op.bodies)} bodies")
    if op.carried < 0 or op.sliced < 0 or op.carried + op.sliced > len(op.operands):
        raise Fault(position, f"{len(op.operands)} operands do not match its counts")
    if (op.kind == "branch" and op.carried) or (op.kind != "scan" and op.sliced):
        raise Fault(position, f"a {op.kind} has no such parts")
    if (op.predicate is None) == (op.kind == "branch"):
        raise Fault(position, f"a {op.kind} with the predicate {op.predicate}")
    ends = [body.ops[-1] for body in op.bodies if body.ops]
    counts = [len(end.values) for end in ends if isinstance(end, Return)]
    if op.kind == "branch" and len(set(counts)) > 1:
        raise Fault(position, f"its bodies return {' and '.join(map(str, counts))} values")
    for body in op.bodies:
        if len(body.inputs) != len(op.operands):
            raise Fault(position, f"{len(op.operands)} operands for {len(body.inputs)} inputs")
    if not op.result:
        raise Fault(position, "it has no result")
