"""Emits a plan as a Python function that binds arguments, runs segments and calls eager ops. A
tensor is freed after its last use; an error code of a kernel becomes the exception that eager
raises.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch._C._dynamo.guards import _empty_strided_cpu  # type: ignore[attr-defined]

from ingot.codegen.support.launcher import UNUSUAL, presence
from ingot.fallback.recovery import RUNNER, no_recovery
from ingot.options import Options
from ingot.plan.ir import (
    NOWHERE,
    Allocate,
    Branch,
    Buffer,
    Check,
    Define,
    Eager,
    EagerControlFlow,
    Fold,
    Free,
    Kind,
    Op,
    Plan,
    Return,
    Segment,
    walk,
)
from ingot.plan.prepared import Prepared
from ingot.plan.recipes import prepared_by
from ingot.plan.resources import Resources
from ingot.runtime.arena_layout import ArenaLayout
from ingot.runtime.bounds import SHIFT, Extents, with_checks
from ingot.runtime.checked import CheckedLaunch
from ingot.runtime.control import eager_control_flow
from ingot.runtime.expressions import ExpressionWriter
from ingot.runtime.input_uses import eager_inputs, written_inputs
from ingot.runtime.launch import Base, Bound, Unbound, Use
from ingot.runtime.launch import SegmentLauncher as Binding
from ingot.runtime.lowering import FIRST_BASE, Bases, Lowering
from ingot.runtime.memory import LARGE, empty_kept, empty_large, extent
from ingot.runtime.outcome import broken, failed
from ingot.runtime.presence import Look
from ingot.runtime.table import AnyStep, NativeSegment
from ingot.runtime.workspace import LARGE as LARGE_ARENA
from ingot.runtime.workspace import borrow, borrow_any, give_back, give_back_any

Run = Callable[[list[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Runner:
    run: Run
    source: str
    prepared: tuple[Prepared, ...]
    """Values that are computed from weights and cached."""
    segments: tuple[NativeSegment, ...]
    seconds: dict[int, list[float]] = field(default_factory=dict)
    """Time of each step of each version, if steps are timed."""


def emit(plan: Plan, resources: Resources, options: Options) -> Runner:
    glue = _Glue(plan, resources, options)
    source = glue.source()
    scope = glue.scope
    scope["recover"], scope["first_write"] = no_recovery, glue.first_write
    exec(compile(source, RUNNER, "exec"), scope)
    # Removed from its own scope: in a cycle, code and weights would wait for the garbage collector.
    run = scope.pop("run")
    return Runner(run, source, tuple(glue.prepared), tuple(glue.segments), glue.seconds)


class _Glue(ExpressionWriter):
    def __init__(self, plan: Plan, resources: Resources, options: Options):
        super().__init__(plan, resources)
        self.options = options
        self.lines: list[str] = []
        """Of the body of the function, inside its `try` statement."""
        self.first_write = 0
        """The first line of the source that may do anything which must not be done twice: write to
        an input, sample random numbers. The last line of the body if there is none."""
        self._writes: int | None = None
        """The same as an index of `lines`."""
        self.indent = ""
        self.prepared: list[Prepared] = []
        self.segments: list[NativeSegment] = []
        self.seconds: dict[int, list[float]] = {}
        self.scope |= {
            "empty_strided": _empty_strided_cpu, "empty_large": empty_large,
            "empty_kept": empty_kept, "failed": failed, "broken": broken, "borrow": borrow,
            "borrow_any": borrow_any, "give_back": give_back, "give_back_any": give_back_any,
        }  # fmt: skip
        self.scope["entries"] = resources.kernels  # keeps the code alive that tables point to
        self._arena = ArenaLayout(plan)
        self._bases = Bases()
        self._recipes = {recipe.buffer: recipe for recipe in plan.recipes}
        self._made: dict[str, Prepared] = {}
        parameters = {k.name: [p.name for p in k.parameters] for k in plan.kernels}
        self._lowering = Lowering(self.buffers, parameters, resources, self._bases)
        self._written = written_inputs(plan, self.buffers)

    # -- text --------------------------------------------------------------------------------------

    def add(self, line: str, writes: bool = False) -> None:
        if writes and self._writes is None:
            self._writes = len(self.lines)
        self.lines.append(self.indent + line)

    def insert(self, start: int, lines: list[str]) -> None:
        self.lines[start:start] = lines
        if self._writes is not None and self._writes >= start:
            self._writes += len(lines)

    def source(self) -> str:
        names = [self._variables[name] for name in self.plan.inputs]
        if names:
            self.add(f"{', '.join(names)}, = inputs")
            self.add("inputs.clear()")
        ops = self.plan.ops
        head = next((k for k, op in enumerate(ops) if not isinstance(op, Define | Fold | Free)), 0)
        self._ops(ops[:head])
        self._look_at_inputs()
        start = len(self.lines)
        if self.options.profile:
            self.scope["clock"] = time.perf_counter
        self._borrows = any(isinstance(op, Segment) for op in walk(ops))
        self._any_size = bool(self._arena.symbols()) or self._arena.bound(())[1] > LARGE_ARENA
        self._ops(ops[head:])
        if self._borrows:
            self.insert(start, self._borrowed())
        return self._function()

    def _function(self) -> str:
        """The body inside a `try` statement: a failure may be recovered from before a write."""
        head = ["def run(inputs):", "    try:"]
        last = len(self.lines) - 1 if self._writes is None else self._writes
        self.first_write = len(head) + 1 + last
        return "\n".join([
            *head,
            *(f"        {line}" for line in self.lines),
            "    except Exception as failure:",
            "        recovered = recover(failure, locals(), first_write)",
            "        if recovered is None: raise",
            "        return recovered",
        ])  # fmt: skip

    def _ops(self, ops: Sequence[Op]) -> None:
        for op in ops:
            step = _step_of(op) if self.options.profile else NOWHERE
            if step == NOWHERE:
                self._op(op)
                continue
            version, number = step
            self.add("start = clock()")
            self._op(op)
            seconds = self._seconds(version, number)
            self.add(f"{seconds}[{number}] += clock() - start")

    def _seconds(self, version: int, number: int) -> str:
        name = f"seconds{version}"
        found = self.seconds.setdefault(version, [])
        found += [0.0] * (number + 1 - len(found))
        self.scope[name] = found
        return name

    def _op(self, op: Op) -> None:
        match op:
            case Segment():
                self._segment(op)
            case Eager():
                self._eager(op)
            case Allocate():
                self._allocate(self.buffers[op.buffer])
            case Free():
                self.add(f"del {', '.join(map(self.variable, op.buffers))}")
            case Define():
                self._define(op)
            case Fold():
                self._fold(op)
            case Check():
                self.add(f"if not {self.argument(op.condition)}: broken({op.message!r})")
            case Branch():
                self._branch(op)
            case EagerControlFlow():
                self._eager_control_flow(op)
            case Return():
                if self._borrows:
                    self.add(f"{'give_back_any' if self._any_size else 'give_back'}(workspace)")
                self.add(f"return [{', '.join(map(self.argument, op.values))}]")
            case _:
                raise AssertionError(f"Python runs no {type(op).__name__}")

    def _borrowed(self) -> list[str]:
        count = len(self._bases.numbers) + FIRST_BASE + (SHIFT if self.options.checks else 0)
        kind = "borrow_any" if self._any_size else "borrow"
        if not self._arena.symbols():
            return [f"workspace = {kind}({self._arena.bound(())[1]}, {count})"]
        bound = self.capture("arena", self._arena.bound)
        return [
            f"sizes = {self.sizes(self._arena.symbols())}",
            f"workspace = {kind}({bound}(sizes)[1], {count})",
        ]

    def _define(self, op: Define) -> None:
        symbol = next(s for s in self.plan.symbols if s.name == op.symbol)
        queries = {
            "size": f".size({op.dim})", "stride": f".stride({op.dim})",
            "offset": ".storage_offset()", "value": "",
        }  # fmt: skip
        text = f"{self.variable(op.buffer)}{queries[op.query]}"
        self.add(f"{self._symbols[symbol.expr]} = {text}")

    def _fold(self, op: Fold) -> None:
        recipe = self._recipes[op.buffer]
        made = self._prepared(op.buffer)
        sources = ", ".join(map(self.variable, recipe.sources))
        self.add(f"{self.variable(op.buffer)} = {self.capture('folded', made)}.tensor({sources})")

    def _prepared(self, name: str) -> Prepared:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = prepared_by(self._recipes[name], self.resources)
            self.prepared.append(made)
        return made

    def _eager(self, op: Eager) -> None:
        arguments = list(map(self.argument, op.call.args))
        arguments += [f"{k}={self.argument(v)}" for k, v in op.call.kwargs]
        text = f"{self.target(op.call.target)}({', '.join(arguments)})"
        if op.call.target.endswith("operator.getitem"):
            text = f"{arguments[0]}[{arguments[1]}]"
        rerun = op.pure and not op.writes
        result = f"{self.variable(op.call.result)} = " if op.call.result else ""
        self.add(f"{result}{text}", writes=not rerun)

    def _allocate(self, buffer: Buffer) -> None:
        shape, strides = self.sizes(buffer.shape), self.sizes(buffer.strides)
        dtype = self.capture("dtype", buffer.dtype)
        head = self._allocator(buffer)
        self.add(f"{self.variable(buffer.name)} = {head}{shape}, {strides}, {dtype})")

    def _allocator(self, buffer: Buffer) -> str:
        """The beginning of the allocation call."""
        assert buffer.dtype is not None
        if not all(isinstance(number, int) for number in (*buffer.shape, *buffer.strides)):
            return "empty_large("
        size = extent(buffer.shape, buffer.strides) * buffer.dtype.itemsize
        return "empty_strided(" if size < LARGE else f"empty_kept({size}, "

    def _branch(self, op: Branch) -> None:
        """A branch between versions, each of which returns."""
        self.add(f"if {self._printer.doprint(op.condition)}:")
        outer, self.indent = self.indent, self.indent + "    "
        with self._bases.block():
            self._ops(op.then)
        self.indent = outer
        self._ops(op.otherwise)

    def _eager_control_flow(self, op: EagerControlFlow) -> None:
        runs = []
        for body in op.bodies:
            runner = emit(body, self.resources, self.options)
            self.prepared += runner.prepared
            runs.append(runner.run)
        function = self.capture("control", eager_control_flow(op.kind, op.carried, op.sliced, runs))
        predicate, operands = self.argument(op.predicate), self.argument(op.operands)
        self.add(f"{self.variable(op.result)} = {function}({predicate}, {operands})", writes=True)

    # -- segments ----------------------------------------------------------------------------------

    def _segment(self, op: Segment) -> None:
        steps = self._lowering.steps(op.ops)
        unset = self._bases.first_used()
        bases = [(self._bases.numbers[name], self._base(name)) for name in unset]
        make = CheckedLaunch if self.options.checks else Binding
        binding = make(bases)
        segment = NativeSegment(self._arena, self._checked(steps), op.requires)
        self.segments.append(segment)
        symbols = segment.symbols()
        address = "table.address"
        if symbols or self._arena.symbols():
            sizes = "sizes" if self._arena.symbols() else "()"
            table = self.capture("table", segment.table)
            self.add(f"table = {table}({sizes}, {self.sizes(symbols)})")
        else:
            self.scope["held"] = self.segments
            address = self.capture("table", segment.table((), ()).address)
        given = ", ".join(["workspace.address", address, *binding.weights, *binding.tensors])
        slow = self.capture("launch", binding)
        writes = bool(self._written)
        if binding.quick is None:
            self.add(f"error = {slow}({given})", writes)
        else:
            # UNUSUAL: nothing was run.
            self.add(f"error = {self.capture('quick', binding.quick)}({given})")
            self.add(f"if error == {UNUSUAL}: error = {slow}({given})", writes)
        self.add(f"if error: failed(error, {self.capture('steps', steps)})")

    def _checked(self, steps: list[AnyStep]) -> list[AnyStep]:
        if not self.options.checks:
            return steps
        owners = {number: self.buffers[name] for name, number in self._bases.numbers.items()}
        return with_checks(steps, Extents(self._arena.sizes, owners))

    def _base(self, name: str) -> Base:
        buffer = self.buffers[name]
        if buffer.kind is Kind.CURSOR:
            return Unbound()
        if buffer.kind is Kind.PACKED:
            sources = self._recipes[name].sources
            return Use(self._prepared(name), [self.variable(source) for source in sources])
        variable = self.variable(name)
        if name in self._written:
            self.add(f"{variable}.data_ptr()")  # materialises copy-on-write memory
        size = buffer.nbytes
        assert buffer.dtype is not None
        known = size if isinstance(size, int) else 0
        written = name in self._written
        return Bound(variable, buffer.dtype.itemsize, known, written, name, dtype=buffer.dtype)

    def _look_at_inputs(self) -> None:
        """PyTorch's own kernels would follow a null pointer: the inputs of eager ops are checked
        once, before anything runs. Segments check the tensors that they bind."""
        read = eager_inputs(self.plan, self.buffers)
        names = [name for name in self.plan.inputs if name in read]
        if not names:
            return
        rows = array("q")
        for name in names:
            size, dtype = self.buffers[name].nbytes, self.buffers[name].dtype
            assert dtype is not None
            rows.extend((dtype.itemsize, size if isinstance(size, int) else 0))
        self.capture("rows", rows)
        present, given = presence(rows), ", ".join(map(self.variable, names))
        look = self.capture("look", Look(names))
        if present is None:
            self.add(f"{look}({given})")
        else:
            self.add(f"if {self.capture('present', present)}({given}): {look}({given})")


def _step_of(op: Op) -> tuple[int, int]:
    if isinstance(op, Segment):
        return next((s for inner in walk(op.ops) if (s := _step_of(inner)) != NOWHERE), NOWHERE)
    return getattr(op, "step", NOWHERE)
