"""Rules of the normalize pass for reductions, factories, scalar arithmetic, matmuls and pooling, in
the same rule table and with the same invariants.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from ingot.passes.base import ProgramDraft, args_of
from ingot.passes.normalize import argument, named_dims, normalize_rules, respell, val

aten = torch.ops.aten


@normalize_rules.on(aten.sum.default, aten.sum.dim_IntList)
def name_summed_dims(draft: ProgramDraft, node: Node) -> Node | None:
    source = val(args_of(node)[0])
    whole = node.target is aten.sum.default
    dims = named_dims(None if whole else argument(node, 1, "dim", None), source.dim())
    keepdim = False if whole else argument(node, 2, "keepdim", False)
    kwargs = {} if source.dtype == val(node).dtype else {"dtype": val(node).dtype}
    args = (args_of(node)[0], dims, keepdim)
    if args == args_of(node) and kwargs == node.kwargs:
        return None
    return respell(node, aten.sum.dim_IntList, args, **kwargs)


@normalize_rules.on(aten.amax.default, aten.amin.default)
def name_extreme_dims(draft: ProgramDraft, node: Node) -> Node | None:
    dims = named_dims(argument(node, 1, "dim", ()), val(args_of(node)[0]).dim())
    args = (args_of(node)[0], dims, argument(node, 2, "keepdim", False))
    return None if args == args_of(node) else respell(node, node.target, args)


@normalize_rules.on(aten.max.default, aten.min.default)
def write_whole_extreme(draft: ProgramDraft, node: Node) -> Node | None:
    target = aten.amax.default if node.target is aten.max.default else aten.amin.default
    whole = val(args_of(node)[0])
    if any(isinstance(size, int) and size == 0 for size in whole.shape):
        return None  # max and amax raise different errors
    return respell(node, target, (args_of(node)[0], list(range(whole.dim())), False))


@normalize_rules.on(
    aten.any.dim,
    aten.all.dim,
    aten.prod.dim_int,
    aten.max.dim,
    aten.min.dim,
    aten.cumsum.default,
    aten.cumprod.default,
    aten.gather.default,
    aten.index_select.default,
    aten.select.int,
)
def name_one_dim(draft: ProgramDraft, node: Node) -> Node | None:
    rank = val(args_of(node)[0]).dim()
    if len(args_of(node)) < 2 or not isinstance(args_of(node)[1], int) or rank == 0:
        return None
    dim = args_of(node)[1] % rank
    if dim == args_of(node)[1]:
        return None
    return respell(node, node.target, (args_of(node)[0], dim, *args_of(node)[2:]), **node.kwargs)


@normalize_rules.on(aten.cat.default)
def name_joined_dim(draft: ProgramDraft, node: Node) -> Node | None:
    dim = argument(node, 1, "dim", 0) % val(node).dim()
    args = (args_of(node)[0], dim)
    return None if args == args_of(node) else respell(node, aten.cat.default, args)


_PRODUCTS: dict[Any, Any] = {
    aten.addmm.default: aten.mm.default,
    aten.baddbmm.default: aten.bmm.default,
}


@normalize_rules.on(*_PRODUCTS)
def write_factors_out(draft: ProgramDraft, node: Node) -> Node | None:
    """beta · addend + alpha · (a · b). Half-precision types stay whole: they are rounded once."""
    addend, left, right = args_of(node)
    beta, alpha = (node.kwargs.get(name, 1) for name in ("beta", "alpha"))
    value = val(node)
    if beta == alpha == 1 or value.dtype not in (torch.float32, torch.float64):
        return None
    total = draft.call(node, _PRODUCTS[node.target], (left, right), value)
    if alpha != 1:
        total = draft.call(node, aten.mul.Tensor, (total, alpha), value)
    if beta == 0:  # a NaN in the addend does not propagate either
        return total
    if beta != 1:
        addend = draft.call(node, aten.mul.Tensor, (addend, beta), val(addend))
    return respell(node, aten.add.Tensor, (total, addend))


_NUMBER_FORMS: dict[Any, Any] = {
    aten.add.Scalar: aten.add.Tensor,
    aten.sub.Scalar: aten.sub.Tensor,
    aten.mul.Scalar: aten.mul.Tensor,
    aten.div.Scalar: aten.div.Tensor,
    aten.div.Scalar_mode: aten.div.Tensor_mode,
}


@normalize_rules.on(*_NUMBER_FORMS)
def join_number_form(draft: ProgramDraft, node: Node) -> Node | None:
    """`x + 1` becomes add.Tensor with a scalar, as most tracers write it."""
    args, kwargs = tuple(args_of(node)), dict(node.kwargs)
    if len(args) > 2:
        kwargs["alpha"] = args[2]
        args = args[:2]
    return respell(node, _NUMBER_FORMS[node.target], args, **kwargs)


@normalize_rules.on(aten.scalar_tensor.default)
def write_scalar_as_full(draft: ProgramDraft, node: Node) -> Node | None:
    return respell(node, aten.full.default, ([], args_of(node)[0]), **_options(node))


@normalize_rules.on(aten.full.default)
def write_full_options(draft: ProgramDraft, node: Node) -> Node | None:
    options = _options(node)
    return None if options == node.kwargs else respell(node, node.target, args_of(node), **options)


@normalize_rules.on(aten.arange.default, aten.arange.start, aten.arange.start_step)
def write_range_options(draft: ProgramDraft, node: Node) -> Node | None:
    start: Any = 0
    end, step = args_of(node)[0], 1
    if node.target is not aten.arange.default:
        start, end = args_of(node)[:2]
        step = argument(node, 2, "step", 1)
    args, options = (start, end, step), _options(node)
    if node.target is aten.arange.start_step and args == args_of(node) and options == node.kwargs:
        return None
    return respell(node, aten.arange.start_step, args, **options)


def _options(node: Node) -> dict[str, Any]:
    return {"dtype": val(node).dtype, "device": val(node).device}


@normalize_rules.on(aten._unsafe_index.Tensor)
def write_index(draft: ProgramDraft, node: Node) -> Node | None:
    """The op comes from a decomposition whose indices are in range: no check is needed."""
    node.meta["in_bounds"] = True
    return respell(node, aten.index.Tensor, tuple(args_of(node)))


_POOLS = (
    aten.max_pool2d_with_indices.default,
    aten.max_pool3d_with_indices.default,
    aten.avg_pool2d.default,
    aten.avg_pool3d.default,
    aten.avg_pool1d.default,
)


@normalize_rules.on(*_POOLS)
def write_pool_stride(draft: ProgramDraft, node: Node) -> Node | None:
    """The stride defaults to the kernel size."""
    if argument(node, 2, "stride", []):
        return None
    kwargs = {key: value for key, value in node.kwargs.items() if key != "stride"}
    args = (args_of(node)[0], args_of(node)[1], list(args_of(node)[1]), *args_of(node)[3:])
    return respell(node, node.target, args, **kwargs)
