"""Claims on index_copy, such as new keys and values written into a cache: the arguments of the
function in emit.py, or no claim if PyTorch runs the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import fx

from ingot.kernels.family import Claim, Pair
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


def index_copies_of(node: fx.Node) -> list[IndexCopy]:
    if node.target is not torch.ops.aten.index_copy.default:
        return []
    given = arguments_of(node)
    call = IndexCopy(node, given["self"], given["dim"], given["index"], given["source"])
    rank = len(shape_of(node))
    if not 1 <= rank <= WITHIN + 1 or len(shape_of(call.source)) != rank:
        return []
    values = [tensor_of(n) for n in (node, call.given, call.source)]
    plain = all(v.layout is torch.strided and not v.is_neg() and not v.is_conj() for v in values)
    if not plain or values[0].dtype.itemsize not in ELEMENTS:
        return []
    return [IndexCopy(node, call.given, call.dim % rank, call.index, call.source)]
