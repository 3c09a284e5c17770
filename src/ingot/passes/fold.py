"""Constant folding. Comes in: a program; goes out: the same with small values that depend on
nothing but constants computed now. A result whose elements are all one number becomes a full
tensor, which costs nothing to read; any other becomes a constant. What holds: only pure ops, only
up to a bound in bytes, never a parameter, never what is cheap as it is (a full or arange of its
own).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch._ops import OpOverload
from torch.fx import Node
from torch.fx.node import map_arg
from torch.utils._python_dispatch import _disable_current_modes

from ingot.passes.base import Draft, Pass
from ingot.passes.normalize import respell, val
from ingot.program.spec import is_pure

aten = torch.ops.aten
_FACTORIES = (aten.full.default, aten.arange.start_step)
_EXACT_AS_NUMBER = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bfloat16,
    torch.float16,
    torch.float32,
    torch.float64,
)


@dataclass(frozen=True)
class Fold(Pass):
    name: ClassVar[str] = "fold"
    max_bytes: int = 64 * 1024
    """No value larger than this is computed."""

    def rewrite(self, draft: Draft) -> list[str]:
        known = self._known(draft)
        if not known:
            return []
        with torch.no_grad(), torch.inference_mode(False), _disable_current_modes():
            written = _write(draft, known, _values(known, draft.constants))
        return [f"values computed: {written}"] if written else []

    def _known(self, draft: Draft) -> list[Node]:
        """The nodes that depend on constants only, in order; empty if there is nothing to gain."""
        known: dict[Node, None] = {}
        gain = False
        for node in draft.graph.nodes:
            if not self._is_small(node):
                continue
            if node.op == "get_attr":
                if node.target in draft.constants:
                    known[node] = None
                    gain = gain or _is_scalar(node)
            elif self._is_foldable(node) and all(n in known for n in node.all_input_nodes):
                known[node] = None
                gain = gain or node.target not in _FACTORIES
        return list(known) if gain else []

    def _is_small(self, node: Node) -> bool:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return False
        if value.device.type != "cpu" or not all(isinstance(n, int) for n in value.shape):
            return False
        return value.numel() * value.element_size() <= self.max_bytes

    def _is_foldable(self, node: Node) -> bool:
        if not isinstance(node.target, OpOverload) or not is_pure(node):
            return False
        return bool(node.all_input_nodes) or node.target in _FACTORIES


def _is_scalar(node: Node) -> bool:
    return val(node).numel() == 1 and val(node).dtype in _EXACT_AS_NUMBER


def _values(nodes: list[Node], constants: Mapping[str, torch.Tensor]) -> dict[Node, torch.Tensor]:
    values: dict[Node, torch.Tensor] = {}
    for node in nodes:
        if node.op == "get_attr":
            values[node] = constants[str(node.target)].detach()
            continue
        if any(source not in values for source in node.all_input_nodes):
            continue
        args: Any = map_arg(node.args, values.__getitem__)
        kwargs: Any = map_arg(node.kwargs, values.__getitem__)
        try:
            values[node] = node.target(*args, **kwargs)  # type: ignore[operator]
        except Exception:  # it fails at run time, as in eager, and not while compiling
            continue
    return values


def _write(draft: Draft, known: list[Node], values: Mapping[Node, torch.Tensor]) -> int:
    """Replace the values that are read by something that is not folded itself."""
    draft.refresh()
    inside = {node for node in known if node in values}
    written = 0
    for node in known:
        if node not in inside or node.target in _FACTORIES or set(node.users) <= inside:
            continue
        if _is_view_of_kept(node, inside):
            continue
        written += _replace(draft, node, values[node])
    return written


def _is_view_of_kept(node: Node, inside: set[Node]) -> bool:
    """A constant read as it is, and an expansion of a number, are best left."""
    if node.op == "get_attr":
        return not _is_scalar(node)
    return node.target is aten.expand.default


def _replace(draft: Draft, node: Node, value: torch.Tensor) -> int:
    one = _one_number(value)
    if one is not None and node not in draft.escaping and value.is_contiguous():
        sizes = list(value.shape)
        options = {"dtype": value.dtype, "device": value.device}
        if node.op == "call_function":
            respell(node, aten.full.default, (sizes, one), **options)
            return 1
        made = draft.call(node, aten.full.default, (sizes, one), val(node), **options)
        draft.swap(node, made)
        return 1
    if node.op == "get_attr":
        return 0
    if node in draft.escaping:
        # The user may write to what they get: it is computed for them each time.
        return 0
    if tuple(value.stride()) != tuple(val(node).stride()):
        return 0
    draft.swap(node, draft.add_constant(node, value))
    return 1


def _one_number(value: torch.Tensor) -> Any:
    """The number all elements are; None if they differ. -0.0 and NaN are kept as they are."""
    if value.numel() == 0 or value.dtype not in _EXACT_AS_NUMBER:
        return None
    flat = value.reshape(-1)
    first = flat[0]
    if value.numel() > 1:
        bits = flat.view(_BITS[flat.element_size()])
        if not bool((bits == bits[0]).all()):
            return None
    return first.item()


_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
