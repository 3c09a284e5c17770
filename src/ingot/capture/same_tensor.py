"""One input per tensor. torch.export makes two inputs of a tensor that a model holds both as a
buffer and under another name (as a static cache does), and PyTorch cannot functionalize the program
if one of them is written. Such a constant is replaced, in place, by the buffer or parameter that it
is.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec
from torch.utils import _pytree as pytree

from ingot.program.plain_tensor import why_not_plain

STATE = (InputKind.PARAMETER, InputKind.BUFFER)


def one_input_each(exported: ExportedProgram) -> ExportedProgram:
    specs = exported.graph_signature.input_specs
    nodes = {n.name: n for n in exported.graph.nodes if n.op == "placeholder"}
    known: dict[Any, InputSpec] = {}
    for spec in list(specs):
        tensor = _tensor(exported, spec)
        if tensor is None:
            continue
        first = known.setdefault(_identity(tensor), spec)
        if spec.kind is not InputKind.CONSTANT_TENSOR or first.kind not in STATE:
            continue
        again = nodes[spec.arg.name]
        again.replace_all_uses_with(nodes[first.arg.name])
        exported.graph.erase_node(again)
        specs.remove(spec)
        del exported.constants[str(spec.target)]
    exported.graph_module.recompile()
    return exported


def _tensor(exported: ExportedProgram, spec: InputSpec) -> torch.Tensor | None:
    if spec.target is None:
        return None
    held = exported.state_dict.get(spec.target, exported.constants.get(spec.target))
    if not isinstance(held, torch.Tensor) or why_not_plain(held) is not None:
        return None
    return held if held.numel() > 0 else None


def _identity(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device


def in_own_memory(arguments: Any) -> Any:
    """The arguments with copies of tensors that share a storage with another. A program is made for
    inputs that do not; a call with inputs that do is handled separately."""
    leaves, spec = pytree.tree_flatten(arguments)
    seen: set[int] = set()
    for k, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor) or why_not_plain(leaf) is not None:
            continue
        storage = leaf.untyped_storage()
        if storage._cdata in seen:
            leaves[k] = _copied(leaf)
        seen.add(storage._cdata)
    return pytree.tree_unflatten(leaves, spec)


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in the same layout, overlapping elements included."""
    with torch.no_grad():
        copy = tensor.clone()
        if not tensor.is_conj() and not tensor.is_neg():
            place = tensor.storage_offset(), tensor.shape, tensor.stride()
            copy = torch.empty(0, dtype=tensor.dtype)
            copy.set_(tensor.untyped_storage().clone(), *place)
    return copy.requires_grad_(tensor.requires_grad)
