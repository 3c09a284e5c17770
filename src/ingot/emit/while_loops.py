"""`while_loop` for dialects that have a loop op but no lowering to it. During the pipelines a loop
is a call of a declared function; its condition and body are separate functions. After the
pipelines the declaration gets a body: the dialect's loop op around calls of those two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch.fx import Node
from torch_mlir import ir

from ingot.emit.body_writer import split_types
from ingot.emit.declared_calls import CALL, import_call

_DECLARATION = re.compile(
    r"^ *func\.func private @(?P<name>ingot_loop_\w+)\((?P<inputs>.*)\) -> (?P<results>.*?)"
    r" attributes \{(?P<attributes>.*)\}$",
    re.MULTILINE,
)


def import_loop(importer: Any, loc: ir.Location, node: Node) -> None:
    cond, body, carries, extra = node.args
    known = importer.fx_importer._graph_module_to_func_name
    module: Any = node.graph.owning_module
    names = [known[id(module.get_submodule(str(f.target)))] for f in (cond, body)]  # type: ignore[union-attr]
    attributes = {"ingot.cond": names[0], "ingot.body": names[1]}
    for function in names:  # public: uncalled, they must survive the pipelines
        operation = importer.fx_importer.symbol_table[function].operation
        if "sym_visibility" in operation.attributes:
            del operation.attributes["sym_visibility"]
    node.meta[CALL] = f"ingot_loop_{names[1]}"
    import_call(importer, loc, node, [*carries, *extra], attributes)  # type: ignore[misc]


def give_loops_bodies(text: str, dialect: str) -> str:
    """`dialect` may be "scf", to run a dialect whose own loop upstream cannot lower."""
    return _DECLARATION.sub(lambda match: _definition(match, dialect), text)


LOOPS = {
    "stablehlo": ("stablehlo.while", "stablehlo.return"),
    "tosa": ("tosa.while_loop", "tosa.yield"),
}
"""Each dialect's loop op and the terminator of its regions."""


@dataclass(frozen=True)
class _Parts:
    """The functions a loop calls."""

    cond: str
    body: str


def _definition(match: re.Match[str], dialect: str) -> str:
    inputs = split_types(match["inputs"])
    results = split_types(match["results"].removeprefix("(").removesuffix(")"))
    found = dict(re.findall(r'ingot\.(\w+) = "([^"]*)"', match["attributes"]))
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(inputs))
    parts = _Parts(**found)
    if dialect == "scf":
        loop = _scf_loop(inputs, results, parts)
    else:
        loop = _loop(LOOPS[dialect], inputs, results, parts)
    return (
        f"  func.func private @{match['name']}({arguments}) -> {match['results']} {{\n"
        f"{loop}\n"
        f"    return {_numbered('%r', len(results))} : {', '.join(results)}\n  }}"
    )


def _numbered(name: str, count: int) -> str:
    return ", ".join(f"{name}#{i}" if count > 1 else name for i in range(count))


def _call(function: str, inputs: Sequence[str], carried: int, results: str) -> str:
    """Loop-carried operands are named %c0 ..., loop-invariant ones %a."""
    values = [f"%c{i}" if i < carried else f"%a{i}" for i in range(len(inputs))]
    return f"func.call @{function}({', '.join(values)}) : ({', '.join(inputs)}) -> {results}"


def _loop(names: tuple[str, str], inputs: list[str], results: list[str], parts: _Parts) -> str:
    """The loop in MLIR's generic form, which all dialects share."""
    loop, end = names
    count = len(results)
    several = f":{count}" if count > 1 else ""
    kinds = ", ".join(results)
    block = ", ".join(f"%c{i}: {kind}" for i, kind in enumerate(results))
    start = ", ".join(f"%a{i}" for i in range(count))
    return (
        f'    %r{several} = "{loop}"({start}) ({{\n    ^bb0({block}):\n'
        f"      %p = {_call(parts.cond, inputs, count, 'tensor<i1>')}\n"
        f'      "{end}"(%p) : (tensor<i1>) -> ()\n    }}, {{\n    ^bb0({block}):\n'
        f"      %n{several} = {_call(parts.body, inputs, count, f'({kinds})')}\n"
        f'      "{end}"({_numbered("%n", count)}) : ({kinds}) -> ()\n'
        f"    }}) : ({kinds}) -> ({kinds})"
    )


def _scf_loop(inputs: list[str], results: list[str], parts: _Parts) -> str:
    count = len(results)
    several = f":{count}" if count > 1 else ""
    kinds = ", ".join(results)
    start = ", ".join(f"%c{i} = %a{i}" for i in range(count))
    block = ", ".join(f"%c{i}: {kind}" for i, kind in enumerate(results))
    return (
        f"    %r{several} = scf.while ({start}) : ({kinds}) -> ({kinds}) {{\n"
        f"      %p = {_call(parts.cond, inputs, count, 'tensor<i1>')}\n"
        f"      %b = tensor.extract %p[] : tensor<i1>\n"
        f"      scf.condition(%b) {', '.join(f'%c{i}' for i in range(count))} : {kinds}\n"
        f"    }} do {{\n    ^bb0({block}):\n"
        f"      %n{several} = {_call(parts.body, inputs, count, f'({kinds})')}\n"
        f"      scf.yield {_numbered('%n', count)} : {kinds}\n    }}"
    )
