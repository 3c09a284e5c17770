"""Horizontal fusion: adjacent matmuls that read the same activations become one launch. All matmuls
of a group use packed weights of one dtype. None reads the result of another, except that an
epilogue may read the part of an earlier result that the same thread has just computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import fx

from ingot.codegen.loops.epilogue import row_step
from ingot.codegen.loops.kernels import Kernels
from ingot.codegen.support.executor import MOST_ARGUMENTS
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.fuse.region import Region
from ingot.kernels.matmul.claim import Matmul
from ingot.kernels.matmul.emit import EACH, FIELDS
from ingot.kernels.matmul.family import is_packed, stored_dtype
from ingot.plan.draft import PlanDraft
from ingot.plan.places import native_view
from ingot.program.shapes import Size, same_size
from ingot.select.fallback import region_inputs
from ingot.select.fuse_epilogues import Epilogue
from ingot.select.reorder import rows_read, seen_through
from ingot.select.select_kernels import Claims, is_count


@dataclass(frozen=True)
class Member:
    step: Step
    matmul: Matmul
    epilogue: Epilogue | None = None

    def made(self) -> list[fx.Node]:
        step = self.step
        more = step.region.stored if isinstance(step, KernelStep) else ()
        return [self.matmul.node, *more]


@dataclass(frozen=True)
class Group:
    members: tuple[Member, ...] = ()
    in_step: bool = False
    """An epilogue reads parts of earlier results."""


def fuse_horizontal(fused: Fused, grouping: Grouping) -> dict[Step, Group]:
    """Steps of matmuls to the group that runs as one launch, unless each step is timed."""
    groups = grouping.groups(fused)
    if groups and grouping.draft.variants.options.profile:
        grouping.draft.decisions.fuse_horizontal.add("each step is timed: every launch is alone")
    return groups


class Grouping:
    """What the steps of matmuls read, and which of them can run together."""

    def __init__(
        self,
        claims: Claims,
        kernels: Kernels,
        epilogues: Mapping[Region, Epilogue],
        draft: PlanDraft,
    ):
        self._claims, self._kernels = claims, kernels
        self._notes = draft.decisions.fuse_horizontal
        self._epilogues, self.draft = epilogues, draft
        self._waiting = {epilogue.call for epilogue in epilogues.values()}

    def groups(self, fused: Fused) -> dict[Step, Group]:
        """The groups, including those in bodies of control flow."""
        found: dict[Step, Group] = {}
        for group in self._found(fused):
            if len(group.members) > 1:
                found |= dict.fromkeys((member.step for member in group.members), group)
                self._notes.add(f"{_names(group)}: one launch, as they read the same rows")
        for step in fused.steps:
            if isinstance(step, CallStep):
                for body in step.bodies:
                    found |= self.groups(body)
        return found

    def _found(self, fused: Fused) -> Iterator[Group]:
        group = Group()
        for step in fused.steps:
            if step in self._waiting or self._does_nothing(step):
                continue
            member = self._member(step)
            if member is None:
                yield group
                group = Group()
                continue
            larger = self._with(group, member)
            if isinstance(larger, str):
                self._notes.add(f"{member.matmul.node.name}: not with {_names(group)}: {larger}")
                yield group
                larger = Group((member,))
            group = larger
        yield group

    def _does_nothing(self, step: Step) -> bool:
        """Is it a view that native ops see through, or arithmetic on sizes?"""
        if not isinstance(step, CallStep) or step in self._claims.calls:
            return False
        return native_view(step.node) or is_count(step.node) or self._claims.is_result(step.node)

    def _member(self, step: Step) -> Member | None:
        if isinstance(step, KernelStep):
            epilogue = self._epilogues.get(step.region)
            return None if epilogue is None else Member(step, epilogue.matmul, epilogue)
        match self._claims.claims(step):
            case [Matmul() as matmul] if is_packed(self.draft, matmul):
                return Member(step, matmul)
            case [Matmul()]:
                self._notes.add(f"{step.name}: alone, as BLAS may run it")
        return None

    def _with(self, group: Group, member: Member) -> Group | str:
        """The group extended by one member, or why they cannot run together."""
        members = (*group.members, member)
        if len({rows_read(m.matmul) for m in members}) > 1:
            return "it reads other rows"
        if len({stored_dtype(self.draft, m.matmul) for m in members}) > 1:
            return "its packed weight has another dtype"
        if len(FIELDS) + sum(map(self._most_words, members)) > MOST_ARGUMENTS:
            return f"a launch takes {MOST_ARGUMENTS} arguments"
        in_step = group.in_step
        for earlier in group.members:
            needed = self._needed(member, earlier)
            if needed:
                if not all(_is_in_step(member, earlier, node) for node in needed):
                    return f"it reads {earlier.step.name} before other threads have computed it"
                in_step = True
        if in_step and len({each.matmul.sizes[1] for each in members}) > 1:
            return "its epilogue reads an earlier result of another width"
        return Group(members, in_step)

    def _needed(self, member: Member, earlier: Member) -> list[fx.Node]:
        """The nodes that `member` reads of those that `earlier` makes."""
        made = set(earlier.made())
        return [n for n in self.reads(member.step) if not made.isdisjoint(seen_through(n))]

    def reads(self, step: Step) -> list[fx.Node]:
        if isinstance(step, CallStep):
            found = [*self._claims.reads(step)]
            return found or list(step.node.all_input_nodes)
        region = step.region
        kernel = self._kernels.by_region.get(region)
        if kernel is None:
            return region_inputs(region)
        epilogue = self._epilogues.get(region)
        more = epilogue.matmul.reads() if epilogue is not None else []
        return [*more, *(b for b in kernel.buffers if b not in region.stored)]

    def _most_words(self, member: Member) -> int:
        if member.epilogue is None:
            return len(EACH)
        kernel = self._kernels.by_region[member.epilogue.region]
        return len(EACH) + len(kernel.buffers) + len(kernel.symbols)


def _names(group: Group) -> str:
    return ", ".join(member.matmul.node.name for member in group.members)


def _is_in_step(member: Member, earlier: Member, node: fx.Node) -> bool:
    """Does only the epilogue read it, and each element at the position where it was made?"""
    if member.epilogue is None or node not in earlier.made() or node in member.matmul.reads():
        return False
    read = row_step(member.epilogue.code.nest, node)
    if node is earlier.matmul.node:
        step: Size | None = earlier.matmul.row_strides[1]
    else:
        assert earlier.epilogue is not None
        step = row_step(earlier.epilogue.code.nest, node)
    if read is None or step is None:
        return False
    return same_size(member.matmul.sizes[0], 1) or same_size(read, step)
