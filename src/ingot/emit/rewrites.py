"""Rewrites of op forms that torch-mlir does not take into forms that it does. One rule for each
family of ops; a rule matches only its own op.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from ingot.passes.base import ProgramDraft, RuleTable, args_of
from ingot.program.graph import same_numbers
from ingot.program.shapes import arguments_of

aten = torch.ops.aten

END = 2**63 - 1
"""The end of a slice up to the last element."""
early_rules = RuleTable()
"""Applied before ops are decomposed."""
spelling_rules = RuleTable()
"""Applied after ops are decomposed."""


@spelling_rules.on(
    aten.alias.default,
    aten.detach.default,
    aten.lift.default,
    aten.lift_fresh.default,
    aten.lift_fresh_copy.default,
    aten.clone.default,
    aten._unsafe_view.default,
    aten.alias_copy.default,
)
def copy_is_its_source(draft: ProgramDraft, node: Node) -> Node | None:
    """MLIR's tensors are values: a copy is the same value."""
    if node.target is aten._unsafe_view.default:
        return draft.call(node, aten.view.default, node.args, node.meta["val"])
    source = args_of(node)[0]
    return source if isinstance(source, Node) else None


@spelling_rules.on(aten.index.Tensor)
def mask_is_where_it_holds(draft: ProgramDraft, node: Node) -> Node | None:
    """`x[mask]` is a gather at the nonzero positions of the mask, with the dims it covers
    flattened."""
    source, indices = args_of(node)
    masks = [i for i in indices if i is not None and i.meta["val"].dtype is torch.bool]
    if not masks or len(indices) != 1:
        return None
    dims = masks[0].meta["val"].dim()
    source, mask = (_flattened(draft, node, value, dims) for value in (source, masks[0]))
    count = node.meta["val"].shape[0]
    with mask.meta["val"].fake_mode:
        table = torch.empty((count, 1), dtype=torch.int64)
        column = torch.empty((count,), dtype=torch.int64)
    places = draft.call(node, aten.nonzero.default, (mask,), table)
    places = draft.call(node, aten.select.int, (places, 1, 0), column)
    return draft.call(node, aten.index.Tensor, (source, [places]), node.meta["val"])


def _flattened(draft: ProgramDraft, before: Node, value: Node, dims: int) -> Node:
    """`value` with its first `dims` dims flattened."""
    if dims == 1:
        return value
    flat = value.meta["val"].flatten(0, dims - 1)
    return draft.call(before, aten.flatten.using_ints, (value, 0, dims - 1), flat)


@early_rules.on(aten.masked_select.default)
def selected_is_masked(draft: ProgramDraft, node: Node) -> Node | None:
    """`masked_select(x, mask)` is `x[mask]` with both broadcast to one shape."""
    values = list(args_of(node))
    shape = torch.broadcast_shapes(*(value.meta["val"].shape for value in values))
    for i, value in enumerate(values):
        if value.meta["val"].shape != shape:
            val = value.meta["val"].expand(shape)
            values[i] = draft.call(node, aten.expand.default, (value, list(shape)), val)
    return draft.call(node, aten.index.Tensor, (values[0], [values[1]]), node.meta["val"])


@early_rules.on(aten.index.Tensor)
def crossed_rows_are_picked_in_turn(draft: ProgramDraft, node: Node) -> Node | None:
    """`x[i, j]` with `i` and `j` varying along different dims selects rows, then columns."""
    source, indices = args_of(node)
    vals = [i.meta["val"] for i in indices if i is not None]
    if len(vals) < 2 or len(vals) != len(indices) or any(v.dtype is torch.bool for v in vals):
        return None
    rank = max(val.dim() for val in vals)
    owners = [_own_dims(val, rank) for val in vals]
    flat = [dim for dims in owners for dim in dims]
    if flat != sorted(set(flat)) or any(len(dims) != 1 for dims in owners):
        return None
    for dim, index in enumerate(indices):
        size = index.meta["val"].shape[owners[dim][0] - rank]
        line = index.meta["val"].new_empty((size,))
        row = draft.call(node, aten.view.default, (index, [-1]), line)
        old = source.meta["val"]
        val = old.new_empty((*old.shape[:dim], size, *old.shape[dim + 1 :]))
        source = draft.call(node, aten.index_select.default, (source, dim, row), val)
    for dim in range(rank):
        if dim not in flat:
            old = source.meta["val"]
            val = old.new_empty((*old.shape[:dim], 1, *old.shape[dim:]))
            source = draft.call(node, aten.unsqueeze.default, (source, dim), val)
    return source


def _own_dims(val: torch.Tensor, rank: int) -> list[int]:
    """The dims of the broadcast indices along which this index varies."""
    return [
        rank - val.dim() + i for i, n in enumerate(val.shape) if not (isinstance(n, int) and n == 1)
    ]


