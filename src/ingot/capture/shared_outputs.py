"""Aliasing that functionalization of an exported program loses: which user outputs lie in the
memory of an input, and which constants are written. Both are read from the graph before it is made
functional.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind as TorchInputKind
from torch.fx import Node

from ingot.capture.hidden_aliases import shares_storage
from ingot.program.from_exported import OUTPUT_KINDS
from ingot.program.graph import (
    chain_root,
    is_inplace_view,
    output_values,
    placeholders,
    returned_argument,
    shares_first_argument,
)
from ingot.program.shared_views import BY_SIZES, Shared


def shared_outputs(exported: ExportedProgram) -> dict[int, Shared]:
    """The user outputs in the memory of an input (`x.add_(1); return x.t()`). Read from the graph
    before it is made functional, which loses this if the input is written."""
    found = {}
    for i, source in enumerate(_user_values(exported)):
        result, views = source, []
        while isinstance(source, Node):
            written = returned_argument(source)
            if is_inplace_view(source) or (written is None and not _is_known_view(source)):
                break
            if written is None:
                views.append(source)
            source = source.args[0] if written is None else written
        if isinstance(source, Node) and source.op == "placeholder":
            found[i] = Shared(source.name, tuple(reversed(views)))
        elif isinstance(result, Node):
            by_storage = _by_storage(exported, result)
            if by_storage is not None:
                found[i] = by_storage
    return found


def same_objects(exported: ExportedProgram) -> dict[int, str | int]:
    """The user outputs that are an input (by its name) or an earlier output (by its index), as the
    same Python object: `x.add_(1)` returns x, and so does an op with `out=x`."""
    found: dict[int, str | int] = {}
    first: dict[Node, int] = {}
    for i, value in enumerate(_user_values(exported)):
        if not isinstance(value, Node) or not isinstance(value.meta.get("val"), torch.Tensor):
            continue
        while (written := returned_argument(value)) is not None:
            value = written
        if value.op == "placeholder":
            found[i] = value.name
        elif value in first:
            found[i] = first[value]
        else:
            first[value] = i
    return found


def _by_storage(exported: ExportedProgram, result: Node) -> Shared | None:
    """For a result of ops whose schemas do not declare that they are views."""
    value = result.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    for node in placeholders(exported.graph):
        given = node.meta.get("val")
        if isinstance(given, torch.Tensor) and shares_storage(value, given):
            if given.dtype is not value.dtype or given.is_conj() or given.is_neg():
                return None
            start = value.storage_offset() - given.storage_offset()
            geometry = (list(value.shape), list(value.stride()), start)
            return Shared(node.name, (), geometry)
    return None


def _is_known_view(node: Node) -> bool:
    """Whether it is certainly a view of its first argument, and of no other tensor."""
    source = node.args[0] if node.args else None
    if not shares_first_argument(node) or not isinstance(source, Node):
        return False
    others = [n for n in node.all_input_nodes if n is not source]
    if node.target not in BY_SIZES and any(_is_tensor(n) for n in others):
        return False
    result, given = node.meta.get("val"), source.meta.get("val")
    if isinstance(result, list | tuple):  # the parts are checked one by one
        return True
    if isinstance(given, list | tuple):
        given = source.args[0].meta.get("val")  # type: ignore[union-attr]
    return (
        isinstance(result, torch.Tensor)
        and isinstance(given, torch.Tensor)
        and shares_storage(result, given)
    )


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def buffers_of_written_constants(exported: ExportedProgram) -> ExportedProgram:
    """Turn tensors that the model holds but did not register into buffers if they are written:
    torch.export lowers no program that writes to a constant, or to a tensor with a history."""
    written = {
        _source(value).name
        for node in exported.graph.nodes
        for value in written_values(node)
        if isinstance(value, Node)
    }
    for node, spec in zip(placeholders(exported.graph), exported.graph_signature.input_specs):
        if spec.kind is TorchInputKind.CONSTANT_TENSOR and spec.arg.name in written:
            spec.kind, spec.persistent = TorchInputKind.BUFFER, False
            assert spec.target is not None
            exported.constants[spec.target] = exported.constants[spec.target].detach()
            node.meta["val"] = node.meta["val"].detach()
    return exported


def written_values(node: Node) -> list[Any]:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return []
    given = {**dict(zip([a.name for a in schema.arguments], node.args)), **node.kwargs}
    return [
        given.get(a.name)
        for a in schema.arguments
        if a.alias_info is not None and a.alias_info.is_write
    ]


def _source(node: Node) -> Node:
    """The node whose memory it is, as far as views and writes tell."""
    return chain_root(node, passes_memory_on)


def passes_memory_on(node: Node) -> bool:
    return shares_first_argument(node) or (_writes_first(node) and isinstance(node.args[0], Node))


def _user_values(exported: ExportedProgram) -> list[Any]:
    specs = exported.graph_signature.output_specs
    values = output_values(exported.graph)
    return [v for v, spec in zip(values, specs) if OUTPUT_KINDS.get(spec.kind) == "user"]


def _writes_first(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.arguments:
        return False
    alias = schema.arguments[0].alias_info
    return alias is not None and alias.is_write and len(schema.returns) == 1
