"""Control flow in one form: calls of cond, while_loop, scan and map as a Control. A body takes the
carried values, then the sliced ones, then those shared by all iterations. It returns the carried
values, then one element of each stacked result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import fx

higher = torch.ops.higher_order


@dataclass(frozen=True)
class Control:
    kind: Literal["branch", "loop", "scan"]
    bodies: tuple[fx.Node, ...]
    """The branches, the first for True; or the test and the body of a loop; or the body of a
    scan."""
    predicate: Any = None
    carried: tuple[Any, ...] = ()
    """The initial values."""
    sliced: tuple[Any, ...] = ()
    """Each iteration gets the next element along the first dimension."""
    shared: tuple[Any, ...] = ()

    def operands(self) -> tuple[Any, ...]:
        """The operands, in the order of the placeholders of a body."""
        return (*self.carried, *self.sliced, *self.shared)

    def is_sliced(self, k: int) -> bool:
        """Whether operand k is sliced."""
        return 0 <= k - len(self.carried) < len(self.sliced)


def control_of(node: fx.Node) -> Control | None:
    """None if the node is not a known control-flow op."""
    make = _FORMS.get(node.target)
    return make(*node.args) if make is not None and not node.kwargs else None


def _cond(predicate: Any, yes: fx.Node, no: fx.Node, operands: Any = ()) -> Control:
    return Control("branch", (yes, no), predicate, shared=tuple(operands))


def _while_loop(test: fx.Node, body: fx.Node, carried: Any, shared: Any = ()) -> Control:
    return Control("loop", (test, body), carried=tuple(carried), shared=tuple(shared))


def _scan(body: fx.Node, carried: Any, sliced: Any, shared: Any = ()) -> Control:
    return Control("scan", (body,), None, tuple(carried), tuple(sliced), tuple(shared))


def _map(body: fx.Node, sliced: Any, shared: Any = ()) -> Control:
    return Control("scan", (body,), sliced=tuple(sliced), shared=tuple(shared))


_FORMS: dict[Any, Callable[..., Control]] = {
    higher.cond: _cond,
    higher.while_loop: _while_loop,
    higher.scan: _scan,
    higher.map_impl: _map,
}
