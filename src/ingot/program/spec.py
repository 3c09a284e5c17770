"""Legality at each level, as tables. `effects` are the ops with an effect beside their value and
without a functional form: they keep their position and run in eager, in program order. `not_core`
are variants that must be gone at core level, each with its replacement.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import Node
from torch.utils import _pytree as pytree

from ingot.program.native_ops import PURE_NAMESPACES
from ingot.program.program import Level
from ingot.program.schema_violations import schema_violations, writes_silently

aten = torch.ops.aten

effects: frozenset[Any] = frozenset(
    {
        aten.copy_.default,
        aten.set_.source_Tensor,
        aten.set_.source_Storage_storage_offset,
        aten.resize_.default,
        aten._assert_async.default,
        aten._assert_async.msg,
        aten._assert_scalar.default,
        aten._assert_tensor_metadata.default,
        aten._print.default,
        aten.sym_constrain_range.default,
        aten.sym_constrain_range_for_size.default,
        torch.ops.inductor.resize_storage_bytes_.default,
    }
)

not_core: dict[Any, str] = {
    aten.alias.default: "its argument",
    aten.detach.default: "its argument",
    aten.lift.default: "its argument",
    aten.lift_fresh.default: "its argument",
    aten.lift_fresh_copy.default: "clone, or its argument",
    aten.t.default: "permute",
    aten.transpose.int: "permute",
    aten._unsafe_view.default: "view",
    aten.reshape.default: "view",
    aten._reshape_alias.default: "view, or as_strided",
    aten.sum.default: "sum.dim_IntList with every dim named",
    aten.max.default: "amax with every dim named",
    aten.min.default: "amin with every dim named",
    aten.scalar_tensor.default: "full([], ...)",
    aten._unsafe_index.Tensor: 'index.Tensor with meta["in_bounds"]',
    aten.add.Scalar: "add.Tensor",
    aten.sub.Scalar: "sub.Tensor",
    aten.mul.Scalar: "mul.Tensor",
    aten.div.Scalar: "div.Tensor",
}

_PURE_MODULES = ("_operator", "math", "builtins")


def illegal(node: Node, level: Level) -> str:
    """Why this call is illegal at this level; empty if it is legal."""
    target = node.target
    if isinstance(target, HigherOrderOperator):
        return ""
    if not isinstance(target, OpOverload):
        return "" if is_symbolic_arithmetic(target) else f"{target!r} is not an ATen op"
    if target._schema.is_mutable and target not in effects:
        return "it writes to its arguments"
    if level is Level.PRE_DISPATCH:
        return _illegal_before_dispatch(node, target)
    if level is Level.CORE and target in not_core and not _raises(node):
        return f"at core level it is written as {not_core[target]}"
    return ""


def _raises(node: Node) -> bool:
    """Whether it is the extreme of an empty tensor: amax and amin raise another error."""
    if node.target not in (aten.max.default, aten.min.default):
        return False
    shape = node.args[0].meta["val"].shape  # type: ignore[union-attr]
    return any(isinstance(size, int) and size == 0 for size in shape)


def _illegal_before_dispatch(node: Node, target: OpOverload) -> str:
    """Nothing writes, and no op returns a result that violates its schema."""
    if target._schema.is_mutable and target._schema.returns:
        return "it writes to its arguments"
    kinds = schema_violations().get(target, frozenset())
    if "fresh" in kinds:
        return "it may return a view or a copy; use an op that always returns one of them"
    if writes_silently(target, node.args, node.kwargs):
        return "it writes to an argument without saying so"
    if "alias" in kinds and _shares_memory(node):
        return "it returns its argument's memory though its schema promises a fresh tensor"
    return ""


def _shares_memory(node: Node) -> bool:
    results = {_memory(v) for v in pytree.tree_leaves(node.meta.get("val"))} - {None}
    given = {_memory(n.meta.get("val")) for n in node.all_input_nodes} - {None}
    return bool(results & given)


def _memory(val: Any) -> int | None:
    if not isinstance(val, torch.Tensor) or val.layout is not torch.strided:
        return None
    return int(val.untyped_storage()._cdata)


def is_symbolic_arithmetic(target: Any) -> bool:
    """Plain Python on sizes (operator.add, math.floor, torch.sym_max ...), and getitem."""
    if target is operator.getitem:
        return True
    name = getattr(target, "__name__", "")
    return getattr(target, "__module__", "") in _PURE_MODULES or name.startswith("sym_")


def is_pure(node: Node) -> bool:
    """Whether running it once, twice or not at all differs in its value only."""
    if node.op != "call_function":
        return node.op == "get_attr"
    return _is_pure_target(node.target)


@cache
def _is_pure_target(target: Any) -> bool:
    if not isinstance(target, OpOverload):
        return is_symbolic_arithmetic(target)
    return (
        target not in effects
        and not target._schema.is_mutable
        and bool(target._schema.returns)  # one that returns nothing exists to raise
        and torch.Tag.nondeterministic_seeded not in target.tags
        and target.namespace in PURE_NAMESPACES  # a user's op may have effects
    )
