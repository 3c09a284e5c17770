"""Fusion: nodes in, an ordered list of steps out. Nodes are visited in program order. Each joins a
region that computes what it reads, if its elements fall on that region's domain and no path through
another step leads back; otherwise it starts a region of its own. Nodes that no rule claims become
calls, with the reason kept.

Every value read outside its region is stored; views are never copied; random ops and other effects
keep their order.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch
from torch import fx

from ingot.errors import UnsupportedError
from ingot.fuse import index as ix
from ingot.fuse.call_kinds import call_kind, is_effect
from ingot.fuse.elements import is_elementwise, why_not_native
from ingot.fuse.fit import few_long_rows, fitted, placed
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.fuse.index import Index, Var
from ingot.fuse.reductions import reduction_of
from ingot.fuse.region import Point, Region, Template, mapped_region, reads_at
from ingot.fuse.rematerialize import worth_inlining
from ingot.fuse.subgraphs import fused_bodies
from ingot.fuse.views import MAKES_SIZE, is_view
from ingot.ops.scalar.prims import register_late
from ingot.options import Options
from ingot.program.annotations import FROZEN
from ingot.program.graph import is_item, view_chain
from ingot.program.higher_order import control_of
from ingot.program.program import Program
from ingot.program.symbols import makers, symbol_names

MOST_MEMBERS = 160
MOST_READS = 48
MOST_COST = 300
"""Rough instructions per element: LLVM's time grows faster than the length of a block."""


class Unit:
    """A step under construction, with the steps it waits for."""

    def __init__(self, order: int, content: Region | CallStep):
        self.order = order
        self.content = content
        self.waits: set[Unit] = set()
        self.ancestors = 0
        """Bit k: waits, directly or transitively, for unit k."""

    def reaches(self, other: Unit) -> bool:
        """Does this step wait, directly or transitively, for `other`?"""
        return self is other or bool(self.ancestors >> other.order & 1)


def fuse(program: Program, options: Options) -> Fused:
    register_late()
    grouper = Grouper(program, options)
    for node in program.graph.nodes:
        grouper.take(node)
    return Fused(program, tuple(grouper.steps()))


def _is_given(node: fx.Node) -> bool:
    """Is it an input, a constant, or computed from those before the first step?"""
    return node.op in ("placeholder", "get_attr") or bool(node.meta.get(FROZEN))


