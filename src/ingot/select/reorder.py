"""Matmuls of one input, next to each other: Q, K and V of an attention. Comes in: the steps in
units, a matmul and the region that follows it being one; goes out: the same, in which a matmul
stands behind one that reads the same rows, where nothing but views is made between the two that it
needs. What holds: no step comes before what it reads; results that are made early wait for a few
steps only, for they take memory meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from torch import fx

from ingot.fuse.fused import CallStep, Step
from ingot.fuse.region import Region
from ingot.fuse.views import base_of, is_view
from ingot.kernels.matmul.claim import Matmul, root_of
from ingot.program.shapes import size_of, tensor_of

NEAR = 4
"""Matmuls of other inputs that may stand between two of one input."""
Unit = Sequence[Step]
"""Steps that stay together."""


def made_adjacent(units: Sequence[Unit], matmuls: Mapping[Step, Matmul]) -> list[Unit]:
    """`matmuls`: what calls compute."""
    made = {node: k for k, unit in enumerate(units) for node in _made(unit)}
    """The unit that makes a value, or that its unit has gone behind."""
    places = {k: (k, k) for k in range(len(units))}
    leaders: dict[Hashable, tuple[int, int]] = {}
    """Of each input: the unit that others go behind, and how many matmuls come before it."""
    others = 0
    for k, unit in enumerate(units):
        matmul = matmuls.get(unit[0])
        if matmul is None:
            continue
        key = rows_read(matmul)
        leader, passed = leaders.get(key, (k, others))
        moving = _moving(units, made, k, leader) if others - passed <= NEAR else None
        if leader == k or moving is None:
            leaders[key] = (k, others)
            others += 1
            continue
        for each in moving:
            places[each] = (leader, each)
            made |= dict.fromkeys(_made(units[each]), leader)
    return [units[k] for k in sorted(places, key=places.__getitem__)]


def _moving(
    units: Sequence[Unit], made: Mapping[fx.Node, int], k: int, leader: int
) -> set[int] | None:
    """The units that go behind the leader if `k` does: views that it reads go with it. None: it
    needs more."""
    moving, waiting = {k}, [k]
    while waiting:
        unit = units[waiting.pop()]
        for node in _reads(unit):
            maker = made.get(node, -1)
            if maker <= leader or maker in moving:
                continue
            if not is_view(node) or len(units[maker]) > 1:
                return None
            moving.add(maker)
            waiting.append(maker)
    return moving


def rows_read(matmul: Matmul) -> Hashable:
    """The same for matmuls of the same rows."""
    value, (m, _, k) = tensor_of(matmul.left), matmul.sizes
    start = size_of(value.storage_offset())
    return root_of(matmul.left), start, m, k, matmul.row_strides[0], value.dtype


def _made(unit: Unit) -> Iterator[fx.Node]:
    for step in unit:
        yield from [step.node] if isinstance(step, CallStep) else step.region.stored


def _reads(unit: Unit) -> Iterator[fx.Node]:
    for step in unit:
        read = step.node.all_input_nodes if isinstance(step, CallStep) else _read(step.region)
        for node in read:
            yield from seen_through(node)


def _read(region: Region) -> list[fx.Node]:
    return [node for node, _ in region.reads]


def seen_through(node: fx.Node) -> Iterator[fx.Node]:
    """A value, and if it is a view what it is a view of."""
    yield node
    while is_view(node):
        node = base_of(node)
        yield node
