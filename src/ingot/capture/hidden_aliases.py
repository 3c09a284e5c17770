"""Aliases that schemas do not declare. `positive`, `type_as`, inactive dropout and many more return
their argument itself; `unsafe_split` returns views. Decompositions and functionalization trust the
schema, so that a write through such a result is lost, and take the strides of `_reshape_alias` for
those of a reshape. An exported program, not yet functional, is corrected in place. The actual
aliasing is read from the storages of the fake tensors, which eager's own kernels made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ingot.program.graph import is_item, is_view, placeholders, same_numbers

aten = torch.ops.aten
HONEST: dict[Any, Any] = {
    aten.unsafe_chunk.default: aten.chunk.default,
    aten.unsafe_split.Tensor: aten.split.Tensor,
    aten.unsafe_split_with_sizes.default: aten.split_with_sizes.default,
    aten._reshape_alias.default: aten.as_strided.default,
}
"""The results of the first are views; only autograd's checks are omitted. The last has the strides
it is given, which functionalization ignores where it writes through it."""
DROPOUTS = (aten.dropout.default, aten.feature_dropout.default, aten.alpha_dropout.default,
            aten.feature_alpha_dropout.default)  # fmt: skip


def reveal_aliases(exported: ExportedProgram) -> ExportedProgram:
    graph = exported.graph_module.graph
    constants = exported.graph_signature.inputs_to_lifted_tensor_constants
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target in HONEST:
            node.target = HONEST[node.target]
            continue
        source = node.args[0] if _returns_argument(node) or _lifts(node, constants) else None
        source = source or _element_of_argument(node)
        if source is not None:
            node.replace_all_uses_with(source)
            _rename_output(exported, node, source)
            graph.erase_node(node)
    exported.graph_module.recompile()
    return exported


HONEST_CALLS: dict[Any, Any] = {
    torch.unsafe_chunk: torch.chunk,
    torch.unsafe_split: torch.split,
    torch.unsafe_split_with_sizes: torch.split_with_sizes,
    **HONEST,
    aten._reshape_alias: aten.as_strided,
    "unsafe_chunk": "chunk",
    "unsafe_split": "split",
    "unsafe_split_with_sizes": "split_with_sizes",
}


LIFTS = (aten.lift_fresh, aten.lift_fresh.default, aten.lift, aten.lift.default)
"""They return their argument; functionalization copies it."""


def reveal_calls(gm: GraphModule) -> None:
    """The same for functions and methods in Dynamo's graph. If gradients are recorded the user sees
    the difference: autograd refuses writes to views that were made together."""
    changed = False
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target in LIFTS and not node.kwargs:
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
            changed = True
        elif node.op in ("call_function", "call_method") and node.target in HONEST_CALLS:
            given = node.args[0].meta.get("example_value")
            if not (torch.is_grad_enabled() and getattr(given, "requires_grad", True)):
                node.target = HONEST_CALLS[node.target]
                changed = True
    if changed:
        gm.recompile()


def _lifts(node: Node, constants: Mapping[str, str]) -> bool:
    """`lift_fresh` returns its argument, but the tracer records a copy. A constant that is created
    in the program is new in each call, and stays copied."""
    source = node.args[0] if node.args else None
    if node.target is not aten.lift_fresh_copy.default or not isinstance(source, Node):
        return False
    _, called = node.meta.get("torch_fn", ("", ""))
    return called.endswith(".lift_fresh") and source.name not in constants


def _returns_argument(node: Node) -> bool:
    """Whether the result is the first argument itself, all of it, whatever the schema says."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or schema.is_mutable or not node.args:
        return False
    source = node.args[0]
    if not isinstance(source, Node):
        return False
    result, given = node.meta.get("val"), source.meta.get("val")
    if not isinstance(result, torch.Tensor) or not isinstance(given, torch.Tensor):
        return False
    if node.target in DROPOUTS:  # fake tensors take another path through dropout
        return not node.args[2] or bool(node.args[1] == 0)
    if not shares_storage(result, given) or not _same_geometry(result, given):
        return False
    return not is_view(node) or _returns_object(node)


def _element_of_argument(node: Node) -> Node | None:
    """The element of a list that an op returns in a list, as `broadcast_tensors` does."""
    if not is_item(node) or not isinstance(node.args[0], Node):
        return None
    call: Any = node.args[0]
    k: Any = node.args[1]
    given: Any = call.args[0] if call.args else None
    if call.target is not aten.broadcast_tensors.default or not isinstance(given, list | tuple):
        return None
    source = given[k]
    result, value = node.meta.get("val"), source.meta.get("val")
    if not isinstance(result, torch.Tensor) or not isinstance(value, torch.Tensor):
        return None
    same = shares_storage(result, value) and same_numbers(result.shape, value.shape)
    return source if same else None


def _returns_object(node: Node) -> bool:
    """Whether the op returns its argument, not another view of the same geometry: `contiguous` may,
    `alias` never does. Asked of the op itself, since no schema tells."""

    def value(argument: Node) -> Any:
        return argument.meta["val"]

    args, kwargs = map_arg((node.args, node.kwargs), value)
    with torch.no_grad():
        try:
            result: Any = node.target(*args, **kwargs)  # type: ignore[operator]
        except RuntimeError:  # `_make_dual` outside of its level of forward-mode AD
            return False
    return result is args[0]


def shares_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """In a transform (vmap) tensors are wrapped, and only the innermost ones have memory."""
    a, b = _unwrapped(a), _unwrapped(b)
    if a.layout is not torch.strided or b.layout is not torch.strided:
        return False
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


def _unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def _same_geometry(a: torch.Tensor, b: torch.Tensor) -> bool:
    numbers = [(*t.shape, *t.stride(), t.storage_offset()) for t in (a, b)]
    lazy = a.is_conj() == b.is_conj() and a.is_neg() == b.is_neg()
    return a.dim() == b.dim() and a.dtype is b.dtype and lazy and same_numbers(*numbers)


def _rename_output(exported: ExportedProgram, node: Node, source: Node) -> None:
    """The signature refers to outputs by node name."""
    for spec in exported.graph_signature.output_specs:
        if getattr(spec.arg, "name", None) == node.name:
            spec.arg.name = source.name


STRIDES_DECIDE = {aten.contiguous.default, aten.reshape.default, aten.reshape_as.default,
                  aten.flatten.using_ints, aten.ravel.default}  # fmt: skip
TAKES_FORMAT = {aten.to.dtype, aten.to.dtype_layout, aten.to.device, aten.to.other}
"""Ops that return a view of their argument or a copy of it, depending on its strides."""


def shared_by_strides(exported: ExportedProgram) -> set[str]:
    """Inputs whose strides decide whether a write in the program reaches them."""
    nodes = placeholders(exported.graph)
    found: set[str] = set()
    for node in exported.graph.nodes:
        formatted = node.target in TAKES_FORMAT and node.kwargs.get("memory_format") is not None
        if node.target not in STRIDES_DECIDE and not formatted:
            continue
        given = node.args[0].meta.get("val")
        found |= {
            p.name
            for p in nodes
            if isinstance(p.meta.get("val"), torch.Tensor) and shares_storage(given, p.meta["val"])
        }
    return found
