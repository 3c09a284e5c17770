"""Delta debugging: the smallest program that still shows a finding of the same class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .check import Finding
from .inputs import Input
from .program import Program, Raw, Ref, SizeOf, Statement
from .workers import Died, Worker

Test = Callable[[Program], bool]


def minimise(
    program: Program,
    mode: str,
    wanted: str,
    worker: Worker,
    options: Mapping[str, Any],
    budget: int,
    shared: bool = False,
) -> tuple[Program, Finding | None, str]:
    """Shrink the program while its class stays the same; at most `budget` trials. `shared` says
    whether the control differs too.

    Returns it with its finding, or with the text of the worker's death.
    """
    last: list[Any] = [None, ""]

    def shows(candidate: Program) -> bool:
        try:
            finding = worker.run("program", candidate, mode, options)
        except Died as death:
            if wanted != "dies" or str(death).split(": ", 1)[-1].startswith("eager"):
                return False
            last[:] = [None, str(death)]
            return True
        except RuntimeError:
            return False
        if finding is None or finding.upstream != shared or kind_of(finding) != wanted:
            return False
        last[:] = [finding, ""]
        return True

    if not shows(program):
        return program, None, "not seen again"
    best, kept = program, list(last)
    trials, changed = 0, True
    while changed and trials < budget:
        changed = False
        for candidate in smaller(best):
            if trials >= budget:
                break
            trials += 1
            if shows(candidate):
                best, kept, changed = candidate, list(last), True
                break
    return best, kept[0], kept[1]


def kind_of(finding: Finding) -> str:
    """The property preserved while shrinking: the kind, and for an error also its headline."""
    first = finding.differences[0]
    return finding.signature if first.kind == "raises" else first.label


def smaller(program: Program) -> Iterator[Program]:
    """Simpler programs, the largest reductions first."""
    yield from without_statements(program)
    yield from without_results(program)
    if len(set(program.sizes)) > 1:
        yield replace(program, sizes=(program.sizes[0],))
    yield from without_inputs(program)
    yield from simpler_inputs(program)
    yield from simpler_statements(program)
    yield from smaller_sizes(program)
    if program.grad:
        plain = tuple(replace(each, grad=False) for each in program.inputs)
        yield replace(program, grad=False, inputs=plain)


def without_statements(program: Program) -> Iterator[Program]:
    for index in reversed(range(len(program.statements))):
        statement = program.statements[index]
        rest = (*program.statements[:index], *program.statements[index + 1 :])
        used = {name for each in rest for name in each.references()}
        if used & set(statement.outputs):
            yield from replaced_by_operand(program, index)
            continue
        returned = tuple(name for name in program.returned if name not in statement.outputs)
        names = [name for each in rest for name in each.outputs]
        returned = returned or tuple(names[-1:]) or (program.inputs[0].name,)
        yield replace(program, statements=rest, returned=returned)


def replaced_by_operand(program: Program, index: int) -> Iterator[Program]:
    """The statement's first operand in place of its result."""
    statement = program.statements[index]
    operands = list(statement.references())
    if len(statement.outputs) != 1 or not operands:
        return
    old, new = statement.outputs[0], operands[0]
    rest = tuple(
        substituted(each, old, new)
        for place, each in enumerate(program.statements)
        if place != index
    )
    returned = tuple(new if name == old else name for name in program.returned)
    yield replace(program, statements=rest, returned=returned)


def substituted(statement: Statement, old: str, new: str) -> Statement:
    def change(argument: Any) -> Any:
        if isinstance(argument, Ref) and argument.name == old:
            return Ref(new)
        if isinstance(argument, SizeOf) and argument.name == old:
            return replace(argument, name=new)
        if isinstance(argument, tuple):
            return type(argument)(change(each) for each in argument)
        return argument

    kwargs = tuple((name, change(value)) for name, value in statement.kwargs)
    return replace(statement, args=change(statement.args), kwargs=kwargs)


def without_results(program: Program) -> Iterator[Program]:
    if len(program.returned) > 1:
        for name in program.returned:
            yield replace(program, returned=(name,))
        for index in range(len(program.returned)):
            rest = (*program.returned[:index], *program.returned[index + 1 :])
            yield replace(program, returned=rest)


def without_inputs(program: Program) -> Iterator[Program]:
    used = {name for each in program.statements for name in each.references()}
    used |= set(program.returned) | {each.alias_of for each in program.inputs}
    rest = tuple(each for each in program.inputs if each.name in used)
    if len(rest) < len(program.inputs):
        yield replace(program, inputs=rest)


def simpler_inputs(program: Program) -> Iterator[Program]:
    for index, each in enumerate(program.inputs):
        for changed in simpler_input(each):
            yield replace(
                program, inputs=(*program.inputs[:index], changed, *program.inputs[index + 1 :])
            )


def simpler_input(each: Input) -> Iterator[Input]:
    if not each.is_tensor or each.alias_of:
        return
    if each.layout != "contiguous":
        yield replace(each, layout="contiguous")
    if each.kind != "normal":
        yield replace(each, kind="normal")
    if each.dtype not in ("float32", "int64"):
        yield replace(each, dtype="float32")
    if each.shape and not any(isinstance(size, str) for size in each.shape):
        yield replace(each, shape=each.shape[1:])
    if each.grad:
        yield replace(each, grad=False)
    if each.seed:
        yield replace(each, seed=0)


def simpler_statements(program: Program) -> Iterator[Program]:
    for index, statement in enumerate(program.statements):
        for changed in simpler_statement(statement):
            rest = list(program.statements)
            rest[index] = changed
            yield replace(program, statements=tuple(rest))


def simpler_statement(statement: Statement) -> Iterator[Statement]:
    for index in range(len(statement.kwargs)):
        kept = (*statement.kwargs[:index], *statement.kwargs[index + 1 :])
        yield replace(statement, kwargs=kept)
    for index, argument in enumerate(statement.args):
        for simple in simpler_argument(argument):
            args = (*statement.args[:index], simple, *statement.args[index + 1 :])
            yield replace(statement, args=args)


def simpler_argument(argument: Any) -> Iterator[Any]:
    if isinstance(argument, SizeOf) and (argument.factor, argument.shift) != (1, 0):
        yield SizeOf(argument.name, argument.dim)
    if isinstance(argument, int | float) and argument not in (0, 1):
        yield type(argument)(1)
    if isinstance(argument, tuple) and len(argument) > 1 and not isinstance(argument[0], Raw):
        yield type(argument)(argument[:-1])


def smaller_sizes(program: Program) -> Iterator[Program]:
    for call, sizes in enumerate(program.sizes):
        for index, (name, size) in enumerate(sizes):
            used = any(name in each.shape for each in program.inputs)
            for less in (1, 2) if used else ():
                if size > less:
                    changed = (*sizes[:index], (name, less), *sizes[index + 1 :])
                    calls = (*program.sizes[:call], changed, *program.sizes[call + 1 :])
                    yield replace(program, sizes=calls)
