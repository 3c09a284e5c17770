"""Writes through `unfold`. PyTorch's functionalization writes the elements back by unfold_backward,
a sum over windows, which has not the old values: elements that no window covers become 0. Its graph
does not tell which value the windows were taken from, so that it cannot be corrected there. Eager
runs such programs, unless each element is in exactly one window.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.fx import Node

from ingot.capture.shared_outputs import passes_memory_on, written_values
from ingot.errors import CompileError
from ingot.program.graph import view_chain

aten = torch.ops.aten
UNFOLDS = ("unfold", torch.Tensor.unfold, aten.unfold, aten.unfold.default)
WHY = (
    "a write through unfold() whose windows do not cover each element exactly once has no "
    "functional form in PyTorch: elements outside of the windows would become 0"
)


def refuse_unfold_writes(exported: ExportedProgram) -> None:
    """Asked of a program that is not functional yet."""
    for node in exported.graph.nodes:
        for written in written_values(node):
            chain = view_chain(written, passes_memory_on) if isinstance(written, Node) else ()
            if any(at.target is aten.unfold.default and not _covers(at) for at in chain):
                raise CompileError(WHY)


def refuse_lost_elements(graph: fx.Graph, captured: fx.Graph) -> None:
    """Asked of AOTAutograd's forward graph. `captured` is Dynamo's, which tells by the version
    counters of its tensors whether unfolded memory is written."""
    if not any(node.target in UNFOLDS and _is_written(node) for node in captured.nodes):
        return
    for node in graph.find_nodes(op="call_function", target=aten.unfold_backward.default):
        if not _exact(*node.args[1:]):
            raise CompileError(WHY)


def _is_written(node: Node) -> bool:
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and (value.is_inference() or value._version > 0)


def _covers(unfold: Node) -> bool:
    source, *given = unfold.args
    return isinstance(source, Node) and _exact(source.meta["val"].shape, *given)


def _exact(shape: Any, dim: Any, size: Any, step: Any) -> bool:
    """Whether each element is certainly in exactly one window."""
    length = shape[dim] if shape else 1
    if not all(isinstance(number, int) for number in (length, size, step)):
        return False
    return bool(length == size or (size == step and length % size == 0))
