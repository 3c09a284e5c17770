"""The writer of all MLIR text of native code. `Builder` adds loads and stores of elements with a
dtype, in any order of lanes, to the layers below it, each of which has the text of its ops:
ops/instructions.py (arith, math, vector), ops/control.py (scf), ops/registers.py (conversions),
codegen/mlir/memory.py (llvm).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from ingot.codegen.mlir.memory import MemoryBuilder
from ingot.machine import this_machine
from ingot.ops.dtypes import MEMORY, REGISTER
from ingot.ops.values import Ptr, Val, vector_type

CACHE_LINE = 64


class Builder(MemoryBuilder):
    """Writes the body of one function: ops on registers and on memory."""

    def __init__(self, lanes: int):
        super().__init__(lanes)
        self.in_pairs = False
        """Whether vectors of `lanes` hold the elements at even positions in memory first, then
        those at odd positions. Of two bf16 in 32 bits, a shift gives one and a mask the other."""

    # -- memory ------------------------------------------------------------------------------------

    def load(self, pointer: Ptr, dtype: torch.dtype, lanes: int, mask: Val | None = None) -> Val:
        """Loads `lanes` contiguous elements, or those that `mask` selects (the others are 0)."""
        kind = vector_type(MEMORY[dtype], lanes)
        align = max(1, dtype.itemsize)
        mask = mask and self.as_in_memory(mask)
        if mask is None or lanes == 1:
            name = self.load_as(kind, pointer, align)
        else:
            name = self.masked_load_as(kind, pointer, mask, self._zero(dtype, lanes), align)
        return self._from_neighbours(name, dtype, lanes)

    def load_again(self, pointer: Ptr, dtype: torch.dtype) -> Val:
        """Reloads one element that a vector already holds: cheaper than extracting it."""
        return self._from_memory(self.load_as(MEMORY[dtype], pointer, volatile=True), dtype, 1)

    def gather(self, base: Ptr, offsets: Val, dtype: torch.dtype, mask: Val | None = None) -> Val:
        """Loads one element for each lane of `offsets` (i64, in elements from `base`)."""
        if offsets.lanes == 1:
            return self.load(self.pointer_at(base, offsets, dtype), dtype, 1)
        lanes = offsets.lanes
        kind = vector_type(MEMORY[dtype], lanes)
        addresses = self._lane_addresses(base, offsets, MEMORY[dtype])
        all_on, zero = mask or self.const(1, torch.bool, lanes), self._zero(dtype, lanes)
        name = self.gather_as(kind, addresses, all_on, zero, dtype.itemsize)
        return self._from_memory(name, dtype, lanes)

    def collect(self, pointers: Iterable[Ptr], dtype: torch.dtype, lanes: int) -> Val:
        """Loads one element from each address. If the addresses are plain sums this is faster than
        a gather, several times for narrow elements."""
        element = MEMORY[dtype]
        kind = vector_type(element, lanes)
        total = self._zero(dtype, lanes)
        for k, pointer in enumerate(pointers):
            part, after = self.load_as(element, pointer, dtype.itemsize), self.fresh()
            at = self.const(k, torch.int64)
            self.line(f"{after} = llvm.insertelement {part}, {total}[{at.name} : i64] : {kind}")
            total = after
        return self._from_memory(total, dtype, lanes)

    def spread(self, x: Val, pointers: Sequence[Ptr]) -> None:
        """Stores each lane to its address."""
        name, kind = self._to_memory(x)
        for k, pointer in enumerate(pointers):
            part, at = self.fresh(), self.const(k, torch.int64)
            self.line(f"{part} = llvm.extractelement {name}[{at.name} : i64] : {kind}")
            self.store_as(part, MEMORY[x.dtype], pointer, x.dtype.itemsize)

    def store(self, pointer: Ptr, x: Val, mask: Val | None = None) -> None:
        name, kind = self._to_neighbours(x)
        align = x.dtype.itemsize
        mask = mask and self.as_in_memory(mask)
        if mask is None or x.lanes == 1:
            self.store_as(name, kind, pointer, align)
            return
        self.masked_store_as(name, kind, pointer, mask, align)

    def fetch(self, start: Ptr, size: int, level: int = 1, write: bool = False) -> None:
        """Prefetches `size` bytes into a cache level. Unmapped addresses are harmless."""
        for first in range(0, size, CACHE_LINE):
            at = self.pointer_at(start, self.const(first, torch.int64, 1), torch.int8)
            self.prefetch(at, level, write)

    def store_past_cache(self, pointer: Ptr, x: Val) -> None:
        """Stores contiguous elements that are not read soon: non-temporally if the address is
        aligned, so that their cache lines are not fetched first. A function that does this ends in
        `store_fence`."""
        if x.lanes * x.dtype.itemsize < 16:
            self.store(pointer, x)
            return
        name, kind = self._to_neighbours(x)
        align = min(x.lanes * x.dtype.itemsize, this_machine().vector_bits // 8)
        beside = self.and_(self.as_number(pointer), self.const(align - 1, torch.int64))
        self.either(
            self.cmp("eq", beside, self.const(0, torch.int64)),
            lambda: self.store_as(name, kind, pointer, align, past_cache=True),
            lambda: self.store_as(name, kind, pointer, x.dtype.itemsize),
        )

    def scatter(self, base: Ptr, offsets: Val, x: Val, mask: Val | None = None) -> None:
        """Stores lane by lane to `base` + offsets (i64, in elements)."""
        if offsets.lanes == 1:
            self.store(self.pointer_at(base, offsets, x.dtype), x)
            return
        name, kind = self._to_memory(x)
        addresses = self._lane_addresses(base, offsets, MEMORY[x.dtype])
        all_on = mask or self.const(1, torch.bool, x.lanes)
        self.scatter_as(name, kind, addresses, all_on, x.dtype.itemsize)

    # -- the order of lanes ------------------------------------------------------------------------

    def places(self, lanes: int) -> list[int]:
        """The position in memory, from the first, of each lane's element."""
        if not self._paired(lanes):
            return list(range(lanes))
        return [*range(0, lanes, 2), *range(1, lanes, 2)]

    def _paired(self, lanes: int) -> bool:
        return self.in_pairs and lanes == self.lanes > 1

    def as_in_memory(self, x: Val) -> Val:
        """`x` with its lanes in memory order."""
        return self._moved(x, _interleaved(x.lanes)) if self._paired(x.lanes) else x

    def as_in_lanes(self, x: Val) -> Val:
        """`x`, whose lanes are in memory order, in lane order."""
        return self._moved(x, self.places(x.lanes)) if self._paired(x.lanes) else x

    def _moved(self, x: Val, lanes: Sequence[int]) -> Val:
        after = Val(self._picked(x.name, REGISTER[x.dtype], lanes), x.dtype, x.lanes)
        return self._nans_of([x], after)

    def _picked(self, name: str, element: str, lanes: Sequence[int]) -> str:
        """Permutes the lanes of a vector of `element`."""
        after, kind = self.fresh(), vector_type(element, len(lanes))
        picks = ", ".join(map(str, lanes))
        self.line(f"{after} = vector.shuffle {name}, {name} [{picks}] : {kind}, {kind}")
        return after

    def _from_neighbours(self, name: str, dtype: torch.dtype, lanes: int) -> Val:
        """The value of a vector that was loaded in one piece."""
        if not self._paired(lanes):
            return self._from_memory(name, dtype, lanes)
        if dtype is not torch.bfloat16:
            ordered = self._picked(name, MEMORY[dtype], self.places(lanes))
            return self._from_memory(ordered, dtype, lanes)
        half = lanes // 2
        both = self.assign(
            f"vector.bitcast {name} : vector<{lanes}xi16> to vector<{half}xi32>", torch.int32, half
        )
        even = self.shl(both, self.const(16, torch.int32))
        odd = self.and_(both, self.const(-65536, torch.int32))
        return self._bfloat16(self.shuffle(even, odd, range(lanes)))

    def _to_neighbours(self, x: Val) -> tuple[str, str]:
        """Name and type of the vector to store in one piece."""
        if not self._paired(x.lanes):
            return self._to_memory(x)
        if x.dtype is not torch.bfloat16:
            name, kind = self._to_memory(x)
            return self._picked(name, MEMORY[x.dtype], _interleaved(x.lanes)), kind
        half = x.lanes // 2
        bits = self.bitcast(Val(x.name, torch.float32, x.lanes), torch.int32)
        even = self.shr_logical(self.lanes_from(bits, 0, half), self.const(16, torch.int32))
        odd = self.and_(self.lanes_from(bits, half, half), self.const(-65536, torch.int32))
        both, name, kind = self.or_(even, odd), self.fresh(), f"vector<{x.lanes}xi16>"
        self.line(f"{name} = vector.bitcast {both.name} : {both.type} to {kind}")
        return name, kind


def _interleaved(lanes: int) -> list[int]:
    """The lanes of memory positions 0, 1, 2 … if even positions come first."""
    return [k // 2 + lanes // 2 * (k % 2) for k in range(lanes)]
