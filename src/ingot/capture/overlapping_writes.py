"""Writes through views that PyTorch's functionalization writes back wrongly, without an error.
Eager runs such programs, or refuses them.

* A tensor in which several indices refer to one element: `x[:1].expand(4, -1).zero_()`. Changes are
  written back by a sum over these indices.
* `unfold`: elements are written back by unfold_backward, a sum over windows, which does not have
  the old values: elements that no window covers become 0. The functional graph does not tell which
  value the windows were taken from, so that it cannot be corrected there.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.fx import Node

from ingot.capture.shared_outputs import passes_memory_on, written_values
from ingot.errors import CompileError
from ingot.program.graph import is_inplace_view, view_chain
from ingot.program.overlap import overlaps_itself

aten = torch.ops.aten
UNFOLDS = ("unfold", torch.Tensor.unfold, aten.unfold, aten.unfold.default)
WHY_UNFOLD = (
    "a write through unfold() whose windows do not cover each element exactly once has no "
    "functional form in PyTorch: elements outside of the windows would become 0"
)
WHY_OVERLAP = (
    "a write to a tensor in which several indices refer to one element, such as a result of "
    "expand(), has no functional form in PyTorch: the changes would be added up"
)
_OPERATORS = {
    getattr(operator, name)
    for name in (
        "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow",
        "irshift", "isub", "itruediv", "ixor", "setitem",
    )
}  # fmt: skip
_DESCRIBING = {
    "as_strided_", "detach_", "requires_grad_", "rename_", "share_memory_", "squeeze_", "swapaxes_",
    "swapdims_", "t_", "transpose_", "unsqueeze_",
}  # fmt: skip
"""Methods that change how a tensor is described, not its elements."""


def refuse_overlapping_writes(exported: ExportedProgram) -> None:
    """Asked of a program that is not functional yet."""
    for node in exported.graph.nodes:
        for written in _nodes_in(_written_elements(node)):
            _refuse_overlap(written.meta.get("val"))
            chain = view_chain(written, passes_memory_on)
            if any(at.target is aten.unfold.default and not _covers(at) for at in chain):
                raise CompileError(WHY_UNFOLD)


def refuse_lost_writes(graph: fx.Graph, captured: fx.Graph) -> None:
    """Asked of AOTAutograd's forward graph. `captured` is Dynamo's, in which values are still
    written."""
    for node in captured.nodes:
        for written in _nodes_in(_written_by(node)):
            _refuse_overlap(written.meta.get("example_value"))
    if not any(node.target in UNFOLDS and _is_written(node) for node in captured.nodes):
        return
    for node in graph.find_nodes(op="call_function", target=aten.unfold_backward.default):
        if not _exact(*node.args[1:]):
            raise CompileError(WHY_UNFOLD)


def _refuse_overlap(value: Any) -> None:
    """Tensors that are wrapped by a transform have no geometry of their own."""
    plain = isinstance(value, FakeTensor) and value.layout is torch.strided
    if plain and overlaps_itself(value):
        raise CompileError(WHY_OVERLAP)


def _written_elements(node: Node) -> list[Any]:
    return [] if is_inplace_view(node) else written_values(node)


def _nodes_in(values: Iterable[Any]) -> Iterator[Node]:
    for value in values:
        if isinstance(value, Node):
            yield value
        elif isinstance(value, list | tuple):
            yield from _nodes_in(value)


def _written_by(node: Node) -> Iterator[Any]:
    """What a call in Dynamo's graph writes: a method, an operator, a Python function or an op."""
    if node.op == "call_method" and _is_in_place(str(node.target)):
        yield node.args[0]
    if node.op != "call_function":
        return
    yield from _written_elements(node)
    yield node.kwargs.get("out")
    name = getattr(node.target, "__name__", "")
    if node.target in _OPERATORS or _is_in_place(name) or _has_flag(node):
        yield from node.args[:1]


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and name not in _DESCRIBING


def _has_flag(node: Node) -> bool:
    """Whether it is called with `inplace=True`, as functions of torch.nn.functional may be."""
    code = getattr(node.target, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return bool({**dict(zip(names, node.args)), **node.kwargs}.get("inplace"))


def _is_written(node: Node) -> bool:
    """Its version counter tells, which all views of a memory share."""
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
