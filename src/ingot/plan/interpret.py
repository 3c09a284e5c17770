"""Interprets a plan without machine code: each launch runs as its ATen ops. Memory that a plan
allocates is poisoned, so that reads of unwritten memory show in the results. Slow; for tests and
for locating a faulty op.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import sympy
import torch

from ingot.errors import PlanError
from ingot.plan.interpret_memory import BufferMemory, poisoned
from ingot.plan.ir import (
    Allocate,
    AtMost,
    Branch,
    Call,
    Carried,
    Check,
    Computation,
    Define,
    Eager,
    EagerControlFlow,
    Entries,
    Fold,
    Free,
    Items,
    Kind,
    Launch,
    Loop,
    Op,
    Opaque,
    Operand,
    Parallel,
    Plan,
    Pointer,
    Ref,
    Require,
    Requirement,
    Return,
    Segment,
    Sliced,
)
from ingot.plan.requirements import check as check_requirement
from ingot.program.shapes import Size


class InterpreterResources(Protocol):
    """Resolves the names in a plan."""

    @property
    def constants(self) -> Mapping[str, Any]:
        """By name of the buffer."""

    @property
    def objects(self) -> Mapping[str, Any]:
        """By name of the opaque argument."""

    def target(self, name: str) -> Any: ...


def interpret(plan: Plan, resources: InterpreterResources, inputs: Sequence[Any]) -> list[Any]:
    """The results of the plan. Inputs that it writes are modified."""
    with torch.no_grad():
        return _Run(plan, resources, inputs).result()


class _Return(Exception):
    def __init__(self, values: list[Any]):
        super().__init__()
        self.values = values


class _Run:
    def __init__(self, plan: Plan, resources: InterpreterResources, inputs: Sequence[Any]):
        if len(inputs) != len(plan.inputs):
            raise PlanError(f"{len(inputs)} inputs given, the plan takes {len(plan.inputs)}")
        self.plan, self.resources = plan, resources
        self.buffers = plan.by_name()
        self.recipes = {recipe.buffer: recipe for recipe in plan.recipes}
        self.symbols = {symbol.name: symbol.expr for symbol in plan.symbols}
        self.sizes: dict[sympy.Symbol, Any] = {}
        self.values: dict[str, Any] = dict(zip(plan.inputs, inputs, strict=True))
        """Tensors and objects that eager ops see."""
        self.given = [(name, self.values[name]) for name in plan.inputs]
        """Tensors that the plan did not allocate."""
        self.memory: dict[str, BufferMemory] = {}
        """Memory of the arena, and the memory that cursors point to."""

    def result(self) -> list[Any]:
        try:
            self.block(self.plan.ops)
        except _Return as end:
            for name, value in self.given:
                self.declared(name, value)
            return end.values
        raise PlanError("the plan ended without a return")

    # -- sizes and values --------------------------------------------------------------------------

    def number(self, size: Size) -> int:
        return size if isinstance(size, int) else int(self.evaluated(size))

    def evaluated(self, expr: sympy.Basic) -> int | float | bool:
        found = expr.xreplace(self.sizes)
        if found.free_symbols:
            raise PlanError(f"{expr}: a symbol has no value yet")
        if found in (sympy.true, sympy.false):
            return bool(found)
        return int(found) if found.is_integer else float(found)

    def numbers(self, sizes: Iterable[Size]) -> tuple[int, ...]:
        return tuple(map(self.number, sizes))

    def object(self, name: str) -> Any:
        """The tensor or object that eager ops see under a buffer's name."""
        if name not in self.values:
            if name not in self.resources.constants:
                raise PlanError(f"%{name} is used but does not exist")
            self.result_of(name, self.resources.constants[name])
        return self.values[name]

    def value(self, value: Any, names: Mapping[str, Any] | None = None) -> Any:
        """Evaluates an argument of a call. `names`: the values of a computation or recipe."""
        match value:
            case Ref():
                return self.object(value.name) if names is None else names[value.name]
            case Operand():
                return self.view(value)
            case Items():
                return [self.value(each, names) for each in value.values]
            case tuple():
                return tuple(self.value(each, names) for each in value)
            case Entries():
                return {self.value(k, names): self.value(v, names) for k, v in value.pairs}
            case slice():
                parts = (value.start, value.stop, value.step)
                return slice(*(self.value(part, names) for part in parts))
            case Opaque():
                return self.resources.objects[value.name]
            case AtMost():
                return self.number(value.left) <= self.number(value.right)
            case sympy.Basic():
                return self.evaluated(value)
        return value

    def call(self, call: Call, names: Mapping[str, Any] | None = None) -> Any:
        args = [self.value(each, names) for each in call.args]
        kwargs = {key: self.value(each, names) for key, each in call.kwargs}
        return self.resources.target(call.target)(*args, **kwargs)

    # -- memory ------------------------------------------------------------------------------------

    def memory_of(self, name: str) -> BufferMemory:
        if name not in self.memory:
            buffer = self.buffers[name]
            if buffer.kind is not Kind.ARENA:
                return BufferMemory.of(self.object(name))
            self.memory[name] = BufferMemory.of(self.fresh(name))
        return self.memory[name]

    def fresh(self, name: str) -> torch.Tensor:
        buffer = self.buffers[name]
        assert buffer.dtype is not None
        return poisoned(buffer.dtype, self.numbers(buffer.shape), self.numbers(buffer.strides))

    def view(self, operand: Operand) -> torch.Tensor:
        shape, strides = self.numbers(operand.shape), self.numbers(operand.strides)
        memory = self.memory_of(operand.buffer)
        return memory.view(operand.dtype, self.number(operand.offset), shape, strides)

    def whole(self, name: str, memory: BufferMemory) -> torch.Tensor:
        """Other memory viewed with a buffer's layout."""
        buffer = self.buffers[name]
        assert buffer.dtype is not None
        shape, strides = self.numbers(buffer.shape), self.numbers(buffer.strides)
        return memory.view(buffer.dtype, 0, shape, strides)

    def flag(self, pointer: Pointer) -> bool:
        return bool(self.view(Operand(pointer.buffer, pointer.offset, torch.bool, (), ())))

    # -- ops ---------------------------------------------------------------------------------------

    def block(self, ops: Iterable[Op]) -> None:
        for op in ops:
            self.op(op)

    def op(self, op: Op) -> None:
        match op:
            case Launch():
                self.computed(op.computes)
            case Parallel():
                self.block(op.launches)
            case Segment():
                self.required(op.requires)
                self.block(op.ops)
            case Require():
                self.required(op.requirements)
            case Branch():
                self.block(op.then if self.holds(op.condition) else op.otherwise)
            case Loop():
                self.loop(op)
            case Return():
                raise _Return([self.value(each) for each in op.values])
            case _:
                self.eager(op)

    def eager(self, op: Op) -> None:
        match op:
            case Eager():
                self.result_of(op.call.result, self.call(op.call))
            case EagerControlFlow():
                self.result_of(op.result, self.eager_control_flow(op))
            case Define():
                self.define(op)
            case Allocate():
                self.values[op.buffer] = self.fresh(op.buffer)
            case Fold():
                self.result_of(op.buffer, self.folded(op.buffer))
            case Check():
                if not self.value(op.condition):
                    raise RuntimeError(op.message)
            case Free():
                for name in op.buffers:
                    self.values.pop(name, None)

    def result_of(self, name: str, value: Any) -> None:
        if name:
            self.values[name] = value
            self.given.append((name, value))

    def declared(self, name: str, value: Any) -> None:
        """Raises PlanError if a tensor is not as its buffer says, once all sizes are known."""
        buffer = self.buffers[name]
        if buffer.kind is Kind.OBJECT:
            return
        if isinstance(value, torch.Tensor) != (buffer.dtype is not None):
            raise PlanError(f"%{name} is {type(value).__name__}, declared with {buffer.dtype}")
        sizes = (*buffer.shape, *buffer.strides)
        if buffer.dtype is None or value.layout is not torch.strided or not self.known(sizes):
            return
        shape, strides = self.numbers(buffer.shape), self.numbers(buffer.strides)
        steps = [(a, b) for n, a, b in zip(shape, strides, value.stride()) if n > 1]
        same = value.dtype is buffer.dtype and value.shape == shape
        if not same or (0 not in shape and any(a != b for a, b in steps)):
            found = f"{value.dtype}{list(value.shape)}{value.stride()}"
            raise PlanError(f"%{name} is {found}, not {buffer.dtype}{list(shape)}{strides}")

    def known(self, sizes: Iterable[Size]) -> bool:
        symbolic = (size for size in sizes if not isinstance(size, int))
        return all(symbol in self.sizes for size in symbolic for symbol in size.free_symbols)

    def required(self, requirements: Iterable[Requirement]) -> None:
        for each in requirements:
            check_requirement(each, self.sizes)

    def holds(self, condition: Any) -> bool:
        return self.flag(condition) if isinstance(condition, Pointer) else self.value(condition)

    def define(self, op: Define) -> None:
        asked = self.object(op.buffer)
        found = {
            "size": lambda: asked.size(op.dim),
            "stride": lambda: asked.stride(op.dim),
            "offset": lambda: asked.storage_offset(),
            "value": lambda: asked,
        }[op.query]()
        self.sizes[self.symbols[op.symbol]] = sympy.sympify(found)

    def folded(self, name: str) -> Any:
        recipe = self.recipes[name]
        names = {f"s{k}": self.object(source) for k, source in enumerate(recipe.sources)}
        for call in recipe.calls:
            names[call.result] = self.call(call, names)
        (result,) = recipe.results
        return names[result]

    def computed(self, computes: Computation) -> None:
        """All outputs are computed before any is stored."""
        names: dict[str, Any] = {}
        for name, source in computes.inputs:
            known = self.object(source.name) if isinstance(source, Ref) else self.view(source)
            names[name] = known
        for call in computes.calls:
            names[call.result] = self.call(call, names)
        results = [(names[name].clone(), operand) for name, operand in computes.outputs]
        for result, operand in results:
            target = self.view(operand)
            if result.shape != target.shape or result.dtype != target.dtype:
                raise PlanError(
                    f"a launch computes {result.dtype}{list(result.shape)} for "
                    f"%{operand.buffer}: {target.dtype}{list(target.shape)}"
                )
            target.copy_(result)

    # -- control flow ------------------------------------------------------------------------------

    def loop(self, op: Loop) -> None:
        pairs = [[self.memory_of(name) for name in carried.memory] for carried in op.carried]
        for carried, (old, _) in zip(op.carried, pairs):
            self.begin(carried, old)
        count, number = None if op.count is None else self.number(op.count), 0
        while count is None or number < count:
            for carried, (old, new) in zip(op.carried, pairs):
                self.memory[carried.old], self.memory[carried.new] = old, new
            for piece in op.sliced:
                self.memory[piece.cursor] = self.slice(piece, number)
            self.block(op.test)
            if op.flag is not None and not self.flag(op.flag):
                break
            self.block(op.body)
            for pair in pairs:
                pair.reverse()
            number += 1
        for carried, (old, _) in zip(op.carried, pairs):
            if carried.result is not None:
                self.view(carried.result).copy_(self.whole(carried.old, old))

    def begin(self, carried: Carried, memory: BufferMemory) -> None:
        self.whole(carried.old, memory).copy_(self.view(carried.start))

    def slice(self, piece: Sliced, number: int) -> BufferMemory:
        behind = self.number(piece.memory.offset) + number * self.number(piece.stride)
        return self.memory_of(piece.memory.buffer).behind(behind)

    def eager_control_flow(self, op: EagerControlFlow) -> Any:
        operands = [self.value(each) for each in op.operands]

        def run(body: int, *given: Any) -> list[Any]:
            return interpret(op.bodies[body], self.resources, given)

        if op.kind == "branch":
            return run(0 if self.value(op.predicate) else 1, *operands)
        values, rest = operands[: op.carried], operands[op.carried :]
        if op.kind == "loop":
            while run(0, *values, *rest)[0]:
                values = run(1, *values, *rest)
            return [_own(value, operands) for value in values]
        sliced, shared = rest[: op.sliced], rest[op.sliced :]
        stacked: list[list[Any]] = []
        for elements in zip(*sliced):
            results = run(0, *values, *elements, *shared)
            values = results[: op.carried]
            stacked.append(results[op.carried :])
        parts = [torch.stack(part) for part in zip(*stacked)]
        return [*(_own(value, operands) for value in values), *parts]


def _own(value: Any, operands: Sequence[Any]) -> Any:
    """A loop without iterations returns copies of its initial values."""
    same = isinstance(value, torch.Tensor) and any(value is operand for operand in operands)
    return value.clone() if same else value
