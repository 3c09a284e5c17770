"""Inputs that are given another shape in place: `x.t_()`, `x.resize_as_(y)`, `x.set_(y)`. A
functional program returns the new contents of an input, but cannot say how the caller's tensor
views them afterwards. PyTorch's functionalization drops such changes without an error. Eager runs
such programs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.fx import Node

from ingot.errors import CompileError
from ingot.program.graph import is_inplace_view, returned_argument, same_numbers

aten = torch.ops.aten
EXCHANGES = {getattr(aten.set_, name) for name in aten.set_.overloads()}


def refuse_reshaped_inputs(exported: ExportedProgram) -> None:
    """Asked of a program that is not functional yet."""
    inputs: set[Node] = set(exported.graph.find_nodes(op="placeholder"))
    for node in exported.graph.nodes:
        given = returned_argument(node) if node.op == "call_function" else None
        if given not in inputs:
            continue
        inputs.add(node)  # the same tensor
        if is_inplace_view(node) and not _is_idle(node, given):
            raise CompileError(
                f"{node.target}: an input is given another shape in place; use a view of it"
            )


def refuse_exchanged_memory(graph: fx.Graph) -> None:
    """Asked of AOTAutograd's graph, which keeps `x.data = y` as an op."""
    for node in graph.nodes:
        if node.target in EXCHANGES:
            raise CompileError(
                f"{node.target}: the memory of a tensor is exchanged, which has no functional form"
            )


def _is_idle(node: Node, given: Node) -> bool:
    """Whether the op leaves the shape as it is: `squeeze_` without a dimension of size 1,
    `detach_`."""
    if node.target in EXCHANGES:
        return False
    before, after = _styled(given), _styled(node)
    return all(map(same_numbers, before, after))


def _styled(node: Node) -> tuple[Any, Any]:
    value = node.meta["val"]
    return value.shape, value.stride()
