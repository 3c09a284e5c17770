"""Prepare branches and loops (cond, while_loop, scan, map). A cond that is already decided is
replaced by its branch. Operands are copied to the strides that the bodies expect: a body may be
traced with other strides than it is called with, which PyTorch's own kernels accept and native code
does not.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.inline import inline_branch, replace_call
from ingot.program.graph import placeholders, same_numbers
from ingot.program.higher_order import Control, control_of

aten = torch.ops.aten


@dataclass(frozen=True)
class PrepareControlFlow(Pass):
    name: ClassVar[str] = "prepare_control_flow"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        notes = []
        for node in list(draft.graph.nodes):
            control = control_of(node)
            if control is None:
                continue
            decided = _decided(control)
            if decided is not None:
                notes.append(f"{node.name} is always {decided}: only that branch is left")
                replace_call(draft, node, inline_branch(draft, node, decided))
            else:
                _lay_out(draft, node, control)
        draft.refresh()
        return notes


def _decided(control: Control) -> bool | None:
    """The value of a predicate that sizes and their ranges decide."""
    if control.kind != "branch":
        return None
    given = control.predicate
    value = given.meta.get("val") if isinstance(given, Node) else given
    if isinstance(value, bool):
        return value
    if not isinstance(value, torch.SymBool):
        return None
    if statically_known_true(value):
        return True
    return False if statically_known_true(torch.sym_not(value)) else None


def _lay_out(draft: ProgramDraft, node: Node, control: Control) -> None:
    """Copy operands whose strides differ from those of the bodies' inputs."""
    for body in control.bodies:
        inner = placeholders(operator.attrgetter(str(body.target))(draft.module).graph)
        for k, (place, given) in enumerate(zip(inner, control.operands(), strict=True)):
            wanted = _wanted(control, k, place, given)
            if wanted is None:
                continue
            fake = given.meta["val"].new_empty_strided(given.meta["val"].shape, wanted)
            copy = draft.call(node, aten.clone.default, (given,), fake)
            node.replace_input_with(given, copy)
            again = control_of(node)
            assert again is not None
            control = again


def _wanted(control: Control, k: int, place: Node, given: Any) -> tuple[Any, ...] | None:
    """The strides to which an operand must be copied; None if none is needed."""
    inner, outer = place.meta.get("val"), given.meta.get("val") if isinstance(given, Node) else None
    for value in (inner, outer):
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return None
    assert isinstance(inner, torch.Tensor) and isinstance(outer, torch.Tensor)
    if not control.is_sliced(k):
        return None if same_numbers(inner.stride(), outer.stride()) else tuple(inner.stride())
    if same_numbers(inner.stride(), outer.stride()[1:]):
        return None
    extent: Any = 1
    for size, stride in zip(inner.shape, inner.stride(), strict=True):
        extent = extent + (size - 1) * stride
    return (extent, *inner.stride())
