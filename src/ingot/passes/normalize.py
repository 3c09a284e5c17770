"""Canonicalisation from aten to core level. Ops without meaning in a functional graph are removed
(alias, detach, lift, redundant copies). Variants become one op with its defaults written out; dims
are explicit and non-negative. No value changes, none is recomputed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.passes.base import Pass, ProgramDraft, RuleTable, apply_rules, args_of
from ingot.passes.decompositions.layouts import is_contiguous
from ingot.program.graph import same_numbers
from ingot.program.program import Level

aten = torch.ops.aten
normalize_rules = RuleTable()


@dataclass(frozen=True)
class Normalize(Pass):
    name: ClassVar[str] = "normalize"
    leaves: ClassVar[Level | None] = Level.CORE

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        return apply_rules(draft, normalize_rules)


def val(node: Any) -> Any:
    """The metadata of a value: a fake tensor or a symbolic number."""
    return node.meta["val"]


def argument(node: Node, index: int, name: str, default: Any) -> Any:
    """An argument, positional or by keyword."""
    return args_of(node)[index] if len(args_of(node)) > index else node.kwargs.get(name, default)


def respell(node: Node, target: Any, args: tuple[Any, ...], **kwargs: Any) -> Node:
    """Rewrite the node in place as another call with the same value."""
    node.target, node.args, node.kwargs = target, args, kwargs
    return node


def without_default(node: Node, index: int, name: str, value: Any) -> Node:
    """Pass an argument by position; those before it must be present."""
    kwargs = {key: given for key, given in node.kwargs.items() if key != name}
    return respell(
        node, node.target, (*args_of(node)[:index], value, *args_of(node)[index + 1 :]), **kwargs
    )


def named_dims(dims: Any, rank: int) -> list[int]:
    """The dims, non-negative and sorted; none given means all. A 0-d tensor has none."""
    given = [dims] if isinstance(dims, int) else list(dims or ())
    if not given or rank == 0:
        return list(range(rank))
    return sorted({dim % rank for dim in given})


@normalize_rules.on(
    aten.alias.default, aten.detach.default, aten.lift.default, aten.lift_fresh.default
)
def drop_alias(draft: ProgramDraft, node: Node) -> Node | None:
    source = args_of(node)[0]
    if draft.may_stand_for(node, source):
        return source
    # The user gets a distinct tensor object in the same memory.
    return respell(node, aten.view.default, (source, _sizes(draft, node, source)))


def _sizes(draft: ProgramDraft, node: Node, source: Node) -> list[Any]:
    sizes: list[Any] = []
    for dim, size in enumerate(val(source).shape):
        plain = isinstance(size, int)
        sizes.append(size if plain else draft.call(node, aten.sym_size.int, (source, dim), size))
    return sizes


@normalize_rules.on(aten._to_copy.default)
def write_cast(draft: ProgramDraft, node: Node) -> Node | None:
    """Drop arguments without an effect, beside the dtype; a change of layout or device is left
    alone."""
    source = val(args_of(node)[0])
    result = val(node)
    if result.device != source.device or result.layout != source.layout:
        return None
    kwargs: dict[str, Any] = {}
    if result.dtype != source.dtype:
        kwargs["dtype"] = result.dtype
    if not same_numbers(result.stride(), source.stride()) and "memory_format" in node.kwargs:
        kwargs["memory_format"] = node.kwargs["memory_format"]
    if kwargs == dict(node.kwargs):
        return None
    target = aten._to_copy.default if "dtype" in kwargs else aten.clone.default
    respell(node, target, (args_of(node)[0],), **kwargs)
    return drop_copy(draft, node) or node if target is aten.clone.default else node


@normalize_rules.on(aten.clone.default, aten.lift_fresh_copy.default)
def drop_copy(draft: ProgramDraft, node: Node) -> Node | None:
    source = args_of(node)[0]
    kept_strides = same_numbers(val(node).stride(), val(source).stride())
    if kept_strides and draft.may_share(node, source):
        return source
    if node.target is aten.lift_fresh_copy.default:
        return respell(node, aten.clone.default, (source,))
    return None


@normalize_rules.on(aten._unsafe_view.default, aten.reshape.default)
def write_view(draft: ProgramDraft, node: Node) -> Node | None:
    return respell(node, aten.view.default, tuple(args_of(node)[:2]))


@normalize_rules.on(aten._reshape_alias.default)
def write_strided(draft: ProgramDraft, node: Node) -> Node | None:
    """A reshape only if the strides given are those of one."""
    source, sizes, strides = args_of(node)
    if is_contiguous(val(source)) and is_contiguous(val(node)) and _as_many(node, source):
        return respell(node, aten.view.default, (source, sizes))
    return respell(node, aten.as_strided.default, (source, sizes, strides))


def _as_many(node: Node, source: Node) -> bool:
    """Whether both have the same number of elements, without a guard."""
    return same_numbers([val(node).numel()], [val(source).numel()])


@normalize_rules.on(aten.t.default, aten.transpose.int)
def write_permute(draft: ProgramDraft, node: Node) -> Node | None:
    rank = val(node).dim()
    dims = list(range(rank))
    if rank > 1:
        first, second = (0, 1) if node.target is aten.t.default else args_of(node)[1:3]
        dims[first % rank], dims[second % rank] = dims[second % rank], dims[first % rank]
    return respell(node, aten.permute.default, (args_of(node)[0], dims))


@normalize_rules.on(aten.permute.default)
def name_permuted_dims(draft: ProgramDraft, node: Node) -> Node | None:
    dims = [dim % val(node).dim() for dim in args_of(node)[1]]
    return None if dims == args_of(node)[1] else without_default(node, 1, "dims", dims)


@normalize_rules.on(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
def name_squeezed_dims(draft: ProgramDraft, node: Node) -> Node | None:
    shape = val(args_of(node)[0]).shape
    if node.target is aten.squeeze.default:
        asked = list(range(len(shape)))
    else:
        asked = named_dims(args_of(node)[1], len(shape)) if len(shape) else []
    dims = [dim for dim in asked if isinstance(shape[dim], int) and shape[dim] == 1]
    if len(shape) - len(dims) != val(node).dim():
        return None
    if node.target is aten.squeeze.dims and dims == args_of(node)[1]:
        return None
    return respell(node, aten.squeeze.dims, (args_of(node)[0], dims))


@normalize_rules.on(aten.unsqueeze.default)
def name_unsqueezed_dim(draft: ProgramDraft, node: Node) -> Node | None:
    dim = args_of(node)[1] % val(node).dim()
    return None if dim == args_of(node)[1] else without_default(node, 1, "dim", dim)


@normalize_rules.on(aten.slice.Tensor)
def write_slice_bounds(draft: ProgramDraft, node: Node) -> Node | None:
    dim = argument(node, 1, "dim", 0) % val(node).dim()
    start, end = argument(node, 2, "start", None), argument(node, 3, "end", None)
    step = argument(node, 4, "step", 1)
    size = val(args_of(node)[0]).shape[dim]
    fixed = all(x is None or isinstance(x, int) for x in (start, end, step))
    if isinstance(size, int) and fixed:
        start, end, _ = slice(start, end, step).indices(size)
        end = max(start, end)
    start = 0 if start is None else start
    args = (args_of(node)[0], dim, start, end, step)
    return None if args == args_of(node) else respell(node, aten.slice.Tensor, args)


@normalize_rules.on(aten.expand.default)
def write_expanded_sizes(draft: ProgramDraft, node: Node) -> Node | None:
    """-1 means the existing size."""
    shape = val(node).shape
    sizes = [
        shape[i] if isinstance(size, int) and size < 0 and isinstance(shape[i], int) else size
        for i, size in enumerate(args_of(node)[1])
    ]
    return (
        None
        if sizes == args_of(node)[1]
        else respell(node, aten.expand.default, (args_of(node)[0], sizes))
    )


@normalize_rules.on(aten.view.default)
def write_viewed_sizes(draft: ProgramDraft, node: Node) -> Node | None:
    """-1 means the inferred size."""
    shape = val(node).shape
    sizes = [
        shape[i] if isinstance(size, int) and size < 0 and isinstance(shape[i], int) else size
        for i, size in enumerate(args_of(node)[1])
    ]
    return (
        None
        if sizes == args_of(node)[1]
        else respell(node, aten.view.default, (args_of(node)[0], sizes))
    )
