"""Which sizes of its operands a library kernel takes to be equal: it is told one number for both.
Where the symbols do not prove it, this becomes a condition on the sizes of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from ingot.fuse.accesses import Condition, equal
from ingot.plan.attentions import Attention
from ingot.plan.batches import Batch
from ingot.plan.chains import Chain
from ingot.plan.convolutions import Convolution
from ingot.plan.placings import Placing
from ingot.plan.products import Product
from ingot.plan.recurrences import Recurrence
from ingot.program.shapes import Size, shape_of

Pair = tuple[Size, Size]


def conditions_of_call(call: Any) -> list[Condition]:
    """Of a call that a kernel of ours runs."""
    pairs = next((pairs for kind, pairs in _PAIRS.items() if isinstance(call, kind)), None)
    return [] if pairs is None else [c for a, b in pairs(call) for c in equal(a, b, call.node)]


def _product(call: Product) -> Iterator[Pair]:
    yield call.sizes[2], call.weight.shape[0]


def _batch(call: Batch) -> Iterator[Pair]:
    matrices, m, n, k = call.counts()
    full = (matrices, m, n)
    yield from _shared(shape_of(call.right), (matrices, k, n))
    yield from _shared(shape_of(call.node), full)
    if call.addend is not None:
        yield from _shared(shape_of(call.addend), full)


def _attention(call: Attention) -> Iterator[Pair]:
    images, heads, queries, width = shape_of(call.query)
    _, kept, keys, _ = shape_of(call.key)
    both = isinstance(heads, int) and isinstance(kept, int)
    yield from zip(shape_of(call.key), (images, kept if both else heads, keys, width), strict=True)
    yield from zip(shape_of(call.value), (images, kept, keys, width), strict=True)
    if call.mask is not None:
        yield from _shared(shape_of(call.mask), (images, heads, queries, keys))


def _convolution(call: Convolution) -> Iterator[Pair]:
    batch, *space = call.geometry.counts  # of the result without the zeros around it
    yield shape_of(call.image)[0], batch
    if call.addend is not None:
        yield from _shared(shape_of(call.addend), (batch, shape_of(call.node)[1], *space))


def _chain(call: Chain) -> Iterator[Pair]:
    return chain.from_iterable(map(_convolution, call.stages))


def _placing(call: Placing) -> Iterator[Pair]:
    source, result = shape_of(call.source), shape_of(call.node)
    yield from ((a, b) for d, (a, b) in enumerate(zip(source, result)) if d != call.dim)
    yield from ((size, source[call.dim]) for size in shape_of(call.index))


def _recurrence(call: Recurrence) -> Iterator[Pair]:
    _, batch, _ = shape_of(call.gates)
    for state in (call.hidden, call.cell):
        yield shape_of(state)[0], batch


def _shared(shape: Sequence[Size], full: Sequence[Size]) -> Iterator[Pair]:
    """Broadcast: what is not one is the other's."""
    for size, other in zip(reversed(shape), reversed(full)):
        if size != 1:
            yield size, other


_PAIRS: dict[type, Callable[[Any], Iterator[Pair]]] = {
    Product: _product, Batch: _batch, Attention: _attention, Convolution: _convolution,
    Chain: _chain, Placing: _placing, Recurrence: _recurrence,
}  # fmt: skip
