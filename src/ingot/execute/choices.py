"""Steps that go several ways, by a size. Comes in: a table from sizes to ways, and what makes the
step of each way; goes out: in the writer's open segment that step, or a branch that compares the
size natively. What holds: only ways that the table names are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ingot.codegen.executor import steering_address
from ingot.dispatch.ranges import RangeTable
from ingot.plan.segment import ZERO, NativeStep, Word
from ingot.program.shapes import Size

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter


def write_choice(
    writer: RunnerWriter,
    table: RangeTable,
    size: Size,
    makers: Mapping[str, Callable[[], NativeStep]],
) -> None:
    writer.segment.steps.append(chosen_step(table, size, makers))


def chosen_step(
    table: RangeTable, size: Size, makers: Mapping[str, Callable[[], NativeStep]]
) -> NativeStep:
    names = dict.fromkeys(row.serves for row in table.rows)
    made = {name: makers[name]() for name in names}
    *before, last = table.rows
    step = made[last.serves]
    for row in reversed(before):
        high = row.box[0].high
        assert high is not None
        step = _branch(size, high, made[row.serves], step)
    return step


def _branch(size: Size, high: int, within: NativeStep, above: NativeStep) -> NativeStep:
    words: tuple[Any, ...] = (Word(ZERO, size), Word(ZERO, high), Word(ZERO, 0))
    return NativeStep(steering_address("branch"), words, within.source, ((within,), (above,)))
