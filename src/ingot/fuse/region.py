"""A region: one iteration domain and the nodes computed over it. Every member has an index in terms
of the domain's variables, and each of its elements is computed exactly once. All reductions of a
region run over the same variables, `reduced`; members that need their results come after them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import fx

from ingot.fuse import index as ix
from ingot.fuse.elements import cast_to, element_of
from ingot.fuse.expr import Expr, ExprTable, Load, Number, Reduce, Scan
from ingot.fuse.index import Index, Var
from ingot.fuse.reductions import Reduction, Running, reduction_of, scan_of
from ingot.fuse.views import resolve
from ingot.ops.rules import pointwise_rules
from ingot.program.shapes import Size, same_size, shape_of, strides_of, tensor_of

MOST_MERGED = 120
MOST_READ = 40
MOST_MERGED_COST = 300
Point = tuple[Index, ...]
Read = tuple[fx.Node, Point]


class Template:
    """A node over loop variables of its own, with its reads and their indices."""

    def __init__(self, node: fx.Node):
        self.node = node
        self.reduction: Reduction | None = reduction_of(node)
        self.scan = scan_of(node)
        space = self.reduction.operand if self.reduction else node
        self.shape = shape_of(space)
        self.vars = [Var(f"n{k}", size) for k, size in enumerate(self.shape)]
        point = tuple(
            ix.ZERO if size == 1 else ix.of(v)
            for v, size in zip(self.vars, self.shape, strict=True)
        )
        self.reads = _recorded(self, point)

    def kept(self, point: Point) -> Point:
        """The node's own index, for an index of its iteration space."""
        if self.reduction is None:
            return point
        gone = set(self.reduction.dims)
        kept = [i for d, i in enumerate(point) if d not in gone]
        rank = len(shape_of(self.node))
        if rank == len(point) and gone:
            return tuple(ix.ZERO if d in gone else i for d, i in enumerate(point))
        return tuple(kept) if rank == len(kept) else tuple([ix.ZERO] * rank)

    def numel(self) -> Size:
        return ix.product(self.shape)


class Recorder:
    """Records the reads of a rule. Serves as the rules' Context."""

    def __init__(self) -> None:
        self.reads: list[Read] = []

    def value(self, node: fx.Node, index: Point) -> Expr:
        self.reads.append(resolve(node, index))
        return Number(tensor_of(node).dtype, None)

    def make(self, kind: type[Expr], *values: Any) -> Any:
        return kind(*values)


def reads_at(template: Template, point: Point) -> list[Read]:
    """The reads of a node when its iteration space is at `point`: exactly those of
    RegionContext."""
    renamed = _renaming(template, point)
    if renamed is not None:
        return [(n, tuple(i.substitute(renamed) for i in at)) for n, at in template.reads]
    return _recorded(template, point)


def _recorded(template: Template, point: Point) -> list[Read]:
    recorder = Recorder()
    if template.reduction is not None:
        recorder.value(template.reduction.operand, point)
    elif template.scan is not None:
        recorder.value(template.scan.operand, point)
    else:
        element_of(recorder, template.node, point)
    return recorder.reads


def _renaming(template: Template, point: Point) -> dict[Var, Index] | None:
    """The template's variables by those of `point`, if these are as many and as large: then no
    index can be simplified further."""
    values: dict[Var, Index] = {}
    for var, index in zip(template.vars, point, strict=True):
        if var.size == 1:
            if index.terms or index.const != 0:
                return None
            continue
        renamed = index.as_var()
        if renamed is None or renamed.size != var.size:
            return None
        values[var] = index
    return values if len({i.as_var() for i in values.values()}) == len(values) else None


class Region:
    def __init__(self, number: int, domain: list[Var]):
        self.number = number
        self.domain = domain
        self.reduced: set[Var] = set()
        self.members: dict[fx.Node, Point] = {}
        self.spaces: dict[fx.Node, Point] = {}
        """For reductions: the index of the operand's element."""
        self.inlined: set[Read] = set()
        """Values of other regions that are recomputed here, each at one point."""
        self.stored: dict[fx.Node, None] = {}
        """Members whose values leave the region, in order."""
        self.reads: set[Read] = set()
        self.scanned = False
        self.needs_split = False
        """Few long rows: the reduction itself is split into pieces, and no full-size member may
        follow it."""

    def outer(self) -> list[Var]:
        return [v for v in self.domain if v not in self.reduced]

    def inner(self) -> list[Var]:
        return [v for v in self.domain if v in self.reduced]

    def split_variable(self, var: Var, by: int) -> None:
        """Replace `var` by two variables: var == high * by + low."""
        size = ix.exact_quotient(var.size, by)
        assert size is not None
        high, low = Var(f"{var.name}h", size), Var(f"{var.name}l", by)
        k = self.domain.index(var)
        self.domain[k : k + 1] = [high, low]
        if var in self.reduced:
            self.reduced = (self.reduced - {var}) | {high, low}
        self.substitute({var: ix.of(high) * by + ix.of(low)})

    def substitute(self, values: dict[Var, Index]) -> None:
        def moved(point: Point) -> Point:
            return tuple(i.substitute(values) for i in point)

        self.members = {n: moved(p) for n, p in self.members.items()}
        self.spaces = {n: moved(p) for n, p in self.spaces.items()}
        self.reads = {(n, moved(p)) for n, p in self.reads}
        self.inlined = {(n, moved(p)) for n, p in self.inlined}

    def cost(self) -> int:
        """Rough instructions per element, over all members."""
        rules = (pointwise_rules.get(node.target) for node in self.members)  # type: ignore[call-overload]
        return sum(rule.cost for rule in rules if rule is not None)

    def absorb(self, other: Region) -> None:
        """Take over the members of a region that uses this one's variables."""
        self.members = {**other.members, **self.members}
        self.spaces = {**other.spaces, **self.spaces}
        self.inlined |= other.inlined
        self.reads = {(n, p) for n, p in self.reads | other.reads if self.members.get(n) != p}
        self.scanned |= other.scanned
        self.needs_split |= other.needs_split

    def as_text(self) -> str:
        outer = ", ".join(f"{v.name}<{v.size}" for v in self.outer())
        inner = ", ".join(f"{v.name}<{v.size}" for v in self.inner())
        head = f"region {self.number} [{outer}]" + (f" reduce [{inner}]" if inner else "")
        lines = [head]
        for node, point in self.members.items():
            at = ", ".join(map(str, point))
            mark = "store " if node in self.stored else ""
            lines.append(
                f"  {mark}{node.name}[{at}] = {node.target}({', '.join(map(str, node.args))})"
            )
        return "\n".join(lines)


