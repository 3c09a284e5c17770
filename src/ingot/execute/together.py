"""Products that run together: those of one input that stand next to each other. Comes in: the steps
of a plan; goes out: for each of these steps its group, and for a group one native step. What holds:
all run on packed weights of one kind; none reads what another makes, but for what follows a
product: it may read the part of an earlier result that the same thread has made just before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import fx

from ingot.codegen.executor import MOST_ARGUMENTS
from ingot.codegen.follower import row_step
from ingot.codegen.product import EACH, FIELDS
from ingot.execute.heavy import ALONE, is_packed, packed_products, stored_dtype
from ingot.execute.lifetimes import uses
from ingot.execute.regions import with_follower
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.plan.abreast import rows_read, seen_through
from ingot.plan.followers import Follower
from ingot.plan.products import Product
from ingot.plan.segment import Word
from ingot.program.shapes import Size, same_size

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter


@dataclass(frozen=True)
class Member:
    step: Step
    product: Product
    follower: Follower | None = None

    def made(self) -> list[fx.Node]:
        step = self.step
        more = step.region.stored if isinstance(step, KernelStep) else ()
        return [self.product.node, *more]


@dataclass(frozen=True)
class Group:
    members: tuple[Member, ...] = ()
    in_step: bool = False
    """What follows one reads parts of those before it."""


def together(writer: RunnerWriter, fused: Fused) -> dict[Step, Group]:
    """Those of bodies included."""
    found: dict[Step, Group] = {}
    for group in _groups(writer, fused):
        if len(group.members) > 1:
            found |= dict.fromkeys((member.step for member in group.members), group)
    for step in fused.steps:
        if isinstance(step, CallStep):
            for body in step.bodies:
                found |= together(writer, body)
    return found


def write_together(writer: RunnerWriter, group: Group, number: int) -> None:
    products: list[tuple[Product, Sequence[Word]]] = []
    for member in group.members:
        if member.follower is None:
            writer.make(member.product.node, number)
            products.append((member.product, ALONE))
        else:
            products.append(with_follower(writer, member.follower, number))
    step = packed_products(writer, products, number, group.in_step)
    writer.segment.steps.append(step)


def _groups(writer: RunnerWriter, fused: Fused) -> Iterator[Group]:
    group = Group()
    for step in fused.steps:
        if step in writer.waiting or _does_nothing(writer, step):
            continue
        member = _member(writer, step)
        larger = None if member is None else _with(writer, group, member)
        if larger is None:
            yield group
            larger = Group() if member is None else Group((member,))
        group = larger
    yield group


def _does_nothing(writer: RunnerWriter, step: Step) -> bool:
    """Is it a view that native steps look through?"""
    roles = writer.roles
    heavy = step in roles.products or step in roles.controls
    return isinstance(step, CallStep) and not heavy and not roles.is_host(step)


def _member(writer: RunnerWriter, step: Step) -> Member | None:
    if isinstance(step, KernelStep):
        follower = writer.followers.get(step.region)
        return None if follower is None else Member(step, follower.product, follower)
    match writer.roles.products.get(step):
        case [Product() as product] if is_packed(writer, product):
            return Member(step, product)
    return None


def _with(writer: RunnerWriter, group: Group, member: Member) -> Group | None:
    """The group and one more; None: they cannot run together."""
    members = (*group.members, member)
    kinds = {(rows_read(m.product), stored_dtype(writer, m.product)) for m in members}
    words = len(FIELDS) + sum(_most_words(writer, each) for each in members)
    if len(kinds) > 1 or words > MOST_ARGUMENTS:
        return None
    in_step = group.in_step
    for earlier in group.members:
        needed = _needed(writer, member, earlier)
        if needed:
            if not all(_is_in_step(member, earlier, node) for node in needed):
                return None
            in_step = True
    if in_step and len({each.product.sizes[1] for each in members}) > 1:
        return None
    return Group(members, in_step)


def _needed(writer: RunnerWriter, member: Member, earlier: Member) -> list[fx.Node]:
    """What it reads of what an earlier one makes."""
    made = set(earlier.made())
    return [n for n in uses(writer, member.step) if not made.isdisjoint(seen_through(n))]


def _is_in_step(member: Member, earlier: Member, node: fx.Node) -> bool:
    """Does only what follows the product read it, each element where it was made?"""
    if member.follower is None or node not in earlier.made() or node in member.product.reads():
        return False
    read = row_step(member.follower.code.nest, node)
    if node is earlier.product.node:
        step: Size | None = earlier.product.row_strides[1]
    else:
        assert earlier.follower is not None
        step = row_step(earlier.follower.code.nest, node)
    if read is None or step is None:
        return False
    return same_size(member.product.sizes[0], 1) or same_size(read, step)


def _most_words(writer: RunnerWriter, member: Member) -> int:
    if member.follower is None:
        return len(EACH)
    kernel = writer.kernels.by_region[member.follower.region]
    return len(EACH) + len(kernel.buffers) + len(kernel.symbols)
