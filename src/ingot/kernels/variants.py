"""Multi-versioning of a launch: native code chooses among builtin variants by a size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ingot.dispatch.ranges import RangeTable
from ingot.plan.ir import NOWHERE, AtMost, Branch, Op
from ingot.program.shapes import Size


def choose(
    table: RangeTable, size: Size, makers: Mapping[str, Callable[[], Sequence[Op]]]
) -> list[Op]:
    """The ops of the variant that the table names, or branches between several. Builds only
    these."""
    names = dict.fromkeys(row.serves for row in table.rows)
    made = {name: list(makers[name]()) for name in names}
    *before, last = table.rows
    ops = made[last.serves]
    for row in reversed(before):
        high = row.box[0].high
        assert high is not None
        step = getattr(ops[0], "step", NOWHERE)
        ops = [Branch(AtMost(size, high), tuple(made[row.serves]), tuple(ops), step)]
    return ops