class Grouper:
    def __init__(self, program: Program, options: Options):
        self.program = program
        self.options = options
        self.units: list[Unit] = []
        self.owner: dict[fx.Node, Unit] = {}
        self.templates: dict[fx.Node, Template] = {}
        self.readers: dict[fx.Node, list[Unit]] = {}
        self.last_effect: Unit | None = None
        self.units_gone: set[Unit] = set()
        self.waited = 0
        """Bit k: some unit waits, directly or transitively, for unit k."""
        self.required: set[fx.Node] = set()
        """Nodes that calls or the output need as tensors."""
        self.makers = makers(program.graph)
        for maker in self.makers.values():
            maker.meta[MAKES_SIZE] = True

    # -- one node ----------------------------------------------------------------------------------

    def take(self, node: fx.Node) -> None:
        if _is_given(node):
            return
        if node.op == "output":
            self._materialize_all(node)
            return
        if MAKES_SIZE in node.meta:
            self.materialize(node)
            return
        if not isinstance(node.meta.get("val"), torch.Tensor):
            self._take_other(node)
            return
        if is_view(node):
            return
        if node.target is operator.getitem and reduction_of(node) is None:
            return
        reason = self._why_call(node)
        if reason is None:
            self._take_native(node)
        else:
            self._call(node, reason)

    def _why_call(self, node: fx.Node) -> str | None:
        if not self.options.fuse:
            return "fusion is off"
        reason = why_not_native(node)
        if reason is not None:
            return reason
        try:
            self.templates[node] = Template(node)
        except UnsupportedError as error:
            return error.why
        return None

    def _take_other(self, node: fx.Node) -> None:
        """A node that does not return a single tensor: sizes are computed on demand, pairs through
        their items."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool | int | float | bool):
            if is_effect(node):
                self._call(node, "reads a value on the host")
            return
        users = list(node.users)
        native = users and all(
            reduction_of(u) is not None and self._why_call(u) is None for u in users
        )
        if not native:
            self._call(node, why_not_native(node) or "its results are used whole")

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: fx.Node, reason: str) -> Unit:
        control = control_of(node)
        bodies = (
            fused_bodies(node, control, self.program, self.options, fuse)
            if control is not None
            else ()
        )
        unit = self._add(CallStep(node, call_kind(node), reason, bodies))
        self.owner[node] = unit
        self._materialize_all(node, unit)
        if is_effect(node):
            if self.last_effect is not None:
                self._wait(unit, self.last_effect)
            self.last_effect = unit
        return unit

    def _add(self, content: Region | CallStep) -> Unit:
        unit = Unit(len(self.units), content)
        self.units.append(unit)
        return unit

    def _materialize_all(self, node: fx.Node, unit: Unit | None = None) -> None:
        for operand in node.all_input_nodes:
            source = self.materialize(operand)
            if unit is not None and source is not None:
                self._wait(unit, source)

    def _wait(self, unit: Unit, source: Unit) -> None:
        """`unit` runs after `source`, and so does everything that runs after `unit`."""
        unit.waits.add(source)
        gained = source.ancestors | 1 << source.order
        if gained & ~unit.ancestors == 0:
            return
        unit.ancestors |= gained
        self.waited |= gained
        if not self.waited >> unit.order & 1:
            return
        for later in self.units:
            if later.ancestors >> unit.order & 1:
                later.ancestors |= gained

    def materialize(self, node: fx.Node) -> Unit | None:
        """Ensure that `node` exists as a tensor (or scalar) of its own. Returns the step that
        computes it, None for inputs."""
        if _is_given(node):
            return None
        unit = self.owner.get(node)
        if unit is None:
            return self._call(node, _reason(node))
        self.required.add(node)
        return unit

    # -- regions -----------------------------------------------------------------------------------

    def _take_native(self, node: fx.Node) -> None:
        template = self.templates[node]
        for unit in self._candidates(template):
            if self._join(unit, template):
                return
        self._open(template)

    def _candidates(self, template: Template) -> list[Unit]:
        """Regions that compute the operands, latest first; then those that read the same memory."""
        makers = {
            self.owner[n]
            for n, _ in template.reads
            if n in self.owner and self._is_region(self.owner[n])
        }
        sharers = {u for n, _ in template.reads for u in self.readers.get(n, ())[-2:]} - makers
        by_age = sorted(makers, key=lambda u: -u.order)
        return by_age[:4] + sorted(sharers, key=lambda u: -u.order)[:3]

    @staticmethod
    def _is_region(unit: Unit) -> bool:
        return isinstance(unit.content, Region)

    def _open(self, template: Template) -> None:
        domain = [Var(f"i{k}", v.size) for k, v in enumerate(template.vars) if v.size != 1]
        fresh = iter(domain)
        values = {v: ix.ZERO if v.size == 1 else ix.of(next(fresh)) for v in template.vars}
        unit = self._add(Region(len(self.units), domain))
        joined = self._join(unit, template, values)
        assert joined, f"{template.node} does not fit a region of its own"

    def _join(self, unit: Unit, template: Template, values: dict[Var, Index] | None = None) -> bool:
        region = unit.content
        assert isinstance(region, Region)
        if len(region.members) >= MOST_MEMBERS or len(region.reads) >= MOST_READS:
            return False
        if region.cost() >= MOST_COST:
            return False
        if values is None:
            values = placed(region, template)
        if values is None:
            return False
        values = fitted(region, template, values, self.templates)
        if values is None:
            return False
        sizes = self._sizes_from(template.node)
        if any(source.reaches(unit) for source in sizes):
            return False
        inlined: set[tuple[fx.Node, Point]] = set()
        space = tuple(values[v] for v in template.vars)
        leaves = self._leaves(unit, template.node, template, space, inlined)
        if leaves is None:
            return False
        for read, _ in leaves:
            other = self.owner.get(read)
            if other is None or other is unit or not self._is_region(other):
                continue
            makers = {maker for node, _ in leaves if (maker := self._maker(node)) is not None}
            makers |= sizes
            if not any(maker.reaches(other) for maker in makers - {other, unit}):
                self._merge(other, unit, leaves)
        leaves = [(read, point) for read, point in leaves if region.members.get(read) != point]
        self._commit(unit, region, template, values, leaves, inlined)
        return True

    def _merge(self, first: Unit, second: Unit, leaves: list[tuple[fx.Node, Point]]) -> None:
        """Merge two regions over the same domain, if a node about to join the second reads the
        first, among its `leaves`. Does nothing if they cannot be merged."""
        mapped = mapped_region(first.content, second.content)  # type: ignore[arg-type]
        if mapped is None or self._between(first, second):
            return
        if any(self._maker(n) is first and mapped.members.get(n) != point for n, point in leaves):
            return
        region = second.content
        assert isinstance(region, Region)
        region.absorb(mapped)
        for node in mapped.members:
            self.owner[node] = second
        for readers in self.readers.values():
            readers[:] = [second if u is first else u for u in readers]
        self.units_gone.add(first)
        for unit in self.units:
            if first in unit.waits:
                unit.waits.discard(first)
                if unit is not second:
                    self._wait(unit, second)
        for source in first.waits:
            self._wait(second, source)

    def _between(self, first: Unit, second: Unit) -> bool:
        """Is there a step that must run after the first and before the second, or vice versa?"""
        if first.reaches(second):
            return True
        mask = second.ancestors
        return any(
            mask >> u.order & 1 and u.reaches(first) and u is not first
            for u in self.units
            if u not in self.units_gone
        )

    def _leaves(
        self,
        unit: Unit,
        joining: fx.Node,
        template: Template,
        point: Point,
        inlined: set[tuple[fx.Node, Point]],
    ) -> list[tuple[fx.Node, Point]] | None:
        """The reads from memory of the joining node, or of one recomputed for it, when its
        iteration space is at `point`; None if they would close a cycle."""
        region = unit.content
        assert isinstance(region, Region)
        result: list[tuple[fx.Node, Point]] = []
        for read, at in reads_at(template, point):
            if region.members.get(read) == at:
                continue
            owner = self._maker(read)
            computed = owner is not None and self._is_region(owner) and is_elementwise(read)
            same = owner is unit
            if computed and worth_inlining(read, joining, self.templates, same, region.members):
                inlined.add((read, at))
                deeper = self._leaves(unit, joining, self.templates[read], at, inlined)
                if deeper is None:
                    return None
                result.extend(deeper)
                continue
            if same or (owner is not None and owner.reaches(unit)):
                return None
            result.append((read, at))
        return result

    def _maker(self, node: fx.Node) -> Unit | None:
        """The step that computes `node`, or the value that it is a view or an item of."""
        chain = view_chain(node, lambda n: is_view(n) or is_item(n))
        return next((self.owner[n] for n in chain if n in self.owner), None)

    def _commit(
        self,
        unit: Unit,
        region: Region,
        template: Template,
        values: dict[Var, Index],
        leaves: Iterable[tuple[fx.Node, Point]],
        inlined: set[tuple[fx.Node, Point]],
    ) -> None:
        space = tuple(values[v] for v in template.vars)
        node = template.node
        region.members[node] = template.kept(space)
        if template.reduction is not None:
            region.spaces[node] = space
            gone = {v for d in template.reduction.dims for v in space[d].variables()}
            region.reduced |= gone
            region.needs_split = few_long_rows(region) and not region.scanned
        if template.scan is not None:
            region.reduced |= space[template.scan.dim].variables()
            region.scanned = True
        region.inlined |= inlined
        for read, point in leaves:
            region.reads.add((read, point))
            source = self.owner.get(read) or self.materialize(read)
            if source is not None and source is not unit:
                self._wait(unit, source)
            self.readers.setdefault(read, []).append(unit)
        for source in self._sizes_from(node):
            self._wait(unit, source)
        self.owner[node] = unit

    def _sizes_from(self, node: fx.Node) -> set[Unit]:
        """The steps that determine the sizes of a node and of its operands."""
        if not self.makers:
            return set()
        names = symbol_names([n.meta.get("val") for n in (node, *node.all_input_nodes)])
        sources = (self.materialize(self.makers[name]) for name in names & self.makers.keys())
        return {source for source in sources if source is not None}

    # -- order -------------------------------------------------------------------------------------

    def steps(self) -> list[Step]:
        """Units in an order that respects what they wait for, as close to the program's as
        possible."""
        self._decide_stores()
        done = set(self.units_gone)
        result: list[Step] = []
        for unit in self.units:
            self._emit(unit, done, result)
        return result

    def _decide_stores(self) -> None:
        """Store the members that a call, the output or another region reads."""
        regions = [
            u.content
            for u in self.units
            if isinstance(u.content, Region) and u not in self.units_gone
        ]
        wanted = set(self.required)
        for region in regions:
            wanted.update(node for node, _ in region.reads)
        for region in regions:
            region.stored = {node: None for node in region.members if node in wanted}

    def _emit(self, unit: Unit, done: set[Unit], result: list[Step]) -> None:
        stack: list[tuple[Unit, bool]] = [(unit, False)]
        opened: set[Unit] = set()
        while stack:
            current, ready = stack.pop()
            if current in done:
                continue
            if ready:
                done.add(current)
                content = current.content
                if isinstance(content, CallStep):
                    result.append(content)
                elif content.stored:
                    result.append(KernelStep(content))
                continue
            assert current not in opened, "cycle between steps"
            opened.add(current)
            stack.append((current, True))
            waits = sorted(current.waits - done, key=lambda u: -u.order)
            stack.extend((w, False) for w in waits)


def _reason(node: fx.Node) -> str:
    """Why a node that costs nothing inside a region becomes a call."""
    if MAKES_SIZE in node.meta:
        return why_not_native(node) or "its size depends on values"
    if is_view(node):
        return "a view"
    return "a part" if node.target is operator.getitem else "a size"
