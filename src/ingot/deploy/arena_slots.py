"""The workspace of a plan. If the sizes of its arena are dynamic, buffers that are never in use at
the same time share a slot, whose size is that of the largest. Which ones share is decided for the
sizes of the example; the offsets of the slots are computed in each call. Tensors that a plan
allocates and does not return have slots of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ingot.plan.ir import Buffer, Kind, Plan
from ingot.plan.sizes import evaluator, symbols_in
from ingot.runtime.arena_layout import ArenaLayout

UNKNOWN = 2
"""The size of a symbol that has no example."""


class ArenaSlots:
    """`offset_of`: static offsets; `slot_of`: numbers of the slots of all other buffers, which lie
    behind them."""

    def __init__(self, plan: Plan, examples: Mapping[str, int], returned: Collection[str]):
        buffers = [b for b in plan.buffers if b.kind is Kind.ARENA and b.lifetime is not None]
        self.offset_of: dict[str, int] = {}
        self.slot_of: dict[str, int] = {}
        self.slots: list[list[str]] = []
        self.static_bytes = 0
        layout = ArenaLayout(plan)
        if not layout.symbols():
            offsets, self.static_bytes = layout.bound(())
            self.offset_of = dict(offsets)
        else:
            self._share(buffers, examples)
        for buffer in plan.buffers:
            if buffer.kind is Kind.RESULT and buffer.name not in returned:
                self.slot_of[buffer.name] = len(self.slots)
                self.slots.append([buffer.name])

    def _share(self, buffers: list[Buffer], examples: Mapping[str, int]) -> None:
        sizes = [buffer.nbytes for buffer in buffers]
        symbols = symbols_in(sizes)
        values = [examples.get(symbol.name, UNKNOWN) for symbol in symbols]
        known = evaluator(sizes, symbols)(values)
        members: list[list[Buffer]] = []
        for number in sorted(range(len(buffers)), key=lambda i: -known[i]):
            buffer = buffers[number]
            free = (k for k, slot in enumerate(members) if not any(_meet(buffer, x) for x in slot))
            slot = next(free, len(members))
            if slot == len(members):
                members.append([])
            members[slot].append(buffer)
            self.slot_of[buffer.name] = slot
        self.slots = [[buffer.name for buffer in slot] for slot in members]


def _meet(one: Buffer, other: Buffer) -> bool:
    """Are they in use at the same time?"""
    assert one.lifetime is not None and other.lifetime is not None
    return one.lifetime[0] <= other.lifetime[1] and other.lifetime[0] <= one.lifetime[1]
