"""Defines functions that the text of a module only declares after the pipelines: bodies in the
dialect's ops that make tensors of computed sizes (`dynamic_sizes.py`), and the user's MLIR text for
an op.
"""

from __future__ import annotations

import re

from torch.fx import Node

from ingot.emit.body_writer import BodyWriter, split_types
from ingot.emit.declared_calls import BODY, CALL, Text
from ingot.emit.dynamic_sizes import Sized
from ingot.emit.problems import problem
from ingot.emit.stablehlo_bodies import StablehloBody
from ingot.emit.tosa_bodies import TosaBody
from ingot.errors import EmitError
from ingot.program.program import Program

WRITERS: dict[str, type[BodyWriter]] = {"tosa": TosaBody, "stablehlo": StablehloBody}


def give_bodies(text: str, program: Program, dialect: str) -> str:
    for node in program.graph.nodes:
        if BODY in node.meta:
            text = _defined(text, node, dialect)
    return text


def has_bodies(program: Program) -> bool:
    return any(BODY in node.meta for node in program.graph.nodes)


def _defined(text: str, node: Node, dialect: str) -> str:
    name = node.meta[CALL]
    declaration = re.compile(
        rf"^ *func\.func private @{name}\((?P<inputs>.*)\) -> (?P<result>.*?)"
        r"(?: attributes \{.*\})?$",
        re.MULTILINE,
    )
    found = declaration.search(text)
    if found is None:  # the call was dead code
        return text
    body = node.meta[BODY]
    inputs, result = split_types(found["inputs"]), found["result"]
    if isinstance(body, Text):
        definition = _users_own(body.text, node, inputs, result)
    else:
        definition = _written(name, body, inputs, result, WRITERS[dialect])
    return text[: found.start()] + definition + text[found.end() :]


def _written(
    name: str, body: Sized, inputs: list[str], result: str, writer: type[BodyWriter]
) -> str:
    words = writer(inputs, len(inputs) - len(body.witnesses), result)
    made = getattr(words, body.kind)(body)
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(inputs))
    lines = "\n".join(f"    {line}" for line in words.lines)
    return (
        f"  func.func private @{name}({arguments}) -> {result} {{\n{lines}\n"
        f"    return {made} : {result}\n  }}"
    )


_FUNCTION = re.compile(
    r"func\.func\s+(?:private\s+|public\s+)?@[\w.$-]+\s*\((.*?)\)\s*->\s*(.*?)\s*\{", re.S
)


def _users_own(text: str, node: Node, inputs: list[str], result: str) -> str:
    """The user's function, renamed to the callee of the call. Its type has to match the call."""
    found = _FUNCTION.search(text)
    needed = f"({', '.join(inputs)}) -> {result}"
    if found is None:
        raise problem_error(node, "its MLIR text contains no function", f"write one: {needed}")
    own = [argument.partition(":")[2].strip() for argument in split_types(found[1])]
    if own != inputs or found[2] != result:
        given = f"({', '.join(own)}) -> {found[2]}"
        raise problem_error(node, f"its MLIR function is of type {given}", f"it must be: {needed}")
    head = re.sub(
        r"(?:private\s+|public\s+)?@[\w.$-]+", f"private @{node.meta[CALL]}", found[0], count=1
    )
    return text[: found.start()] + head + text[found.end() :]


def problem_error(node: Node, why: str, hint: str) -> EmitError:
    told = problem(node, why, hint)
    error = EmitError(told.as_text())
    error.problems = (told,)
    return error
