"""Chooses among the builtin variants of a launch. If the choice depends on a dynamic size, native
code branches on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ingot.dispatch.builtin_variants import BUILT_IN, THREADS
from ingot.dispatch.ranges import RangeTable, Row
from ingot.dispatch.variants import BY_HAND, Variants
from ingot.plan.decisions import Decisions
from ingot.plan.ir import NOWHERE, AtMost, Branch, Op
from ingot.program.shapes import Size

INT8 = "option weights=int8"
NOT_IN_PLACE = "BLAS cannot read the operands in place"
GROUNDS = {
    BUILT_IN: "built-in threshold", BY_HAND: "option variants",
    INT8: INT8, NOT_IN_PLACE: NOT_IN_PLACE,
}  # fmt: skip
"""What the choice of a row rests on; any other row is from a tuning record."""


def choose_variants(
    name: str, decisions: Decisions, table: RangeTable, size: Size,
    makers: Mapping[str, Callable[[], Sequence[Op]]],
) -> list[Op]:  # fmt: skip
    """The ops of the variant that the table names, or branches between several. Builds only
    these."""
    note_variants(name, decisions, table)
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


def note_variants(name: str, decisions: Decisions, table: RangeTable) -> None:
    for line in _lines(name, table):
        decisions.choose_variants.add(line)


def thread_choices(variants: Variants) -> Iterator[str]:
    """The choices between one thread and several, which hold for the whole program."""
    for chosen in variants.made.values():
        if chosen.variants == THREADS:
            yield from _lines(chosen.name, chosen.table)


def _lines(name: str, table: RangeTable) -> Iterator[str]:
    for row in table.rows:
        sizes = f" for sizes {row.box[0].as_text()}" if len(table.rows) > 1 else ""
        yield f"{name}: {row.serves}{sizes} ({_ground(row)})"


def _ground(row: Row) -> str:
    return GROUNDS.get(row.why) or f"tuning record: {row.why}"
