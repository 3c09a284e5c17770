"""The work of the steps of a plan: bytes and floating-point operations at the symbols' values in
the run.

A pointwise op counts as one operation per element, a reduction as one per element that it reads;
for matmuls, convolutions and attention PyTorch's own formulas count. Bytes are those of the
operands of a launch, each buffer once. A launch that computes several steps counts once, at the
step that has its time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry

from ingot.explain.origin import user_op
from ingot.explain.traffic import Hints, number, product
from ingot.fuse.region import Region
from ingot.ops.rules import pointwise_rules
from ingot.plan.ir import Buffer, Launch, Operand
from ingot.program.shapes import shape_of, size_of

ATTENTION = "scaled_dot_product_attention"
_attention = torch.ops.aten._scaled_dot_product_flash_attention


def launch_bytes(launch: Launch, hints: Hints) -> int | None:
    largest: dict[tuple[str, Any], int] = {}
    for operand, _ in launch.computes.operands():
        size = _operand_bytes(operand, hints)
        if size is None:
            return None
        key = operand.buffer, operand.offset
        largest[key] = max(size, largest.get(key, 0))
    return sum(largest.values())


def _operand_bytes(operand: Operand, hints: Hints) -> int | None:
    held = [size for size, stride in zip(operand.shape, operand.strides) if stride != 0]
    elements = product(held, hints)
    return None if elements is None else elements * operand.dtype.itemsize


def node_bytes(node: fx.Node, hints: Hints) -> int | None:
    """The operands and results of a call."""
    values = [each.meta.get("val") for each in (*node.all_input_nodes, node)]
    tensors = [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    return total(_tensor_bytes(tensor, hints) for tensor in tensors)


def _tensor_bytes(tensor: torch.Tensor, hints: Hints) -> int | None:
    held = [size_of(s) for s, t in zip(tensor.shape, tensor.stride()) if size_of(t) != 0]
    elements = product(held, hints)
    return None if elements is None else elements * tensor.dtype.itemsize


def region_flops(region: Region, hints: Hints) -> int | None:
    return total(_member_flops(node, region, hints) for node in region.members)


def _member_flops(node: fx.Node, region: Region, hints: Hints) -> int | None:
    if node in region.spaces:
        variables = {v for index in region.spaces[node] for v in index.variables()}
        return product([v.size for v in variables], hints)
    rule = pointwise_rules.get(node.target)  # type: ignore[call-overload]
    return product(shape_of(node), hints) if rule is not None and rule.cost else 0


def node_flops(node: fx.Node, hints: Hints) -> int | None:
    """None if PyTorch has no formula for the op."""
    packet = getattr(node.target, "overloadpacket", None)
    formula, args, kwargs = flop_registry.get(packet), node.args, dict(node.kwargs)
    if formula is None and user_op(node) == ATTENTION:
        formula, args, kwargs = flop_registry[_attention], node.args[:3], {}
    if formula is None:
        return None
    try:
        args, kwargs = map_arg((args, kwargs), lambda n: _example(n, hints))
        return int(formula(*args, **kwargs, out_val=_example(node, hints)))
    except Exception:  # a formula may not know every overload
        return None


def _example(node: fx.Node, hints: Hints) -> Any:
    """The node's value with sizes that are numbers and without memory."""

    def concrete(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            sizes = [number(size_of(size), hints) for size in value.shape]
            known = [size for size in sizes if size is not None]
            if len(known) < len(sizes):
                raise ValueError("a size is known only at run time")
            return torch.empty(known, dtype=value.dtype, device="meta")
        return number(size_of(value), hints) if isinstance(value, torch.SymInt) else value

    return tree_map(concrete, node.meta.get("val"))


def total(counts: Iterable[int | None]) -> int | None:
    """The sum; None if any is unknown."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def bytes_by_kind(buffers: Iterable[Buffer], hints: Hints) -> dict[str, int]:
    """Bytes of a plan's buffers, by kind; buffers of unknown size are left out."""
    found: dict[str, int] = {}
    for buffer in buffers:
        size = number(buffer.nbytes, hints)
        if size:
            found[buffer.kind.value] = found.get(buffer.kind.value, 0) + size
    return found
