"""Products of one input, next to each other: Q, K and V of an attention. Comes in: the steps in
units, a product and the region that follows it being one; goes out: the same, in which a product
stands behind one that reads the same rows where nothing that it needs is made between the two. What
holds: no step comes before what it reads; results that are made early wait for a few steps only,
for they take memory meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain

from torch import fx

from ingot.fuse.shapes import tensor_of
from ingot.fuse.views import base_of, is_view
from ingot.plan.products import Product, root_of
from ingot.stages import CallStep, KernelStep, Step

NEAR = 4
"""Products of other inputs that may stand between two of one input."""
Unit = Sequence[Step]
"""Steps that stay together."""


def abreast(units: Sequence[Unit], products: Mapping[Step, Product]) -> list[Unit]:
    """`products`: what calls compute."""
    made = {node: k for k, unit in enumerate(units) for node in _made(unit)}
    places: dict[int, tuple[int, int]] = {}
    """Of units that move: the unit that they go behind, and their own number."""
    leaders: dict[Hashable, tuple[int, int]] = {}
    """Of each input: the unit that others go behind, and how many products come before it."""
    others = 0
    for k, unit in enumerate(units):
        product = products.get(unit[0])
        if product is None:
            continue
        key = rows_read(product)
        leader, passed = leaders.get(key, (k, others))
        needed = max((made.get(node, -1) for node in _reads(unit, product)), default=-1)
        if leader < k and needed < leader and others - passed <= NEAR:
            places[k] = (leader, k)
            made |= dict.fromkeys(_made(unit), leader)
        else:
            leaders[key] = (k, others)
            others += 1
    order = sorted(range(len(units)), key=lambda k: places.get(k, (k, k)))
    return [units[k] for k in order]


def rows_read(product: Product) -> Hashable:
    """The same for products of the same rows."""
    value, (m, _, k) = tensor_of(product.left), product.sizes
    root, start = root_of(product.left), value.storage_offset()
    return root, start, m, k, product.row_strides[0], value.dtype


def _made(unit: Unit) -> Iterator[fx.Node]:
    for step in unit:
        yield from [step.node] if isinstance(step, CallStep) else step.region.stored


def _reads(unit: Unit, product: Product) -> Iterator[fx.Node]:
    """What has to be there before it."""
    regions = (step.region for step in unit if isinstance(step, KernelStep))
    more = (node for region in regions for node, _ in region.reads)
    own = set(_made(unit))
    for node in chain(product.reads(), more):
        yield from (each for each in seen_through(node) if each not in own)


def seen_through(node: fx.Node) -> Iterator[fx.Node]:
    """A value, and if it is a view what it is a view of."""
    yield node
    while is_view(node):
        node = base_of(node)
        yield node
