"""Products that run together: those of one input that stand next to each other. Comes in: the steps
of a plan; goes out: for each of these steps its group, and for a group one native step. What holds:
none reads what another makes; all run on packed weights of one kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import fx

from ingot.codegen.executor import MOST_ARGUMENTS
from ingot.codegen.product import EACH, FIELDS
from ingot.execute.heavy import ALONE, is_packed, packed_products, stored_dtype
from ingot.execute.lifetimes import uses
from ingot.execute.regions import with_follower
from ingot.plan.abreast import rows_read, seen_through
from ingot.plan.followers import Follower
from ingot.plan.products import Product
from ingot.plan.segment import Word
from ingot.stages import CallStep, Fused, KernelStep, Step

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


Group = tuple[Member, ...]


def together(writer: RunnerWriter, fused: Fused) -> dict[Step, Group]:
    """Those of bodies included."""
    found: dict[Step, Group] = {}
    for group in _groups(writer, fused):
        if len(group) > 1:
            found |= dict.fromkeys((member.step for member in group), group)
    for step in fused.steps:
        if isinstance(step, CallStep):
            for body in step.bodies:
                found |= together(writer, body)
    return found


def write_together(writer: RunnerWriter, group: Group, number: int) -> None:
    products: list[tuple[Product, Sequence[Word]]] = []
    for member in group:
        if member.follower is None:
            writer.make(member.product.node, number)
            products.append((member.product, ALONE))
        else:
            products.append(with_follower(writer, member.follower, number))
    writer.segment.steps.append(packed_products(writer, products, number))


def _groups(writer: RunnerWriter, fused: Fused) -> Iterator[Group]:
    group: Group = ()
    for step in fused.steps:
        if step in writer.waiting:
            continue
        member = _member(writer, step)
        if member is not None and group and _fits(writer, group, member):
            group = (*group, member)
            continue
        yield group
        group = () if member is None else (member,)
    yield group


def _member(writer: RunnerWriter, step: Step) -> Member | None:
    if isinstance(step, KernelStep):
        follower = writer.followers.get(step.region)
        return None if follower is None else Member(step, follower.product, follower)
    match writer.roles.products.get(step):
        case [Product() as product] if is_packed(writer, product):
            return Member(step, product)
    return None


def _fits(writer: RunnerWriter, group: Group, member: Member) -> bool:
    """Can it run with these?"""
    kinds = {(rows_read(p), stored_dtype(writer, p)) for p in (group[0].product, member.product)}
    made = {node for each in group for node in each.made()}
    needed = {node for read in uses(writer, member.step) for node in seen_through(read)}
    words = len(FIELDS) + sum(_most_words(writer, each) for each in (*group, member))
    return len(kinds) == 1 and not made & needed and words <= MOST_ARGUMENTS


def _most_words(writer: RunnerWriter, member: Member) -> int:
    if member.follower is None:
        return len(EACH)
    kernel = writer.kernels.by_region[member.follower.region]
    return len(EACH) + len(kernel.buffers) + len(kernel.symbols)
