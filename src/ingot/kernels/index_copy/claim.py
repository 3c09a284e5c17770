"""Claims on index_copy, such as new keys and values written into a cache: the arguments of the
function in emit.py, or the reason against a claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import fx

from ingot.kernels.family import Claim, Pair, Reason
from ingot.kernels.index_copy.emit import ELEMENTS, WITHIN
from ingot.program.shapes import Size, arguments_of, shape_of, strides_of, tensor_of


@dataclass(frozen=True)
class IndexCopy(Claim):
    """`given`, with the slices along `dim` at the positions in `index` replaced by `source`."""

    given: fx.Node
    dim: int
    index: fx.Node
    source: fx.Node

    def equal_sizes(self) -> Iterator[Pair]:
        source, result = shape_of(self.source), shape_of(self.node)
        yield from ((a, b) for d, (a, b) in enumerate(zip(source, result)) if d != self.dim)
        yield from ((size, source[self.dim]) for size in shape_of(self.index))

    def reads(self) -> list[fx.Node]:
        return [self.given, self.index, self.source]

    def sizes(self) -> list[Size]:
        """The arguments after the pointers."""
        steps = strides_of(self.index)
        return self._words(self.source, self.dim, steps[0] if steps else 0)

    def copy_sizes(self) -> list[Size]:
        """The same for a copy of `given`."""
        sizes = shape_of(self.given)
        longer = [d for d, size in enumerate(sizes) if size != 1]
        return self._words(self.given, longer[0] if longer else 0, 0)

    def _words(self, source: fx.Node, dim: int, index_step: Size) -> list[Size]:
        shape, to, of = shape_of(source), strides_of(self.node), strides_of(source)
        words = [shape[dim], shape_of(self.node)[dim], index_step, to[dim], of[dim]]
        within = [d for d in range(len(shape)) if d != dim]
        words += [1, 0, 0] * (WITHIN - len(within))
        for d in within:
            words += [shape[d], to[d], of[d]]
        return words


def index_copy_of(node: fx.Node) -> IndexCopy | Reason:
    given = arguments_of(node)
    call = IndexCopy(node, given["self"], given["dim"], given["index"], given["source"])
    refusal = _why_not(call)
    if refusal is not None:
        return Reason(refusal)
    return replace(call, dim=call.dim % len(shape_of(node)))


def _why_not(call: IndexCopy) -> str | None:
    rank, slices = len(shape_of(call.node)), len(shape_of(call.source))
    if not 1 <= rank <= WITHIN + 1:
        return f"a tensor of {rank} dimensions; the kernel takes 1 to {WITHIN + 1}"
    if slices != rank:
        return f"the source has {slices} dimensions, the result {rank}"
    values = [tensor_of(node) for node in (call.node, call.given, call.source)]
    if any(value.layout is not torch.strided for value in values):
        return "a tensor is not strided"
    if any(value.is_neg() or value.is_conj() for value in values):
        return "an operand is a lazily negated or conjugated view"
    dtype = values[0].dtype
    if dtype.itemsize not in ELEMENTS:
        return f"no kernel for elements of {dtype.itemsize} bytes"
    return None
