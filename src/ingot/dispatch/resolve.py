"""Dispatched operations resolved where they are called. Comes in: a program with such calls; goes
out: the implementation that serves in the place of each, or where the size is a symbol that may be
in several ranges, a nest of `torch.cond` over it. The journal says who serves what, and why. What
holds: sizes outside every range, and those for which an implementation would have to assume more
than is known, go to the reference.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import sympy
import torch
from torch.fx import Graph, GraphModule, Node

from ingot.dispatch.candidates import REFERENCE
from ingot.dispatch.conditions import Numbers, conditions
from ingot.dispatch.narrow import bounds_of, expression, world_of
from ingot.dispatch.operator import known
from ingot.dispatch.ranges import Range, Row, Table
from ingot.dispatch.trace import Call, Traced, Untraceable, call_of, trace
from ingot.options import Options, make_options
from ingot.passes.base import Draft, Pass
from ingot.passes.facts import Known
from ingot.passes.inline import inlined, replace_call
from ingot.program.graph import output_values
from ingot.program.program import Program


def has_dispatch(program: Program) -> bool:
    return bool(known) and any(node.target in known for node in program.graph.nodes)


@dataclass(frozen=True)
class Arm:
    """One way a call may go."""

    box: tuple[sympy.Basic, ...]
    """What of its box has to be asked."""
    more: tuple[Any, ...]
    """What it needs besides."""
    module: GraphModule
    row: Row

    @property
    def condition(self) -> tuple[Any, ...]:
        """Nothing: it is the last way."""
        return (*self.box, *self.more)


@dataclass(frozen=True)
class Resolve(Pass):
    name: ClassVar[str] = "resolve"
    options: Options = field(default_factory=make_options)
    table: Mapping[Any, Any] = field(default_factory=dict, repr=False)
    """What is taken apart while implementations are traced."""
    keep: frozenset[Any] = frozenset()
    """Operations that stay whole."""

    def rewrite(self, draft: Draft) -> list[str]:
        notes = []
        for node in list(draft.graph.nodes):
            if node.op == "call_function" and node.target in known and node.target not in self.keep:
                notes += self._resolve(draft, node)
        draft.graph.eliminate_dead_code()
        return notes

    def _resolve(self, draft: Draft, node: Node) -> list[str]:
        dispatch = known[node.target]  # type: ignore[index]
        try:
            call = call_of(dispatch, node)
        except Untraceable as error:
            return [f"{dispatch.name}: left whole: {error}"]
        possible = _known_bounds(call, draft)
        table = self._table(call, possible)
        rows = [row for row in table.rows if _meet(row, possible)]
        arms, notes = self._arms(call, rows, possible)
        if not arms:
            return [*notes, f"{dispatch.name}: left whole"]
        results = _Nest(draft, node, call).built(arms)
        replace_call(draft, node, results)
        return [*notes, *_reasons(call, arms, possible)]

    def _table(self, call: Call, possible: Sequence[Range]) -> Table:
        from ingot.dispatch.tune import record_for

        dispatch = call.dispatch
        if dispatch.pinned is not None:
            return dispatch.pinned
        record = record_for(dispatch, call.bound, needed=possible, options=self.options)
        return record.table.merged()

    def _arms(
        self, call: Call, rows: Sequence[Row], possible: Sequence[Range]
    ) -> tuple[list[Arm], list[str]]:
        """The ways the call may go, the last of them without a condition; none: left whole."""
        arms: list[Arm] = []
        notes = []
        for row in rows:
            try:
                arms.append(self._arm(call, row, possible))
            except Untraceable as error:
                notes.append(f"{call.dispatch.name}: {error}; the reference serves")
                arms.append(self._arm(call, replace(row, serves=REFERENCE), possible, whole=True))
        if arms and _cover(rows, possible) and not any(arm.more for arm in arms):
            return _in_a_row(arms), notes
        outside = Row(tuple(Range(0, None) for _ in possible), REFERENCE, 1.0, "outside the ranges")
        last = self._arm(call, outside, possible, whole=True)
        return [*arms, replace(last, box=(), more=())], notes

    def _arm(self, call: Call, row: Row, possible: Sequence[Range], whole: bool = False) -> Arm:
        """With `whole`, what cannot be traced for all these sizes is left to the operation."""
        candidate = call.dispatch.candidates.get(row.serves)
        if candidate is None:
            raise Untraceable(f"there is no implementation {row.serves}")
        try:
            traced = trace(call, candidate, row.box, self.table)
        except Untraceable:
            if not whole:
                raise
            traced = Traced(_whole(call), ())
        if whole and traced.assumed:
            traced = Traced(_whole(call), ())
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


def _known(call: Call) -> Known:
    world = world_of(call.inputs)
    return Known({} if world is None else dict(world.var_to_range))


def _in_a_row(arms: Sequence[Arm]) -> list[Arm]:
    """Arms that leave no size out: the last needs no question, and along one size each begins
    where the one before ends."""
    found = list(arms)
    if len(arms[0].row.box) == 1:
        for k in range(1, len(found)):
            box = tuple(fact for fact in found[k].box if not isinstance(fact, sympy.Ge))
            found[k] = replace(found[k], box=box)
    found[-1] = replace(found[-1], box=())
    return found


def _whole(call: Call) -> GraphModule:
    """The call itself as a graph."""
    graph = Graph()
    places = iter([graph.placeholder(f"arg{i}") for i in range(len(call.inputs))])
    inputs = call.inputs
    args = list(call.with_inputs([next(places) for _ in inputs]).values())
    for place, value in zip((n for n in graph.nodes), inputs):
        place.meta["val"] = value
    node = graph.call_function(call.dispatch.target, tuple(args))
    form = call.dispatch.target(*call.bound.values())
    node.meta["val"] = form
    if isinstance(form, torch.Tensor):
        graph.output((node,))
        return GraphModule(torch.nn.Module(), graph)
    items = []
    for i, part in enumerate(form):
        item = graph.call_function(operator.getitem, (node, i))
        item.meta["val"] = part
        items.append(item)
    graph.output(tuple(items))
    return GraphModule(torch.nn.Module(), graph)


def _known_bounds(call: Call, draft: Draft) -> list[Range]:
    """What is known of each size that is dispatched on."""
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
    """Is every size that may come in one of the boxes? Ends of boxes are the only places to look
    at."""
    corners = []
    for k, part in enumerate(possible):
        last = part.high if part.high is not None else max(r.box[k].low for r in rows) + (1 << 40)
        ends = {part.low, last}
        for row in rows:
            low, high = row.box[k].low, row.box[k].high
            near = [low - 1, low] if high is None else [low - 1, low, high, high + 1]
            ends |= {n for n in near if n in part}
        corners.append(sorted(ends))
    table = Table(tuple(rows))
    return all(table.row(point) is not None for point in itertools.product(*corners))


def _reasons(call: Call, arms: Sequence[Arm], possible: Sequence[Range]) -> list[str]:
    dispatch = call.dispatch
    known_sizes = ", ".join(
        f"{axis.text} is {part.low if part.low == part.high else part.as_text()}"
        for axis, part in zip(dispatch.axes, possible, strict=True)
    )
    if len(arms) == 1:
        return [f"{dispatch.name}: {known_sizes}, {arms[0].row.serves} serves: {arms[0].row.why}"]
    served = "; ".join(arm.row.as_text() for arm in arms)
    return [f"{dispatch.name}: {known_sizes}, a branch keeps {len(arms)} ways: {served}"]


class _Nest:
    """`torch.cond` in `torch.cond`, in front of a call."""

    def __init__(self, draft: Draft, node: Node, call: Call):
        self.draft = draft
        self.node = node
        self.call = call
        self.env = world_of(call.inputs)
        value = node.meta["val"]
        self.values = tuple(value) if isinstance(value, tuple | list) else (value,)

    def built(self, arms: Sequence[Arm]) -> list[Any]:
        if len(arms) == 1:
            return inlined(self.draft, self.node, arms[0].module, self.call.nodes)
        symbols = sorted(
            {s for arm in arms for fact in arm.condition for s in fact.free_symbols},
            key=lambda s: s.name,
        )
        numbers = Numbers(self.draft, self.node)
        operands = [*self.call.nodes, *(numbers.node(symbol) for symbol in symbols)]
        graph = self.draft.graph
        with graph.inserting_before(self.node):
            return self._cond(graph, self.draft.module, arms, operands, symbols)

    def _cond(
        self,
        graph: Graph,
        module: Any,
        arms: Sequence[Arm],
        operands: Sequence[Node],
        symbols: Sequence[sympy.Symbol],
    ) -> list[Any]:
        first, *rest = arms
        known_symbols = dict(zip(symbols, operands[len(operands) - len(symbols) :]))
        predicate = Numbers.predicate(graph, first.condition, known_symbols, self.env)
        sides = [
            self._branch([first], operands, symbols),
            self._branch(rest, operands, symbols),
        ]
        names = [
            _attach(module, f"{side}_graph", body) for side, body in zip(("true", "false"), sides)
        ]
        references = [graph.get_attr(name) for name in names]
        cond = graph.call_function(
            torch.ops.higher_order.cond, (predicate, *references, tuple(operands))
        )
        cond.meta = {**self.node.meta, "val": self.values}
        items = []
        for i, value in enumerate(self.values):
            item = graph.call_function(operator.getitem, (cond, i))
            item.meta = {**self.node.meta, "val": value}
            items.append(item)
        return items

    def _branch(
        self, arms: Sequence[Arm], operands: Sequence[Node], symbols: Sequence[sympy.Symbol]
    ) -> GraphModule:
        graph = Graph()
        module = GraphModule(torch.nn.Module(), graph)
        places = []
        for i, operand in enumerate(operands):
            place = graph.placeholder(f"arg{i}")
            place.meta["val"] = operand.meta["val"]
            places.append(place)
        if len(arms) > 1:
            results = self._cond(graph, module, arms, places, symbols)
        else:
            results = _copied(graph, module, arms[0].module, places)
        graph.output(tuple(results))
        module.graph = graph
        module.recompile()
        return module


def _copied(
    graph: Graph, module: GraphModule, body: GraphModule, places: Sequence[Node]
) -> list[Any]:
    inner = [n for n in body.graph.nodes if n.op == "placeholder"]
    copies: dict[Node, Node] = dict(zip(inner, places))
    for node in body.graph.nodes:
        if node.op == "get_attr":
            name = _attach(module, "part", getattr(body, str(node.target)))
            copies[node] = graph.get_attr(name)
            copies[node].meta = dict(node.meta)
        elif node.op == "call_function":
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return [copies[v] if isinstance(v, Node) else v for v in output_values(body.graph)]


def _attach(module: Any, stem: str, value: Any) -> str:
    number = 0
    while hasattr(module, name := f"{stem}_{number}"):
        number += 1
    if isinstance(value, torch.Tensor):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)
    return name
