"""Common subexpression elimination and dead code removal. Only pure ops are touched: nothing
random, nothing with an effect. Two user outputs never become one tensor. Symbolic scalars with the
same expression are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Graph, Node

from ingot.passes.base import Pass, ProgramDraft
from ingot.program.spec import is_pure


@dataclass(frozen=True)
class Cleanup(Pass):
    name: ClassVar[str] = "cleanup"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        unused = remove_unused(draft.graph)
        merged = merge_equal(draft)
        unused += remove_unused(draft.graph) if merged else 0
        counts = {"equal values merged": merged, "unused values removed": unused}
        return [f"{what}: {count}" for what, count in counts.items() if count]


def remove_unused(graph: Graph) -> int:
    removed = 0
    for node in reversed(list(graph.nodes)):
        if not node.users and is_pure(node):
            graph.erase_node(node)
            removed += 1
    return removed


def merge_equal(draft: ProgramDraft) -> int:
    draft.refresh()
    seen: dict[Any, Node] = {}
    merged = 0
    for node in list(draft.graph.nodes):
        key = _key(node)
        if key is None:
            continue
        first = seen.setdefault(key, node)
        if first is node or node.op == "placeholder":
            continue
        if node in draft.escaping and first in draft.escaping:
            continue
        draft.swap(node, first)
        merged += 1
    return merged


def _key(node: Node) -> Any:
    """Equal for calls that must give equal values; None for nodes that must not be merged."""
    number = node.meta.get("val")
    if isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool):
        return type(number), number.node.expr
    if "unbacked_bindings" in node.meta or not is_pure(node):
        return None
    return node.op, node.target, _frozen(node.args), _frozen(node.kwargs)


def _frozen(value: Any) -> Any:
    """A hashable form that distinguishes 1, 1.0 and True, and 0.0 from -0.0."""
    kind = type(value)
    if kind is Node or kind is int:
        return value
    if isinstance(value, tuple | list):
        return tuple([_frozen(item) for item in value])
    if isinstance(value, dict):
        return tuple([(key, _frozen(item)) for key, item in sorted(value.items())])
    if isinstance(value, slice):
        return "slice", _frozen((value.start, value.stop, value.step))
    if isinstance(value, float | complex | torch.SymInt | torch.SymFloat):
        return kind, repr(value)
    return kind, value
