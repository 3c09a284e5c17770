"""Reorders steps so that matmuls of the same input become adjacent: Q, K and V of an attention. A
unit is a matmul with its epilogue region, or another step. A matmul moves behind one that reads the
same rows if it needs nothing but views made between the two. No step comes before a value that it
reads. Results made early occupy memory meanwhile, so a matmul passes only a few others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from torch import fx

from ingot.fuse.fused import CallStep, Step
from ingot.fuse.region import Region
from ingot.fuse.views import is_view
from ingot.kernels.matmul.claim import Matmul, root_of
from ingot.plan.passes.base import Notes
from ingot.program.graph import view_chain
from ingot.program.shapes import size_of, tensor_of

NEAR = 4
"""Most matmuls of other inputs between two of one input."""
Unit = Sequence[Step]
"""Steps that stay together."""


def made_adjacent(
    units: Sequence[Unit], matmuls: Mapping[Step, Matmul], notes: Notes
) -> list[Unit]:
    """`matmuls`: the matmuls that calls compute."""
    made = {node: k for k, unit in enumerate(units) for node in _made(unit)}
    """The unit that makes each value, or the unit that it moved behind."""
    places = {k: (k, k) for k in range(len(units))}
    leaders: dict[Hashable, tuple[int, int]] = {}
    """By input: the unit that others move behind, and the number of matmuls before it."""
    others = 0
    for k, unit in enumerate(units):
        matmul = matmuls.get(unit[0])
        if matmul is None:
            continue
        key = rows_read(matmul)
        leader, passed = leaders.get(key, (k, others))
        near = others - passed <= NEAR
        moving = _moving(units, made, k, leader) if near else None
        if leader == k or moving is None:
            if leader != k:
                why = "it needs values made between" if near else f"more than {NEAR} between"
                notes.add(f"{unit[0].name}: not moved to {units[leader][0].name}: {why}")
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
    """The units that move behind the leader with `k`: the views that it reads. None if it needs
    more."""
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
    """A key that is equal for matmuls of the same rows."""
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
    """A value and, if it is a view, the values that it is a view of."""
    return view_chain(node, is_view)
