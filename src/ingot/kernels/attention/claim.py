"""A call of the attention op in a plan: its operands and the arguments of the launch. The pass that
wrote the call made sure that there is code for it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from torch import fx

from ingot.kernels.family import Claim, Pair, Reason, broadcast
from ingot.passes.attention import FLASH, why_not_native
from ingot.program.shapes import Size, shape_of, strides_of


@dataclass(frozen=True)
class AttentionClaim(Claim):
    """out = softmax(scale · q · kᵀ + mask) · v"""

    query: fx.Node
    key: fx.Node
    value: fx.Node
    mask: fx.Node | None
    causal: bool
    scale: float

    def equal_sizes(self) -> Iterator[Pair]:
        images, heads, queries, width = shape_of(self.query)
        _, kept, keys, _ = shape_of(self.key)
        both = isinstance(heads, int) and isinstance(kept, int)
        wanted = (images, kept if both else heads, keys, width)
        yield from zip(shape_of(self.key), wanted, strict=True)
        yield from zip(shape_of(self.value), (images, kept, keys, width), strict=True)
        if self.mask is not None:
            yield from broadcast(shape_of(self.mask), (images, heads, queries, keys))

    def reads(self) -> list[fx.Node]:
        more = [] if self.mask is None else [self.mask]
        return [self.query, self.key, self.value, *more]

    def sizes(self, few: bool, work_per_thread: int) -> list[Size]:
        """The arguments after the pointers."""
        images, heads, queries, width = shape_of(self.query)
        strides = [s for n in (self.query, self.key, self.value) for s in strides_of(n)[:3]]
        bits = struct.unpack("q", struct.pack("d", self.scale))[0]
        return [
            images, heads, queries, shape_of(self.key)[2], width, self._sharing(),
            *strides, *self._mask_strides(), *strides_of(self.node)[:3],
            int(self.causal), bits, int(few), work_per_thread,
        ]  # fmt: skip

    def _sharing(self) -> int:
        """Heads of the query per head of keys and values."""
        queries, keys = shape_of(self.query)[1], shape_of(self.key)[1]
        return queries // keys if isinstance(queries, int) and isinstance(keys, int) else 1

    def _mask_strides(self) -> list[Size]:
        if self.mask is None:
            return [0, 0, 0, 0]
        shape, strides = shape_of(self.mask), strides_of(self.mask)
        steps = [0 if size == 1 else step for size, step in zip(shape, strides, strict=True)]
        return [0] * (4 - len(steps)) + steps


def attention_of(node: fx.Node) -> AttentionClaim | Reason:
    if node.target is FLASH:  # passes/attention.py left it
        return Reason(why_not_native(node) or "its result is not read")
    if strides_of(node)[-1] != 1:
        return Reason("the rows of the result are not contiguous")
    return AttentionClaim(node, *node.args)  # type: ignore[arg-type]
