"""Constant folding. Small values that depend on constants only are computed at compile time. A
result whose elements are all equal becomes aten.full, which costs nothing to read; any other
becomes a constant. Only pure ops are folded, up to a limit in bytes; never a parameter, and never a
value that is cheap already (a full or arange by itself).
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

from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.normalize import val
from ingot.program.graph import is_view
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
    """Larger values are not folded."""

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        known = self._known(draft)
        if not known:
            return []
        with torch.no_grad(), torch.inference_mode(False), _disable_current_modes():
            written = _write(draft, known, _values(known, draft.constants))
        return [f"values computed: {written}"] if written else []

    def _known(self, draft: ProgramDraft) -> list[Node]:
        """The nodes that depend on constants only, in program order; empty if folding gains
        nothing."""
        known: dict[Node, None] = {}
        gain = False
        for node in draft.graph.nodes:
            if node.op == "get_attr":
                if node.target in draft.constants and self._is_small(node):
                    known[node] = None
                    gain = gain or _is_scalar(node)
            elif node.op == "call_function" and self._is_foldable(node, known):
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

    def _is_foldable(self, node: Node, known: Mapping[Node, None]) -> bool:
        sources = node.all_input_nodes
        if not sources and node.target not in _FACTORIES:
            return False
        if not all(source in known for source in sources):
            return False
        return isinstance(node.target, OpOverload) and is_pure(node) and self._is_small(node)


def evaluated(draft: ProgramDraft, node: Node, most: int) -> torch.Tensor | None:
    """The value of a node that depends on constants only and has at most `most` elements; else
    None."""
    wanted: dict[Node, None] = {}

    def visit(at: Node) -> bool:
        if at in wanted:
            return True
        value = at.meta.get("val")
        if not isinstance(value, torch.Tensor) or not all(isinstance(n, int) for n in value.shape):
            return False
        if value.numel() > most or not is_pure(at):
            return False
        if at.op == "get_attr":
            fits = at.target in draft.constants
        else:
            fits = isinstance(at.target, OpOverload) and bool(
                at.all_input_nodes or at.target in _FACTORIES
            )
        if not fits or not all(visit(source) for source in at.all_input_nodes):
            return False
        wanted[at] = None
        return True

    if not visit(node):
        return None
    with torch.no_grad(), torch.inference_mode(False), _disable_current_modes():
        return _values(list(wanted), draft.constants).get(node)


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
        except Exception:  # it fails at run time instead, as in eager
            continue
    return values


def _write(draft: ProgramDraft, known: list[Node], values: Mapping[Node, torch.Tensor]) -> int:
    """Replace the folded values that are read by a node that stays."""
    draft.refresh()
    gone: set[Node] = set()
    chosen = []
    for node in reversed(known):
        if node not in values or not _is_gain(draft, node, values[node]):
            continue
        if not all(user in gone for user in node.users):
            chosen.append(node)
        gone.add(node)
    for node in reversed(chosen):
        _replace(draft, node, values[node])
    return len(chosen)


def _is_gain(draft: ProgramDraft, node: Node, value: torch.Tensor) -> bool:
    """False for values that cost nothing already: a factory, a view, a constant read as it is."""
    if node.target in _FACTORIES or is_view(node):
        return False
    if node.op == "get_attr":
        return _is_scalar(node) and node not in draft.escaping
    if tuple(value.stride()) != tuple(val(node).stride()):
        return False
    # The user may write to an output: a full is fresh in each call, a constant is not.
    return node not in draft.escaping or _is_full(value)


def _is_full(value: torch.Tensor) -> bool:
    return value.is_contiguous() and _one_number(value) is not None


def _replace(draft: ProgramDraft, node: Node, value: torch.Tensor) -> None:
    if not _is_full(value):
        draft.swap(node, draft.add_constant(node, value))
        return
    number, options = _one_number(value), {"dtype": value.dtype, "device": value.device}
    made = draft.call(node, aten.full.default, (list(value.shape), number), val(node), **options)
    draft.swap(node, made)


def _one_number(value: torch.Tensor) -> Any:
    """The value that all elements have, or None if they differ. -0.0 and NaN are preserved."""
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