@early_rules.on(aten.sum.default, aten.sum.dim_IntList)
def sum_of_masked_is_masked_sum(draft: ProgramDraft, node: Node) -> Node | None:
    """`x[mask].sum()` as a masked sum, which needs no data-dependent size."""
    picked = args_of(node)[0]
    if picked.target is not aten.index.Tensor or picked.meta["val"].dim() != 1:
        return None
    source, indices = args_of(picked)
    if len(indices) != 1 or indices[0].meta["val"].dtype is not torch.bool:
        return None
    val = source.meta["val"]
    zero = draft.call(node, aten.full.default, ([], 0), val.new_empty(()), dtype=val.dtype)
    kept = draft.call(node, aten.where.self, (indices[0], source, zero), val.new_empty(val.shape))
    dims = list(range(val.dim()))
    return draft.call(node, aten.sum.dim_IntList, (kept, dims), node.meta["val"], **_dtype_of(node))


def _dtype_of(node: Node) -> dict[str, Any]:
    return {"dtype": node.kwargs["dtype"]} if node.kwargs.get("dtype") is not None else {}


@early_rules.on(aten.full.default, aten.full_like.default)
def filled_with_a_value(draft: ProgramDraft, node: Node) -> Node | None:
    """A computed fill value is a tensor: broadcast it."""
    number, val = node.args[1], node.meta["val"]
    if not isinstance(number, Node) or number.target is not aten._local_scalar_dense.default:
        return None
    sizes: Any = node.args[0] if node.target is aten.full.default else list(val.shape)
    if any(isinstance(size, torch.SymInt) for size in sizes):
        return None
    one = _as_tensor(draft, node, number)
    return draft.call(node, aten.expand.default, (one, sizes), val)


_BY_NUMBER: dict[Any, Any] = {
    aten.add.Scalar: aten.add.Tensor,
    aten.sub.Scalar: aten.sub.Tensor,
    aten.mul.Scalar: aten.mul.Tensor,
    aten.div.Scalar: aten.div.Tensor,
}
"""Scalar overloads and the corresponding Tensor overloads."""


@early_rules.on(*_BY_NUMBER, *_BY_NUMBER.values())
def number_of_a_tensor_is_the_tensor(draft: ProgramDraft, node: Node) -> Node | None:
    """`x * t.item()` is `x * t`."""
    number = args_of(node)[1]
    if not isinstance(number, Node) or number.target is not aten._local_scalar_dense.default:
        return None
    one = _as_tensor(draft, node, number)
    op = _BY_NUMBER.get(node.target, node.target)
    args = (node.args[0], one, *node.args[2:])
    return draft.call(node, op, args, node.meta["val"], **node.kwargs)


def _as_tensor(draft: ProgramDraft, node: Node, number: Node) -> Node:
    """The 0-d tensor from which `number` was read, in the dtype of `node`."""
    source, dtype = args_of(number)[0], node.meta["val"].dtype
    val = source.meta["val"]
    if val.dim():
        val = val.new_empty(())
        source = draft.call(node, aten.view.default, (source, []), val)
    if val.dtype is dtype:
        return source
    return draft.call(node, aten._to_copy.default, (source,), val.to(dtype), dtype=dtype)


@spelling_rules.on(aten.empty.memory_format, aten.empty_strided.default)
def unwritten_is_zero(draft: ProgramDraft, node: Node) -> Node | None:
    """Uninitialised elements may have any value."""
    val = node.meta["val"]
    if not all(isinstance(size, int) for size in val.shape):
        return None
    return draft.call(node, aten.full.default, (list(val.shape), 0), val, dtype=val.dtype)


@spelling_rules.on(aten.squeeze.dims)
def squeezed_dim_by_dim(draft: ProgramDraft, node: Node) -> Node | None:
    source, dims = args_of(node)
    rank = max(source.meta["val"].dim(), 1)
    for dim in sorted((dim % rank for dim in dims), reverse=True):
        val = source.meta["val"].squeeze(dim)
        source = draft.call(node, aten.squeeze.dim, (source, dim), val)
    return source


_SYMMETRIC = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)


@spelling_rules.on(*_SYMMETRIC, aten.eq.Scalar, aten.ne.Scalar, aten.fill.Scalar)
def complex_number_is_a_tensor(draft: ProgramDraft, node: Node) -> Node | None:
    """The importer does not take complex scalars; a constant tensor may be complex."""
    number = args_of(node)[1]
    if not isinstance(number, complex):
        return None
    dtype = node.meta["val"].dtype if node.meta["val"].dtype.is_complex else torch.complex64
    constant = draft.add_constant(node, torch.tensor(number, dtype=dtype))
    constant.meta["val"] = _fake_like(node, constant, draft)
    node.args = (node.args[0], constant, *node.args[2:])
    return node


@spelling_rules.on(aten.neg.default)
def negative_integer_is_a_product(draft: ProgramDraft, node: Node) -> Node | None:
    """Upstream's lowering of `tosa.negate` does not support 64-bit integers."""
    val = node.meta["val"]
    if not isinstance(val, torch.Tensor) or val.dtype.is_floating_point or val.dtype.is_complex:
        return None
    return draft.call(node, aten.mul.Scalar, (node.args[0], -1), val)


