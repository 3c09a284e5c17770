"""Range checks in generated code. `CheckedBuilder` writes every access after a check that its bytes
lie in a buffer of the running step; what checks call is in check_functions.py.

An address belongs to the pointer it was derived from (a base pointer, an argument, stack memory):
the access has to lie in the same buffer. An access that fails is recorded and redirected to spare
memory, so that the kernel finishes without damage.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Self

import torch

from ingot.codegen.mlir.builder import Builder
from ingot.codegen.mlir.memory import FRAME, Callee, Extents
from ingot.machine import this_machine
from ingot.ops.values import POINTER, Ptr, Val, Value

_I64 = torch.int64
_BITS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64, POINTER: 64}


def kernel_builder(lanes: int) -> Builder:
    """The builder of a kernel's function for the machine that code is generated for."""
    return CheckedBuilder(lanes) if this_machine().range_checks else Builder(lanes)


def bytes_of_type(kind: str) -> int:
    """Size in memory of a value of an MLIR type."""
    if kind.startswith("vector<"):
        *counts, element = kind[len("vector<") : -1].split("x")
        return -(-prod(map(int, counts)) * _bits(element) // 8)
    return -(-_bits(kind) // 8)


def _bits(element: str) -> int:
    return _BITS[element] if element in _BITS else int(element.removeprefix("i"))


@dataclass(frozen=True)
class Site:
    """A checked access."""

    function: str
    op: str
    writes: bool

    def number(self) -> int:
        """A digest, so that the text of a kernel is the same in every process."""
        text = f"{self.function} {self.writes} {self.op}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


_sites: dict[int, Site] = {}


def site(number: int) -> Site:
    """The access with this number, if this process wrote its code."""
    return _sites.get(number, Site("NAME", "in code that another process wrote", False))


class CheckedBuilder(Builder):
    """Writes the body of a function whose accesses are checked."""

    def __init__(self, lanes: int):
        super().__init__(lanes)
        self._roots: dict[str, Ptr] = {}
        """Addresses → the pointers they were derived from."""
        self._fixed = {FRAME.name}
        """Addresses at a constant offset in the call frame."""
        self._blocks: dict[str, int | Val] = {}
        """Memory that the function allocates → its bytes."""
        self._accesses: list[tuple[str, bool]] = []
        """(op, whether it writes); their numbers depend on the function's name."""

    def fork(self) -> Self:
        other = super().fork()
        other._roots, other._blocks = dict(self._roots), dict(self._blocks)
        other._fixed, other._accesses = set(self._fixed), list(self._accesses)
        return other

    def function(
        self,
        name: str,
        arguments: Sequence[Value],
        result: Value | None = None,
        attributes: str = "",
        internal: bool = True,
    ) -> str:
        for k, (op, writes) in enumerate(self._accesses):
            at = Site(name, op, writes)
            _sites[at.number()] = at
            self.entry.append(f"    {_site_value(k).name} = arith.constant {at.number()} : i64")
        return super().function(name, arguments, result, attributes, internal)

    # -- addresses ---------------------------------------------------------------------------------

    def _offset(self, base: Ptr, index: Val | int, element: str, kind: str) -> str:
        name = super()._offset(base, index, element, kind)
        self._roots[name] = self._roots.get(base.name, base)
        if base.name in self._fixed and isinstance(index, int):
            self._fixed.add(name)
        return name

    def stack(self, count: int, element: str = "i64", alignment: int | None = 64) -> Ptr:
        block = super().stack(count, element, alignment)
        self._blocks[block.name] = count * bytes_of_type(element)
        return block

    def allocate(self, size: Val, alignment: int = 64) -> Ptr:
        block = self.invoke_pointer("bounds_alloc", [self.const(alignment, _I64), size])
        self._blocks[block.name] = size
        return block

    def release(self, block: Ptr) -> None:
        self.invoke("bounds_free", [block])

    # -- accesses ----------------------------------------------------------------------------------

    def define(self, value: Value, at: Ptr) -> None:
        super().define(value, self._plain("llvm.load", value.type, at, writes=False))

    def load_as(
        self, kind: str, at: Ptr, alignment: int | None = None, volatile: bool = False
    ) -> str:
        safe = self._plain("llvm.load", kind, at, writes=False)
        return super().load_as(kind, safe, alignment, volatile)

    def store_as(
        self, name: str, kind: str, at: Ptr, alignment: int | None = None, past_cache: bool = False
    ) -> None:
        safe = self._plain("llvm.store", kind, at, writes=True)
        super().store_as(name, kind, safe, alignment, past_cache)

    def masked_load_as(self, kind: str, at: Ptr, mask: Val, other: str, alignment: int) -> str:
        safe = self._masked("llvm.intr.masked.load", kind, at, mask, writes=False)
        return super().masked_load_as(kind, safe, mask, other, alignment)

    def masked_store_as(self, name: str, kind: str, at: Ptr, mask: Val, alignment: int) -> None:
        safe = self._masked("llvm.intr.masked.store", kind, at, mask, writes=True)
        super().masked_store_as(name, kind, safe, mask, alignment)

    def gather_as(self, kind: str, addresses: str, mask: Val, other: str, alignment: int) -> str:
        safe = self._lanes("llvm.intr.masked.gather", kind, addresses, mask, writes=False)
        return super().gather_as(kind, safe, mask, other, alignment)

    def scatter_as(self, name: str, kind: str, addresses: str, mask: Val, alignment: int) -> None:
        safe = self._lanes("llvm.intr.masked.scatter", kind, addresses, mask, writes=True)
        super().scatter_as(name, kind, safe, mask, alignment)

    def copy(self, to: Ptr, start: Ptr, size: Val) -> None:
        size = self._all_or_none("llvm.intr.memcpy", to, size, writes=True)
        super().copy(to, start, self._all_or_none("llvm.intr.memcpy", start, size, writes=False))

    def fill(self, to: Ptr, byte: Val, size: Val) -> None:
        super().fill(to, byte, self._all_or_none("llvm.intr.memset", to, size, writes=True))

    def fetch_and_add(self, at: Ptr, value: Val) -> Val:
        safe = self._plain("llvm.atomicrmw", value.type, at, writes=True)
        return super().fetch_and_add(safe, value)

    def invoke_library(
        self, function: Callee, arguments: Sequence[Value], extents: Extents
    ) -> None:
        """Calls the function only if all the memory that it accesses is in range."""
        zero = self.const(0, _I64)
        fits = [
            self.is_same(self._in_range(f"llvm.call @{function}", at, zero, size, writes), at)
            for at, size, writes in extents()
        ]
        with self.when(reduce(self.and_, fits)):
            super().invoke_library(function, arguments, extents)

    # -- checks ------------------------------------------------------------------------------------

    def _plain(self, op: str, kind: str, at: Ptr, writes: bool) -> Ptr:
        size, block = bytes_of_type(kind), self._blocks.get(at.name)
        if at.name in self._fixed or (isinstance(block, int) and size <= block):
            return at
        first, many = self.const(0, _I64), self.const(size, _I64)
        return self._in_range(f"{op} {at.name} : {kind}", at, first, many, writes)

    def _masked(self, op: str, kind: str, at: Ptr, mask: Val, writes: bool) -> Ptr:
        """Checks the range from the first active lane to the last."""
        each = self.const(bytes_of_type(kind) // mask.lanes, _I64)
        first, count = self._active(mask)
        ends = self.mul(first, each), self.mul(count, each)
        return self._in_range(f"{op} {at.name} : {kind}", at, *ends, writes)

    def _active(self, mask: Val) -> tuple[Val, Val]:
        """The first active lane, and how many lanes there are from it to the last one."""
        kind, bits = f"i{mask.lanes}", self.fresh()
        self.line(f"{bits} = llvm.bitcast {mask.name} : {mask.type} to {kind}")
        low, high = (self._zeros(way, bits, kind) for way in ("cttz", "ctlz"))
        return low, self.sub(self.sub(self.const(mask.lanes, _I64), high), low)

    def _zeros(self, way: str, bits: str, kind: str) -> Val:
        """The number of inactive lanes at an end. A mask of bytes may have more than 64."""
        name = self.fresh()
        self.line(
            f'{name} = "llvm.intr.{way}"({bits}) <{{is_zero_poison = false}}> : ({kind}) -> {kind}'
        )
        if kind == "i64":
            return Val(name, _I64)
        extend = "zext" if _bits(kind) < 64 else "trunc"
        return self.assign(f"llvm.{extend} {name} : {kind} to i64", _I64, 1)

    def _lanes(self, op: str, kind: str, addresses: str, mask: Val, writes: bool) -> str:
        """Checks lane by lane; inactive ones access nothing."""
        many, size = f"vector<{mask.lanes}x{POINTER}>", bytes_of_type(kind) // mask.lanes
        each, zero, root = self.const(size, _I64), self.const(0, _I64), self._roots.get(addresses)
        for k in range(mask.lanes):
            at, after = self.const(k, _I64).name, self.fresh()
            one = self._pointer(f"llvm.extractelement {addresses}[{at} : i64] : {many}")
            on = self.assign(
                f"llvm.extractelement {mask.name}[{at} : i64] : {mask.type}", torch.bool, 1
            )
            length = self.select(on, each, zero)
            safe = self._in_range(f"{op} {addresses} : {kind}", one, zero, length, writes, root)
            self.line(f"{after} = llvm.insertelement {safe.name}, {addresses}[{at} : i64] : {many}")
            addresses = after
        return addresses

    def _all_or_none(self, op: str, at: Ptr, size: Val, writes: bool) -> Val:
        """The bytes to access, none if they are not in range: the spare memory is small."""
        zero = self.const(0, _I64)
        safe = self._in_range(f"{op} {at.name}", at, zero, size, writes)
        return self.select(self.is_same(safe, at), size, zero)

    def _in_range(
        self, op: str, at: Ptr, first: Val, size: Val, writes: bool, root: Ptr | None = None
    ) -> Ptr:
        """The pointer, or one to spare memory if the check of `size` bytes from `first` fails."""
        root, number = root or self._roots.get(at.name, at), _site_value(len(self._accesses))
        self._accesses.append((op, writes))
        block = self._blocks.get(root.name)
        if block is None:
            return self.invoke_pointer("bounds_check", [root, at, first, size, number])
        length = self.const(block, _I64) if isinstance(block, int) else block
        return self.invoke_pointer("bounds_within", [root, length, at, first, size, number])


def _site_value(k: int) -> Val:
    return Val(f"%site{k}", _I64)
