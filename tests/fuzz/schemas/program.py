"""A program: inputs, a list of statements in SSA form, the returned names. It prints as a plain
Python function; every mode runs that text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from .inputs import Input, fill, fill_source
from .training import differentiated

Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Ref:
    """An earlier value."""

    name: str


@dataclass(frozen=True)
class SizeOf:
    """A size of an earlier value, as an expression in the program."""

    name: str
    dim: int
    factor: int = 1
    shift: int = 0


@dataclass(frozen=True)
class Raw:
    """An expression without operands."""

    text: str


class Index(tuple[Any, ...]):
    """Several indices, printed without brackets."""


Argument = Any
"""Ref, SizeOf, Raw, a tuple of arguments, or a literal (number, string, dtype, None, slice)."""


@dataclass(frozen=True)
class Statement:
    """`outputs = target(args)`, in one of several spellings."""

    outputs: tuple[str, ...]
    target: str
    """`torch.add`, `.add_` (method), `+` (operator), `[]`, `[]=`, `cond`, `while_loop`."""
    args: tuple[Argument, ...] = ()
    kwargs: tuple[tuple[str, Argument], ...] = ()
    op: str = ""
    """The overload that the statement was drawn from."""
    bodies: tuple[Statement, ...] = ()
    """Bodies of control flow: one statement each, over the parameter `p`."""
    unpacks: bool = False
    """The result is a sequence whose elements are bound to `outputs`."""

    def text(self) -> str:
        called = self._call()
        if self.target == "[]=":
            return called
        if self.unpacks:
            return f"{', '.join(self.outputs)}{',' if len(self.outputs) == 1 else ''} = {called}"
        return f"{self.outputs[0]} = {called}" if self.outputs else called

    def _call(self) -> str:
        texts = [show(argument) for argument in self.args]
        if self.target == "[]":
            return f"{texts[0]}[{texts[1]}]"
        if self.target == "[]=":
            return f"{texts[0]}[{texts[1]}] = {texts[2]}"
        if self.target == "cond":
            yes, no = (f"lambda p: {body._call()}" for body in self.bodies)
            return f"torch.cond({texts[0]}, {yes}, {no}, ({texts[1]},))"
        if self.target == "while_loop":
            body = self.bodies[0]._call()
            return (
                f"torch.while_loop(lambda i, p: i < {texts[1]}, "
                f"lambda i, p: (i + 1, {body}), (torch.tensor(0), {texts[0]}))"
            )
        if not self.target[0].isalpha() and self.target[0] != ".":
            return f"{texts[0]} {self.target} {texts[1]}" if len(texts) > 1 else (
                f"{self.target}{texts[0]}"
            )  # fmt: skip
        named = [f"{name}={show(value)}" for name, value in self.kwargs]
        if self.target[0] == ".":
            return f"{texts[0]}{self.target}({', '.join([*texts[1:], *named])})"
        return f"{self.target}({', '.join([*texts, *named])})"

    def references(self) -> Iterator[str]:
        """Names of the values that the statement reads or writes."""
        yield from references_of((self.args, tuple(value for _, value in self.kwargs)))
        for body in self.bodies:
            yield from (name for name in body.references() if name not in ("p", "i"))


def references_of(argument: Argument) -> Iterator[str]:
    if isinstance(argument, Ref | SizeOf):
        yield argument.name
    elif isinstance(argument, tuple | list):
        for each in argument:
            yield from references_of(each)


def show(argument: Argument) -> str:
    """An argument as source text."""
    match argument:
        case Ref(name):
            return name
        case Raw(text):
            return text
        case SizeOf(name, dim, factor, shift):
            text = f"{name}.shape[{dim}]"
            text = f"{factor} * {text}" if factor != 1 else text
            return f"{text} + {shift}" if shift else text
        case Index():
            return ", ".join(map(show, argument))
        case tuple() | list():
            return f"[{', '.join(map(show, argument))}]"
        case slice():
            return f"slice({show(argument.start)}, {show(argument.stop)}, {show(argument.step)})"
        case float() if argument != argument or argument in (float("inf"), float("-inf")):
            return f'float("{argument}")'
        case complex():
            return f"complex({show(argument.real)}, {show(argument.imag)})"
    return repr(argument)


@dataclass(frozen=True)
class Program:
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    returned: tuple[str, ...]
    sizes: tuple[Sizes, ...] = ((),)
    """Sizes of the first, second and third call."""
    grad: bool = False
    step: bool = False
    """The results are those of a training step: the loss and the gradients."""

    def function_text(self) -> str:
        lines = [f"def program({', '.join(each.name for each in self.inputs)}):"]
        lines += [f"    {statement.text()}" for statement in self.statements]
        return "\n".join([*lines, f"    return ({', '.join(self.returned)},)"])

    def inputs_text(self) -> str:
        names = [f"{name}={size}" for name, size in self.sizes[0]]
        lines = [f"def inputs({', '.join(['values=0', *names])}):"]
        lines += [f"    {each.name} = {each.text()}" for each in self.inputs]
        return "\n".join([*lines, f"    return [{', '.join(each.name for each in self.inputs)}]"])

    def function(self, **names: Any) -> Callable[..., Any]:
        return self.called(_define(self.function_text(), "program", names))

    def called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What a call observes of a function that computes the program's results."""
        return differentiated(function) if self.step else function

    def make_inputs(self, call: int = 0, fill: Callable[..., Any] = fill) -> list[Any]:
        """Fresh inputs of a call, with values that differ between calls."""
        make = _define(self.inputs_text(), "inputs", {"fill": fill})
        return make(values=100 * call, **dict(self.sizes[min(call, len(self.sizes) - 1)]))

    def without(self, **changes: Any) -> Program:
        return replace(self, **changes)

    def ops(self) -> set[str]:
        bodies = [body for statement in self.statements for body in statement.bodies]
        return {each.op for each in (*self.statements, *bodies) if each.op}

    def preamble(self) -> str:
        return (
            f"import torch\n\n\n{fill_source()}\n\n{self.function_text()}\n\n\n{self.inputs_text()}"
        )


def _define(text: str, name: str, names: dict[str, Any]) -> Callable[..., Any]:
    scope: dict[str, Any] = {"torch": torch, **names}
    # Dynamo and export read the source of traced functions: register it for `inspect`.
    import linecache

    file = f"<fuzz {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)
    return scope[name]
