"""The text form of plans. `parse(plan.as_text()) == plan` for every plan.

    plan(%x, %w) {
      symbol s0: 2..1024 {integer, positive}
      input %x: f32[s0, 64]
      input %w: f32[64, 64](1, 64)
      packed %w_packed: f32[4096]
      result %y: f32[s0, 64]
      kernel @matmul: matmul #3f2a (a: r f32, b: r f32, out: w f32, rows)
      recipe %w_packed of (%w) {
        results %0
        packing packed_weight{dtype=torch.float32}
      }

      define s0 = size(%x, 0)
      allocate %y
      launch @matmul(%x, %w_packed, %y, s0) threads(s0) step 0:3 {
        computes {
          %a = %x:f32[s0, 64]
          %b = %w:f32[64, 64](1, 64)
          %c = aten.mm.default(%a, %b)
          %c -> %y:f32[s0, 64]
        }
      }
      return %y
    }

Offsets and `by` count bytes, shapes and strides elements; strides are left out where the shape is
contiguous. Text from `;` to the end of a line is a comment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ingot.errors import PlanTextError
from ingot.plan.attributes import register
from ingot.plan.ir import (
    Allocate,
    AtMost,
    Branch,
    Buffer,
    Carried,
    Check,
    Computation,
    Define,
    Eager,
    EagerControlFlow,
    Fold,
    Free,
    Kernel,
    Launch,
    Loop,
    Op,
    Operand,
    Parallel,
    Parameter,
    Plan,
    Pointer,
    Recipe,
    Require,
    Requirement,
    Return,
    Segment,
    Sliced,
    Symbol,
)
from ingot.plan.parser import parse
from ingot.plan.values import (
    NAME,
    NOTHING,
    argument_text,
    attributes_text,
    buffer_name,
    call_text,
    dtype_name,
    kernel_name,
    names_text,
    open_size_text,
    operand_text,
    place_text,
    pointer_text,
    quoted,
    requirement_text,
    size_text,
    step_text,
    symbolic_text,
    type_text,
    value_text,
    word,
)

__all__ = ["Line", "PlanTextError", "parse", "plan_lines", "plan_to_text", "register"]


@dataclass(frozen=True)
class Line:
    depth: int
    text: str
    subject: Any = None
    """The position of the op that begins on this line, or the name of the declared record, prefixed
    with %, @ or nothing."""


def plan_to_text(plan: Plan, lenient: bool = False) -> str:
    lines = plan_lines(plan, lenient=lenient)
    return "".join(f"{'  ' * line.depth}{line.text}".rstrip() + "\n" for line in lines)


def plan_lines(plan: Plan, depth: int = 0, lenient: bool = False) -> Iterator[Line]:
    """With `lenient`, a malformed record is shown as Python shows it; the text cannot be parsed."""
    printed = _lenient if lenient else _strict
    yield from printed(lambda: [_head(plan, depth)], depth, plan.inputs, None)
    for record, subject, lines in _declarations(plan):
        for line in printed(lines, 0, record, subject):
            yield Line(depth + 1 + line.depth, line.text, line.subject)
    if plan.ops and (plan.symbols or plan.buffers or plan.kernels or plan.recipes):
        yield Line(0, "")
    yield from _Ops(printed).block(plan.ops, depth + 1)
    yield Line(depth, "}")


Lines = Callable[[], Iterable[Line]]
Printed = Callable[[Lines, int, Any, Any], Iterable[Line]]


def _strict(lines: Lines, depth: int, record: Any, subject: Any) -> Iterable[Line]:
    return lines()


def _lenient(lines: Lines, depth: int, record: Any, subject: Any) -> Iterable[Line]:
    try:
        return list(lines())
    except Exception:
        return [Line(depth, f"{record!r:.200}", subject)]


def _head(plan: Plan, depth: int) -> Line:
    return Line(depth, f"plan({', '.join(map(buffer_name, plan.inputs))}) {{")


# -- declarations ----------------------------------------------------------------------------------


def _declarations(plan: Plan) -> Iterator[tuple[Any, str, Lines]]:
    """Each record, its subject and its lines."""
    for symbol in plan.symbols:
        yield symbol, symbol.name, partial(_line, _symbol, symbol, symbol.name)
    for buffer in plan.buffers:
        yield buffer, f"%{buffer.name}", partial(_line, _buffer, buffer, f"%{buffer.name}")
    for kernel in plan.kernels:
        yield kernel, f"@{kernel.name}", partial(_line, _kernel, kernel, f"@{kernel.name}")
    for recipe in plan.recipes:
        yield recipe, f"recipe %{recipe.buffer}", partial(_recipe, recipe)


def _line(text: Callable[[Any], str], record: Any, subject: str) -> list[Line]:
    return [Line(0, text(record), subject)]


def _symbol(symbol: Symbol) -> str:
    upper = "" if symbol.upper is None else symbol.upper
    text = f"symbol {word(symbol.name)}: {symbol.lower}..{upper}"
    return f"{text} {{{', '.join(map(word, symbol.assumptions))}}}" if symbol.assumptions else text


def _buffer(buffer: Buffer) -> str:
    text = f"{buffer.kind.value} {buffer_name(buffer.name)}"
    if buffer.dtype is not None or buffer.shape or buffer.strides:
        text += f": {type_text(buffer.dtype, buffer.shape, buffer.strides)}"
    if buffer.alias is not None:
        text += f" of {buffer_name(buffer.alias)}"
    if buffer.lifetime is not None:
        text += f" live {buffer.lifetime[0]}..{buffer.lifetime[1]}"
    return text if buffer.offset is None else f"{text} at {buffer.offset}"


def _kernel(kernel: Kernel) -> str:
    digest = kernel.digest if NAME.fullmatch(kernel.digest) else quoted(kernel.digest)
    given = ", ".join(map(_parameter, kernel.parameters))
    return f"kernel {kernel_name(kernel.name)}: {word(kernel.family)} #{digest} ({given})"


def _parameter(parameter: Parameter) -> str:
    mark = "?" if parameter.optional else ""
    if not parameter.access and parameter.dtype is None:
        return f"{word(parameter.name)}{mark}"
    access = word(parameter.access) if parameter.access else "number"
    dtype = "" if parameter.dtype is None else f" {dtype_name(parameter.dtype)}"
    return f"{word(parameter.name)}: {access}{dtype}{mark}"


def _recipe(recipe: Recipe) -> Iterator[Line]:
    sources = ", ".join(map(buffer_name, recipe.sources))
    name = buffer_name(recipe.buffer)
    yield Line(0, f"recipe {name} of ({sources}) {{", f"recipe %{recipe.buffer}")
    yield from (Line(1, call_text(call)) for call in recipe.calls)
    yield Line(1, f"results {names_text(recipe.results)}")
    if recipe.packing is not None:
        yield Line(1, f"packing {attributes_text(recipe.packing)}")
    yield Line(0, "}")


# -- ops -------------------------------------------------------------------------------------------


class _Ops:
    """Lines of ops, numbered by position."""

    def __init__(self, printed: Printed) -> None:
        self._printed = printed
        self._next = 0

    def block(self, ops: tuple[Op, ...], depth: int) -> Iterator[Line]:
        for op in ops:
            position, self._next = self._next, self._next + 1
            first, *more = self._printed(partial(self._op, op, depth), depth, op, position)
            yield Line(first.depth, first.text, position)
            yield from more

    def _op(self, op: Op, depth: int) -> Iterator[Line]:
        match op:
            case Launch():
                yield from _launch(op, depth)
            case Parallel():
                yield Line(depth, f"parallel threads({open_size_text(op.threads)}) {{")
                yield from self.block(op.launches, depth + 1)
                yield Line(depth, "}")
            case Segment():
                yield Line(depth, "segment {")
                yield from _requirements(op.requires, depth + 1)
                yield from self.block(op.ops, depth + 1)
                yield Line(depth, "}")
            case Require():
                yield Line(depth, "require {")
                yield from _requirements(op.requirements, depth + 1)
                yield Line(depth, "}")
            case Branch():
                yield from self._branch(op, depth)
            case Loop():
                yield from self._loop(op, depth)
            case EagerControlFlow():
                yield from _eager_control_flow(op, depth, self._printed is _lenient)
            case _:
                yield Line(depth, _short(op))

    def _branch(self, op: Branch, depth: int) -> Iterator[Line]:
        yield Line(depth, f"if {_condition(op.condition)}{step_text(op.step)} {{")
        yield from self.block(op.then, depth + 1)
        if op.otherwise:
            yield Line(depth, "} else {")
            yield from self.block(op.otherwise, depth + 1)
        yield Line(depth, "}")

    def _loop(self, op: Loop, depth: int) -> Iterator[Line]:
        count = "" if op.count is None else f" count({open_size_text(op.count)})"
        flag = "" if op.flag is None else f" while {pointer_text(op.flag)}"
        yield Line(depth, f"loop{count}{flag}{step_text(op.step)} {{")
        yield from (Line(depth + 1, _carried(each)) for each in op.carried)
        yield from (Line(depth + 1, _sliced(each)) for each in op.sliced)
        if op.test:
            yield Line(depth + 1, "test {")
            yield from self.block(op.test, depth + 2)
            yield Line(depth + 1, "}")
        yield Line(depth + 1, "body {")
        yield from self.block(op.body, depth + 2)
        yield Line(depth + 1, "}")
        yield Line(depth, "}")


def _short(op: Op) -> str:
    match op:
        case Eager():
            writes = f" writes({', '.join(map(buffer_name, op.writes))})" if op.writes else ""
            pure = "" if op.pure else " impure"
            return f"{call_text(op.call)}{writes}{pure}{step_text(op.step)}"
        case Define():
            query = f"{word(op.query)}({buffer_name(op.buffer)}, {op.dim})"
            return f"define {word(op.symbol)} = {query}"
        case Allocate():
            return f"allocate {buffer_name(op.buffer)}"
        case Fold():
            return f"fold {buffer_name(op.buffer)}"
        case Check():
            return f"check {value_text(op.condition)}, {quoted(op.message)}{step_text(op.step)}"
        case Free():
            return f"free {names_text(op.buffers)}"
        case Return():
            return f"return {', '.join(map(value_text, op.values)) or NOTHING}"
    raise TypeError(f"{type(op).__name__} is not an op of a plan")


def _launch(op: Launch, depth: int) -> Iterator[Line]:
    text = f"launch {kernel_name(op.kernel)}({', '.join(map(argument_text, op.arguments))})"
    if op.threads is not None:
        text += f" threads({open_size_text(op.threads)})"
    text += step_text(op.step)
    if op.covers:
        text += f" covers({', '.join(f'{a}:{b}' for a, b in op.covers)})"
    inner = [*_computes(op.computes)]
    if op.attributes is not None:
        inner.append(Line(0, f"attributes {attributes_text(op.attributes)}"))
    inner += [Line(0, f"fault {word(kind)} {place_text(place)}") for kind, place in op.faults]
    yield Line(depth, f"{text} {{" if inner else text)
    if inner:
        yield from (Line(depth + 1 + line.depth, line.text) for line in inner)
        yield Line(depth, "}")


def _requirements(required: tuple[Requirement, ...], depth: int) -> Iterator[Line]:
    yield from (Line(depth, requirement_text(each)) for each in required)


def _computes(computes: Computation) -> Iterator[Line]:
    if not (computes.inputs or computes.calls or computes.outputs):
        return
    yield Line(0, "computes {")
    for name, source in computes.inputs:
        text = operand_text(source) if isinstance(source, Operand) else buffer_name(source.name)
        yield Line(1, f"{buffer_name(name)} = {text}")
    yield from (Line(1, call_text(call)) for call in computes.calls)
    for name, target in computes.outputs:
        yield Line(1, f"{buffer_name(name)} -> {operand_text(target)}")
    yield Line(0, "}")


def _condition(condition: Any) -> str:
    if isinstance(condition, AtMost):
        return f"{size_text(condition.left)} <= {size_text(condition.right)}"
    if isinstance(condition, Pointer):
        return pointer_text(condition)
    return symbolic_text(condition)


def _carried(carried: Carried) -> str:
    old, new = buffer_name(carried.old), buffer_name(carried.new)
    memory = f"{buffer_name(carried.memory[0])}, {buffer_name(carried.memory[1])}"
    text = f"carry {old}, {new} = {operand_text(carried.start)} in {memory}"
    return text if carried.result is None else f"{text} -> {operand_text(carried.result)}"


def _sliced(sliced: Sliced) -> str:
    memory, stride = pointer_text(sliced.memory), size_text(sliced.stride)
    return f"slice {buffer_name(sliced.cursor)} = {memory} by {stride} {word(sliced.access)}"


def _eager_control_flow(op: EagerControlFlow, depth: int, lenient: bool) -> Iterator[Line]:
    result = f"{buffer_name(op.result)} = " if op.result else ""
    given = f"{value_text(op.predicate)}, {value_text(op.operands)}"
    counts = f"carried({op.carried}) sliced({op.sliced}){step_text(op.step)}"
    yield Line(depth, f"{result}control {word(op.kind)}({given}) {counts} {{")
    for body in op.bodies:
        for line in plan_lines(body, depth + 1, lenient):
            yield Line(line.depth, line.text)
    yield Line(depth, "}")
