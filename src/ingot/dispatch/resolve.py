"""Resolve dispatched ops where they are called: replace each call by the implementation for its
size or, if the size is a symbol that may lie in several ranges, by nested `torch.cond` over it. The
journal records which implementation serves which range, and why. Sizes outside every range, and
sizes for which an implementation would have to assume more than is known, go to the reference.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import sympy
from torch.fx import Node

from ingot.dispatch.candidates import REFERENCE, Candidate
from ingot.dispatch.cond_chain import Arm, CondChain, whole_call
from ingot.dispatch.conditions import conditions
from ingot.dispatch.narrow import bounds_of, description, expression, world_of
from ingot.dispatch.operator import known
from ingot.dispatch.ranges import Box, Range, RangeTable, Row
from ingot.dispatch.trace import OperatorCall, Traced, Untraceable, call_of, trace
from ingot.options import Options, make_options
from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.facts import Known
from ingot.passes.inline import replace_call
from ingot.program.program import Program


def has_dispatch(program: Program) -> bool:
    return bool(known) and any(node.target in known for node in program.graph.nodes)


@dataclass(frozen=True)
class Resolve(Pass):
    name: ClassVar[str] = "resolve"
    options: Options = field(default_factory=make_options)
    table: Mapping[Any, Any] = field(default_factory=dict, repr=False)
    """Decompositions applied while implementations are traced."""
    keep: frozenset[Any] = frozenset()
    """Ops that stay whole."""
    traced: dict[Any, Traced] = field(default_factory=dict, repr=False, compare=False)
    """Repeated layers are traced once."""

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        self.traced.clear()
        notes = []
        for node in list(draft.graph.nodes):
            if node.op == "call_function" and node.target in known and node.target not in self.keep:
                notes += self._resolve(draft, node)
        draft.graph.eliminate_dead_code()
        return notes

    def _resolve(self, draft: ProgramDraft, node: Node) -> list[str]:
        dispatch = known[node.target]  # type: ignore[index]
        try:
            call = call_of(dispatch, node)
        except Untraceable as error:
            return [f"{dispatch.name}: left whole: {error}"]
        possible = _known_bounds(call, draft)
        table = self._table(call, possible)
        rows = [row for row in table.rows if _meet(row, possible)]
        arms, notes = self._arms(call, rows, possible)
        replace_call(draft, node, CondChain(draft, node, call).built(arms))
        return [*notes, *_reasons(call, arms, possible)]

    def _table(self, call: OperatorCall, possible: Sequence[Range]) -> RangeTable:
        from ingot.dispatch.tune import record_for

        dispatch = call.dispatch
        if dispatch.pinned is not None:
            return dispatch.pinned
        record = record_for(dispatch, call.bound, needed=possible, options=self.options)
        return record.table.merged()

    def _arms(
        self, call: OperatorCall, rows: Sequence[Row], possible: Sequence[Range]
    ) -> tuple[list[Arm], list[str]]:
        """The branches of the call, the last of them without a condition."""
        arms: list[Arm] = []
        notes = []
        for row in rows:
            try:
                arms.append(self._arm(call, row, possible))
            except Untraceable as error:
                notes.append(f"{call.dispatch.name}: {error}")
                instead = replace(row, serves=REFERENCE, why=f"{row.serves} cannot be traced")
                arms.append(self._arm(call, instead, possible, whole=True))
        if arms and _cover(rows, possible) and not any(arm.more for arm in arms):
            return _in_a_row(arms), notes
        outside = Row(tuple(Range(0, None) for _ in possible), REFERENCE, 1.0, "outside the ranges")
        last = self._arm(call, outside, possible, whole=True)
        return [*arms, replace(last, box=(), more=())], notes

    def _trace(self, call: OperatorCall, candidate: Candidate, box: Box) -> Traced:
        key = (candidate, box, description(tuple(call.bound.values())))
        if key not in self.traced:
            self.traced[key] = trace(call, candidate, box, self.table)
        return self.traced[key]

    def _arm(
        self, call: OperatorCall, row: Row, possible: Sequence[Range], whole: bool = False
    ) -> Arm:
        """With `whole`, a candidate that cannot be traced for all these sizes stays a call."""
        candidate = call.dispatch.candidates.get(row.serves)
        if candidate is None:
            raise Untraceable(f"there is no implementation {row.serves}")
        try:
            traced = self._trace(call, candidate, row.box)
        except Untraceable:
            if not whole:
                raise
            traced = Traced(whole_call(call), ())
        if whole and traced.assumed:
            traced = Traced(whole_call(call), ())
        box = conditions(call, row.box, possible)
        facts: list[Any] = list(traced.assumed)
        if candidate.when is not None:
            facts.append(expression(candidate.when.of(call.dispatch.shapes(call.bound))))
        known = _known(call).learned(*box)
        answers = [known.decide(fact) for fact in facts]
        if False in answers:
            raise Untraceable(f"{row.serves} is not valid for {call.dispatch.describe(row.box)}")
        more = tuple(fact for fact, answer in zip(facts, answers) if answer is None)
        return Arm(tuple(box), more, traced.module, row)


def _known(call: OperatorCall) -> Known:
    world = world_of(call.inputs)
    return Known({} if world is None else dict(world.var_to_range))


def _in_a_row(arms: Sequence[Arm]) -> list[Arm]:
    """Simplify the conditions of arms that cover every size: the last needs none, and with one
    dispatched size each arm begins where the one before ends."""
    found = list(arms)
    if len(arms[0].row.box) == 1:
        for k in range(1, len(found)):
            box = tuple(fact for fact in found[k].box if not isinstance(fact, sympy.Ge))
            found[k] = replace(found[k], box=box)
    found[-1] = replace(found[-1], box=())
    return found


def _known_bounds(call: OperatorCall, draft: ProgramDraft) -> list[Range]:
    """Known bounds of each dispatched size."""
    world = world_of(call.inputs)
    found = []
    for size in call.sizes():
        low, high = bounds_of(size, world)
        declared = draft.symbols.get(str(expression(size)))
        if declared is not None:
            low = max(low, declared.lower)
            bounds = [b for b in (high, declared.upper) if b is not None]
            high = min(bounds) if bounds else None
        found.append(Range(low, high))
    return found


def _meet(row: Row, possible: Sequence[Range]) -> bool:
    return all(a.meets(b) for a, b in zip(row.box, possible, strict=True))


def _cover(rows: Sequence[Row], possible: Sequence[Range]) -> bool:
    """Is every possible size in one of the boxes? It suffices to check the ends of the boxes."""
    corners = []
    for k, part in enumerate(possible):
        last = part.high if part.high is not None else max(r.box[k].low for r in rows) + (1 << 40)
        ends = {part.low, last}
        for row in rows:
            low, high = row.box[k].low, row.box[k].high
            near = [low - 1, low] if high is None else [low - 1, low, high, high + 1]
            ends |= {n for n in near if n in part}
        corners.append(sorted(ends))
    table = RangeTable(tuple(rows))
    return all(table.row(point) is not None for point in itertools.product(*corners))


def _reasons(call: OperatorCall, arms: Sequence[Arm], possible: Sequence[Range]) -> list[str]:
    dispatch = call.dispatch
    known_sizes = ", ".join(
        f"{axis.text} is {part.low if part.low == part.high else part.as_text()}"
        for axis, part in zip(dispatch.axes, possible, strict=True)
    )
    if len(arms) == 1:
        return [f"{dispatch.name}: {known_sizes}, {arms[0].row.serves} serves: {arms[0].row.why}"]
    served = "; ".join(arm.row.as_text() for arm in arms)
    return [f"{dispatch.name}: {known_sizes}, a branch keeps {len(arms)} ways: {served}"]