def mapped_region(first: Region, second: Region) -> Region | None:
    """`first` in the variables of `second`; None if the two cannot be merged."""
    if (
        len(first.domain) != len(second.domain)
        or len(first.members) + len(second.members) > MOST_MERGED
    ):
        return None
    if len(first.reads) + len(second.reads) > MOST_READ:
        return None
    if first.needs_split or second.needs_split or first.cost() + second.cost() > MOST_MERGED_COST:
        return None
    pairs = list(zip(first.domain, second.domain, strict=True))
    if not all(same_size(a.size, b.size) for a, b in pairs):
        return None
    values = {a: ix.of(b) for a, b in pairs}
    mapped = Region(first.number, second.domain)
    mapped.members, mapped.spaces = dict(first.members), dict(first.spaces)
    mapped.reads, mapped.inlined = set(first.reads), set(first.inlined)
    mapped.reduced = {b for a, b in pairs if a in first.reduced}
    mapped.scanned = first.scanned
    if mapped.reduced != second.reduced:
        return None
    mapped.substitute(values)
    crossed = any(n in mapped.members and mapped.members[n] != p for n, p in second.reads)
    return None if crossed or any(n in second.members for n, _ in mapped.reads) else mapped


class RegionContext:
    """Builds the expressions of a region's stored values. Serves as the rules' Context."""

    def __init__(self, region: Region):
        self.region = region
        self.table = ExprTable()
        self._done: dict[tuple[fx.Node, Point], Expr] = {}

    def make(self, kind: type[Expr], *values: Any) -> Any:
        return self.table.make(kind, *values)

    def value(self, node: fx.Node, index: Point) -> Expr:
        node, index = resolve(node, index)
        key = (node, index)
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = self._computed(node, index)
        return found

    def _computed(self, node: fx.Node, index: Point) -> Expr:
        if self.region.members.get(node) == index:
            if node in self.region.spaces:
                return self._reduced(node)
            return self._scanned(node, index) if scan_of(node) else element_of(self, node, index)
        if (node, index) in self.region.inlined:
            return element_of(self, node, index)
        return self.make(Load, tensor_of(node).dtype, node, ix.linear(index, strides_of(node)))

    def _reduced(self, node: fx.Node) -> Expr:
        rule = reduction_of(node)
        assert rule is not None
        space = self.region.spaces[node]
        operand = self._accumulated(node, rule, self.value(rule.operand, space))
        if not any(space[d].terms for d in rule.dims):
            return self._of_one(node, rule, operand)
        over = tuple(v for v in self.region.domain if v in self.region.reduced)
        position = None
        if rule.kind.startswith("arg"):
            shape = shape_of(rule.operand)
            position = ix.ZERO
            for d in rule.dims:
                position = position * shape[d] + space[d]
        dtype = torch.int64 if rule.part else rule.accumulate
        value = self.make(Reduce, dtype, rule.kind, operand, over, rule.part, position)
        return cast_to(self, value, tensor_of(node).dtype)

    def _accumulated(self, node: fx.Node, rule: Reduction | Running, value: Expr) -> Expr:
        """An element as it is accumulated. A sum or product with a dtype of its own first converts
        its elements to that dtype, as eager does, although half-precision types accumulate in
        f32."""
        if rule.kind in ("sum", "prod"):
            value = cast_to(self, value, tensor_of(node).dtype)
        return cast_to(self, value, rule.accumulate)

    def _of_one(self, node: fx.Node, rule: Reduction, operand: Expr) -> Expr:
        """A reduction over dimensions of size 1."""
        if rule.part:
            return self.make(Number, torch.int64, 0)
        return cast_to(self, operand, tensor_of(node).dtype)

    def _scanned(self, node: fx.Node, index: Point) -> Expr:
        rule = scan_of(node)
        assert rule is not None
        operand = self._accumulated(node, rule, self.value(rule.operand, index))
        if not index[rule.dim].terms:
            return cast_to(self, operand, tensor_of(node).dtype)
        value = self.make(Scan, rule.accumulate, rule.kind, operand, index[rule.dim])
        return cast_to(self, value, tensor_of(node).dtype)


def covers(point: Iterable[Index], size: Size) -> bool:
    """Do the variables of `point` take exactly `size` combinations of values?"""
    found: set[Var] = set()
    for i in point:
        found |= i.variables()
    return same_size(ix.product([v.size for v in found]), size)
