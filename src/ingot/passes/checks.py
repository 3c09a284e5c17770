"""Remove assertions that cannot fail. Tracers emit one for every bound of a data-dependent size and
for the dtype of every converted tensor. Those implied by the size or the tensor itself are removed:
no size is negative, and a mask selects no more elements than it has. The user's own checks stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import sympy
import torch
from torch.fx import Node

from ingot.passes.base import Pass, ProgramDraft
from ingot.program.graph import placeholders
from ingot.program.shapes import arguments_of
from ingot.program.symbols import makers

aten = torch.ops.aten
METADATA = aten._assert_tensor_metadata.default
CHECKS = (aten._assert_scalar.default, METADATA)


@dataclass(frozen=True)
class Checks(Pass):
    name: ClassVar[str] = "checks"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        known = makers(draft.graph)
        for node in placeholders(draft.graph):
            if isinstance(val(node), torch.Tensor):
                known.update({str(size): node for size in val(node).shape})
        nodes = draft.graph.nodes
        checks = [n for n in nodes if n.target is aten._assert_scalar.default]
        idle = [check for check in checks if _holds(check.args[0], known)]
        idle += [n for n in nodes if n.target is METADATA and _is_as_told(n)]
        for check in idle:
            draft.graph.erase_node(check)
        return [f"checks that cannot fail: {len(idle)}"] if idle else []


def _is_as_told(check: Node) -> bool:
    """Whether the tensor's metadata satisfies the assertion."""
    given = arguments_of(check)
    value = val(given["a"])
    if given["size"] is not None or given["stride"] is not None:
        return False
    told = {name: given[name] for name in ("dtype", "device", "layout")}
    return all(want is None or getattr(value, name) == want for name, want in told.items())


def _holds(condition: Any, known: dict[str, Node]) -> bool:
    value = condition.meta.get("val") if isinstance(condition, Node) else condition
    if not isinstance(value, torch.SymBool):
        return value is True
    expr = value.node.expr
    if expr == sympy.true:
        return True
    if not isinstance(expr, sympy.Ge | sympy.Le) or not isinstance(expr.lhs, sympy.Symbol):
        return False
    maker = known.get(expr.lhs.name)
    if maker is None or not expr.rhs.is_Integer or not isinstance(val(maker), torch.Tensor):
        return False
    if isinstance(expr, sympy.Ge):
        return int(expr.rhs) <= 0
    most = _most(maker)
    return most is not None and most <= int(expr.rhs)


def val(node: Node) -> Any:
    return node.meta.get("val")


def _most(maker: Node) -> int | None:
    """The maximum length of the node's result, or None if unknown."""
    if maker.target is aten.nonzero.default:
        mask = maker.args[0]
    elif maker.target is aten.index.Tensor:
        masks = [m for m in maker.args[1] if m is not None]  # type: ignore[union-attr]
        mask = masks[0] if len(masks) == 1 else None
    else:
        return None
    if not isinstance(mask, Node):
        return None
    count: Any = val(mask).numel()
    return count if isinstance(count, int) else None
