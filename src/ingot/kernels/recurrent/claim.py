"""A call of the LSTM op in a plan: its operands and the arguments of the launch. The pass that
wrote the call made sure that there is code for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import fx

from ingot.kernels.family import Claim, Pair, Reason
from ingot.passes.recur import LAYER, why_not_native
from ingot.plan.derived import derived
from ingot.program.shapes import Size, shape_of, strides_of


@dataclass(frozen=True)
class Recurrence(Claim):
    """An LSTM layer."""

    gates: fx.Node
    weight: fx.Node
    hidden: fx.Node
    cell: fx.Node
    backward: bool

    def equal_sizes(self) -> Iterator[Pair]:
        _, batch, _ = shape_of(self.gates)
        for state in (self.hidden, self.cell):
            yield shape_of(state)[0], batch

    def reads(self) -> list[fx.Node]:
        return [self.gates, self.hidden, self.cell, *derived(self.weight).roots]

    def sizes(self) -> list[Size]:
        """The arguments after the pointers."""
        steps, batch, _ = shape_of(self.gates)
        rows = [strides_of(n)[0] for n in (self.hidden, self.cell)]
        return [steps, batch, shape_of(self.hidden)[1], *rows, int(self.backward)]


def recurrence_of(node: fx.Node, frozen: set[fx.Node]) -> Recurrence | Reason:
    if node.target is LAYER:  # passes/recur.py left it
        return Reason(why_not_native(node) or "its results are not read")
    call = Recurrence(node, *node.args)  # type: ignore[arg-type]
    if 0 in (*shape_of(call.gates), *shape_of(call.hidden)):
        return Reason("its sequence or its state is empty")
    if not all(root in frozen for root in derived(call.weight).roots):
        return Reason("its recurrent weight is not frozen")
    return call
