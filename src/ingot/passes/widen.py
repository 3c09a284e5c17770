"""Run half-precision matmuls and attention in f32, between conversions, where PyTorch's library has
no kernels for them on this machine. Results are rounded once at the end, as the library rounds
them. A packed weight stays in half precision; conversions of computed values fuse with the kernels
before and after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.machine import library_multiplies
from ingot.ops.dtypes import HALVES
from ingot.ops.kernel_shapes import attends
from ingot.passes.attention import FLASH
from ingot.passes.base import Pass, ProgramDraft, args_of
from ingot.passes.frozen import freeze, frozen_values
from ingot.passes.normalize import val
from ingot.program.graph import is_item
from ingot.program.shapes import arguments_of

aten = torch.ops.aten
CONVERT = torch.ops.prims.convert_element_type.default
PRODUCTS = (aten.mm.default, aten.bmm.default, aten.addmm.default, aten.baddbmm.default)
WIDE = torch.float32


@dataclass(frozen=True)
class Widen(Pass):
    name: ClassVar[str] = "widen"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        writer = _Writer(draft, frozen_values(draft))
        found = [node for node in draft.graph.nodes if _is_narrow(node)]
        for node in found:
            if node.target is FLASH:
                writer.attention(node)
            else:
                writer.matmul(node)
        return [f"half-precision matmuls in f32: {len(found)}"] if found else []


def _is_narrow(node: Node) -> bool:
    if node.target in PRODUCTS:
        return _is_half(*node.all_input_nodes)
    if node.target is not FLASH or not _is_half(*node.all_input_nodes):
        return False
    given = arguments_of(node)
    first_alone = all(is_item(user) and user.args[1] == 0 for user in node.users if user.users)
    return first_alone and not given["dropout_p"] and attends(WIDE, val(given["query"]).shape[-1])


def _is_half(*nodes: Node) -> bool:
    """Whether all have the same half-precision dtype and the library cannot multiply it."""
    values = [node.meta["val"] for node in nodes]
    dtype = values[0].dtype
    return (
        dtype in HALVES
        and not library_multiplies(dtype)
        and all(isinstance(v, torch.Tensor) and v.dtype is dtype for v in values)
        and all(v.device.type == "cpu" for v in values)
    )


@dataclass(frozen=True)
class _Writer:
    draft: ProgramDraft
    frozen: set[Node]
    known: dict[Node, Node] = field(default_factory=dict)
    """Values that have been converted already."""

    def converted(self, before: Node, node: Node, dtype: torch.dtype) -> Node:
        return self.draft.call(before, CONVERT, (node, dtype), CONVERT(val(node), dtype))

    def wide(self, node: Node) -> Node:
        """The same call on operands converted to f32."""

        def widened(arg: Any) -> Any:
            if arg not in self.known:
                self.known[arg] = self.converted(node, arg, WIDE)
                if arg in self.frozen:
                    freeze(self.known[arg])
            return self.known[arg]

        args, kwargs = torch.fx.node.map_arg((args_of(node), node.kwargs), widened)
        value = torch.utils._pytree.tree_map(_widened, node.meta["val"])
        return self.draft.call(node, node.target, args, value, **kwargs)

    def matmul(self, node: Node) -> None:
        wide = self.wide(node)
        self.draft.swap(node, self.converted(node, wide, val(node).dtype))

    def attention(self, node: Node) -> None:
        wide = self.wide(node)
        for item in list(node.users):
            if item.users:
                first = self.draft.call(item, item.target, (wide, 0), _widened(val(item)))
                self.draft.swap(item, self.converted(item, first, val(item).dtype))
            else:
                self.draft.graph.erase_node(item)
        self.draft.graph.erase_node(node)


def _widened(value: torch.Tensor) -> torch.Tensor:
    return CONVERT(value, WIDE)