@spelling_rules.on(aten.abs.default)
def complex_length_of_parts(draft: ProgramDraft, node: Node) -> Node | None:
    source = args_of(node)[0]
    val = node.meta["val"]
    if not source.meta["val"].dtype.is_complex:
        return None
    pairs = aten.view_as_real(source.meta["val"])
    parts = draft.call(node, aten.view_as_real.default, (source,), pairs)
    squares = draft.call(node, aten.mul.Tensor, (parts, parts), pairs)
    total = draft.call(node, aten.sum.dim_IntList, (squares, [-1]), val)
    return draft.call(node, aten.sqrt.default, (total,), val)


@spelling_rules.on(aten.add.Tensor, aten.sub.Tensor)
def complex_sum_of_parts(draft: ProgramDraft, node: Node) -> Node | None:
    """torch-mlir scales a complex second operand of a sum as an integer."""
    val = node.meta["val"]
    operands = args_of(node)[:2]
    if not val.dtype.is_complex or not all(isinstance(o, Node) for o in operands):
        return None
    if any(not o.meta["val"].dtype.is_complex for o in operands):
        return None
    parts = [
        draft.call(node, aten.view_as_real.default, (o,), aten.view_as_real(o.meta["val"]))
        for o in operands
    ]
    total = draft.call(node, node.target, tuple(parts), aten.view_as_real(val), **node.kwargs)
    return draft.call(node, aten.view_as_complex.default, (total,), val)


@spelling_rules.on(torch.ops.prims.convert_element_type.default)
def truth_is_not_zero(draft: ProgramDraft, node: Node) -> Node | None:
    source, dtype = args_of(node)
    if dtype is not torch.bool or source.meta["val"].dtype in (torch.bool, *_COMPLEX):
        return None
    return draft.call(node, aten.ne.Scalar, (source, 0), node.meta["val"])


_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)

_POOLS: dict[Any, int] = {
    aten.max_pool1d.default: 1,
    aten.max_pool2d.default: 2,
    aten.max_pool3d.default: 3,
    aten.max_pool2d_with_indices.default: 2,
    aten.max_pool3d_with_indices.default: 3,
    aten.avg_pool1d.default: 1,
    aten.avg_pool2d.default: 2,
    aten.avg_pool3d.default: 3,
}
"""Pooling ops and the number of their spatial dims."""


@spelling_rules.on(*_POOLS)
def pool_with_every_size(draft: ProgramDraft, node: Node) -> Node | None:
    """An empty stride means the kernel's size; a single value holds for every dim."""
    dims = _POOLS[node.target]
    kernel = _spread(node.args[1], dims)
    stride = _spread(node.args[2], dims) if len(node.args) > 2 and node.args[2] else kernel
    args = [node.args[0], kernel, stride]
    args += [_spread(a, dims) if isinstance(a, list | tuple) else a for a in node.args[3:]]
    if tuple(args) == tuple(node.args):
        return None
    node.args = tuple(args)
    return node


def _spread(sizes: Any, dims: int) -> list[Any]:
    return list(sizes) * dims if len(sizes) == 1 else list(sizes)


@spelling_rules.on(aten._local_scalar_dense.default)
def item_by_dtype(draft: ProgramDraft, node: Node) -> Node | None:
    source = args_of(node)[0]
    dtype = source.meta["val"].dtype
    if dtype is torch.bool:
        op = aten.Bool.Tensor
    else:
        op = aten.Float.Tensor if dtype.is_floating_point else aten.Int.Tensor
    return draft.call(node, op, (source,), node.meta["val"])


def _fake_like(node: Node, constant: Node, draft: ProgramDraft) -> torch.Tensor:
    mode = node.meta["val"].fake_mode
    return mode.from_tensor(draft.constants[str(constant.target)], static_shapes=True)


@spelling_rules.on(aten.copy.default)
def copy_of_the_same_kind_is_its_source(draft: ProgramDraft, node: Node) -> Node | None:
    """A copy of another shape or dtype stays: it broadcasts and converts."""
    old, new = (value.meta["val"] for value in args_of(node)[:2])
    alike = old.dtype == new.dtype and same_numbers(old.shape, new.shape)
    return args_of(node)[1] if alike else None


@spelling_rules.on(aten.slice_scatter.default)
def open_end_is_joined(draft: ProgramDraft, node: Node) -> Node | None:
    """torch-mlir's lowering to StableHLO counts up to the end, even if that is 2^63 - 1. A write up
    to the last element is a concatenation with the part in front of it."""
    given = arguments_of(node)
    source, dim, start = given["self"], given["dim"], given["start"] or 0
    if given["end"] not in (None, END) or not isinstance(start, int) or start < 0:
        return None
    if given["step"] == 1:
        front = source.meta["val"].narrow(dim, 0, start)
        kept = draft.call(node, aten.slice.Tensor, (source, dim, 0, start), front)
        return draft.call(node, aten.cat.default, ([kept, given["src"]], dim), node.meta["val"])
    size = source.meta["val"].shape[dim]
    if isinstance(size, torch.SymInt):
        return None
    args = (source, given["src"], dim, start, size, given["step"])
    return draft.call(node, node.target, args, node.meta["val"])
