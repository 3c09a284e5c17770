"""Bodies for calls. Comes in: the text of a module behind the pipelines, in which some functions
are only declared, and the program it was made from; goes out: the text with those functions
defined, in the words of the dialect: tensors of computed sizes (`sizes.py`), and what the user
wrote for an operation of their own.
"""

from __future__ import annotations

import re

from torch.fx import Node

from ingot.emit.calls import BODY, CALL
from ingot.emit.sizes import Sized
from ingot.emit.stablehlo_words import Stablehlo
from ingot.emit.tosa_words import Tosa
from ingot.emit.words import Words, split_types
from ingot.program.program import Program

WRITERS: dict[str, type[Words]] = {"tosa": Tosa, "stablehlo": Stablehlo}


def give_bodies(text: str, program: Program, dialect: str) -> str:
    for node in program.graph.nodes:
        if isinstance(body := node.meta.get(BODY), Sized):
            text = _defined(text, node, body, WRITERS[dialect])
    return text


def has_bodies(program: Program) -> bool:
    return any(BODY in node.meta for node in program.graph.nodes)


def _defined(text: str, node: Node, body: Sized, writer: type[Words]) -> str:
    name = node.meta[CALL]
    declaration = re.compile(
        rf"^ *func\.func private @{name}\((?P<inputs>.*)\) -> (?P<result>.*?)"
        r"(?: attributes \{.*\})?$",
        re.MULTILINE,
    )
    found = declaration.search(text)
    if found is None:  # nothing reads it
        return text
    inputs, result = split_types(found["inputs"]), found["result"]
    words = writer(inputs, len(inputs) - len(body.witnesses), result)
    made = getattr(words, body.kind)(body)
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(inputs))
    lines = "\n".join(f"    {line}" for line in words.lines)
    definition = (
        f"  func.func private @{name}({arguments}) -> {result} {{\n{lines}\n"
        f"    return {made} : {result}\n  }}"
    )
    return text[: found.start()] + definition + text[found.end() :]
