"""Nodes that no kernel computes: the kind of each call, and whether its order among the others
matters."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

from ingot.fuse.views import view_rules
from ingot.program.native_ops import PURE_NAMESPACES

_LIBRARY = (
    "mm", "bmm", "addmm", "baddbmm", "convolution", "convolution_backward", "scaled_dot_product",
    "attention", "sort", "topk", "scatter", "index_put", "nonzero", "pool", "fft", "linalg", "rand",
    "bernoulli", "dropout", "dot", "mv", "addmv", "embedding", "upsample", "cat", "lstm", "gru",
    "cum", "normal", "uniform", "multinomial",
)  # fmt: skip
_HOST_EFFECTS = {
    torch.ops.aten._assert_async.msg, torch.ops.aten._assert_async.default,
    torch.ops.aten._assert_scalar.default, torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.sym_constrain_range_for_size.default, torch.ops.aten.sym_constrain_range.default,
}  # fmt: skip


def call_kind(node: fx.Node) -> str:
    if node.target in view_rules or node.target is operator.getitem:
        return "view"
    if not isinstance(node.target, torch._ops.OpOverload):
        return "host"
    if not any(isinstance(v, torch.Tensor) for v in _values(node.meta.get("val"))):
        return "host"
    name = node.target._schema.name.split("::")[1]
    return "library" if any(word in name for word in _LIBRARY) else "fallback"


def _values(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def is_effect(node: fx.Node) -> bool:
    """Is it random, mutating or otherwise not a pure function of its operands? Such nodes keep
    their order."""
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        return True
    if not isinstance(target, torch._ops.OpOverload):
        return False
    if target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags:
        return True
    return target.namespace not in PURE_NAMESPACES or target in _HOST_EFFECTS
