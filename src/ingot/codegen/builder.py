"""The text of one native function: the ops of ops.py, conversions between dtypes, loads and stores.
What holds: half types live in registers as f32 and are rounded when they are cast to, so that every
rule computes in f32 and rounds where eager rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from ingot.codegen.machine import this_machine
from ingot.codegen.ops import OpBuilder
from ingot.codegen.values import (
    HALVES,
    MEMORY,
    REGISTER,
    UNSIGNED,
    Val,
    bits_of,
    is_float,
    vector_type,
)

CACHE_LINE = 64
FENCE = '    llvm.call_intrinsic "llvm.x86.sse.sfence"() : () -> ()'
"""What was stored past the cache is there before anything that follows."""


class Builder(OpBuilder):
    """Writes the body of one function, in registers and in memory."""

    def __init__(self, lanes: int):
        super().__init__(lanes)
        self.register_bytes = this_machine().vector_bits // 8
        """Of the widest registers that the function may use."""
        self.in_pairs = False
        """Do vectors of `lanes` hold what lies at even places in memory first, then what lies at
        odd ones? Of two bf16 in 32 bits a shift gives one and a mask the other."""

    # -- exponents ---------------------------------------------------------------------------------

    def can_scale(self, x: Val) -> bool:
        """AVX-512 has an instruction for `scale`."""
        return self.register_bytes == 64 and x.dtype is torch.float32 and x.lanes % 16 == 0

    def scale(self, x: Val, n: Val) -> Val:
        """x · 2ⁿ for an f32 n that is whole, rounded once: denormals, 0 and inf as they come."""
        mask, mode = self._constant("-1", "i16"), self._constant("4", "i32")
        kind = vector_type("f32", 16)
        total = self.const(0.0, torch.float32, x.lanes)
        for start in range(0, x.lanes, 16):
            a, by = (self.lanes_from(each, start, 16) for each in (x, n))
            part = self.assign(
                f'llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"({a.name}, {by.name}, '
                f"{a.name}, {mask}, {mode}) : ({kind}, {kind}, {kind}, i16, i32) -> {kind}",
                torch.float32,
                16,
            )
            self._nans_of([x, n], part)
            total = part if x.lanes == 16 else self._with_lanes(total, start, part)
        return total

    def lanes_from(self, x: Val, start: int, lanes: int) -> Val:
        """`lanes` of x, from `start` on."""
        if lanes == x.lanes:
            return x
        kind = Val("", x.dtype, lanes).type
        return self.assign(
            f"vector.extract_strided_slice {x.name} "
            f"{{offsets = [{start}], sizes = [{lanes}], strides = [1]}} : {x.type} to {kind}",
            x.dtype,
            lanes,
        )

    def _with_lanes(self, x: Val, start: int, part: Val) -> Val:
        text = (
            f"vector.insert_strided_slice {part.name}, {x.name} "
            f"{{offsets = [{start}], strides = [1]}} : {part.type} into {x.type}"
        )
        return self._nans_of([x, part], self.assign(text, x.dtype, x.lanes))

    # -- conversion --------------------------------------------------------------------------------

    def bitcast(self, x: Val, dtype: torch.dtype) -> Val:
        target = Val("", dtype, x.lanes)
        return self.assign(f"arith.bitcast {x.name} : {x.type} to {target.type}", dtype, x.lanes)

    def bits(self, x: Val) -> Val:
        """A float's bits as it lies in memory: 16 of them for a half."""
        if x.dtype not in HALVES:
            return self.bitcast(x, torch.int64 if x.dtype is torch.float64 else torch.int32)
        name, kind = self._to_memory(x)
        if x.dtype is torch.bfloat16:
            return Val(name, torch.int16, x.lanes)
        target = vector_type("i16", x.lanes)
        return self.assign(f"arith.bitcast {name} : {kind} to {target}", torch.int16, x.lanes)

    def from_bits(self, x: Val, dtype: torch.dtype) -> Val:
        """The float that has these bits in memory."""
        if dtype not in HALVES:
            return self.bitcast(x, dtype)
        kind = vector_type(MEMORY[dtype], x.lanes)
        name = x.name
        if dtype is torch.float16:
            name = self.fresh()
            self.line(f"{name} = arith.bitcast {x.name} : {x.type} to {kind}")
        return self._from_memory(name, dtype, x.lanes)

    def _convert(self, op: str, x: Val, dtype: torch.dtype) -> Val:
        target = Val("", dtype, x.lanes)
        return self.assign(f"{op} {x.name} : {x.type} to {target.type}", dtype, x.lanes)

    def cast(self, x: Val, dtype: torch.dtype) -> Val:
        """Tensor.to(dtype) on one element."""
        if x.dtype is dtype:
            return x
        if dtype is torch.bool:
            return self.cmp("ne", x, self.const(0, x.dtype))
        if is_float(x.dtype):
            return (
                self._cast_float(x, dtype) if is_float(dtype) else self._cast_float_to_int(x, dtype)
            )
        if is_float(dtype):
            return self._cast_int_to_float(x, dtype)
        if bits_of(dtype) == bits_of(x.dtype):
            return Val(x.name, dtype, x.lanes)
        if bits_of(dtype) < bits_of(x.dtype):
            return self._convert("arith.trunci", x, dtype)
        unsigned = x.dtype in UNSIGNED or x.dtype is torch.bool
        return self._convert("arith.extui" if unsigned else "arith.extsi", x, dtype)

    def _cast_float(self, x: Val, dtype: torch.dtype) -> Val:
        if dtype is torch.float64:
            return self._convert("arith.extf", x, dtype)
        if x.dtype is torch.float64:
            x = self._convert("arith.truncf", x, torch.float32)
        return self.round_half(x, dtype) if dtype in HALVES else Val(x.name, dtype, x.lanes)

    def _cast_float_to_int(self, x: Val, dtype: torch.dtype) -> Val:
        """Towards zero. What the type does not hold wraps where eager's conversion defines it
        (uint8 by way of int64, uint64 above and below int64), and is undefined elsewhere."""
        if dtype is torch.uint64:
            return self._cast_float_to_uint64(x)
        wide = torch.int64 if dtype in UNSIGNED else dtype
        if bits_of(dtype) < 32 and not (dtype is torch.uint8 and x.dtype is torch.float64):
            wide = torch.int32  # a smaller float outside of int32 ends in eight zeros
        return self.cast(self._convert("arith.fptosi", x, wide), dtype)

    def _cast_float_to_uint64(self, x: Val) -> Val:
        """As compilers do it for C: from 2⁶³ on the excess is converted, and the top bit added."""
        limit = self.const(2.0**63, x.dtype)
        plain = self._convert("arith.fptosi", x, torch.int64)
        excess = self._convert("arith.fptosi", self.sub(x, limit), torch.int64)
        above = self.xor(excess, self.const(-(2**63), torch.int64))
        value = self.select(self.cmp("ge", x, limit), above, plain)
        return Val(value.name, torch.uint64, value.lanes)

    def _cast_int_to_float(self, x: Val, dtype: torch.dtype) -> Val:
        unsigned = x.dtype in UNSIGNED or x.dtype is torch.bool
        if bits_of(x.dtype) < 32:
            x, unsigned = self.cast(x, torch.int32), False
        register = torch.float64 if dtype is torch.float64 else torch.float32
        value = self._convert("arith.uitofp" if unsigned else "arith.sitofp", x, register)
        self.short_nans.add(value.name)
        return self.cast(value, dtype)

    def round_half(self, x: Val, dtype: torch.dtype) -> Val:
        """An f32 register rounded to the nearest f16 or bf16, still held as f32."""
        if dtype is torch.float16:
            half = self.assign(
                f"arith.truncf {x.name} : {x.type} to {vector_type('f16', x.lanes)}", dtype, x.lanes
            )
            return self._extend_f16(half.name, x.lanes)
        bits = self._bf16_bits(x)
        high = self.and_(bits, self.const(-65536, torch.int32))
        return self._bfloat16(high)

    def _bfloat16(self, high: Val) -> Val:
        """From the bits of an f32 whose lower half is empty."""
        value = self.bitcast(high, torch.float32)
        self.short_nans.add(value.name)
        return Val(value.name, torch.bfloat16, value.lanes)

    def _bf16_bits(self, x: Val) -> Val:
        """f32 bits with the upper half rounded to nearest even; a NaN stays a NaN."""
        bits = self.bitcast(Val(x.name, torch.float32, x.lanes), torch.int32)
        odd = self.and_(
            self.shr_logical(bits, self.const(16, torch.int32)), self.const(1, torch.int32)
        )
        rounded = self.add(self.add(bits, self.const(0x7FFF, torch.int32)), odd)
        if x.name in self.short_nans:  # nothing is carried into the sign
            return rounded
        quiet = self.const(0x7FC00000, torch.int32)
        return self.select(self.isnan(Val(x.name, torch.float32, x.lanes)), quiet, rounded)

    def _extend_f16(self, name: str, lanes: int) -> Val:
        kind = vector_type("f16", lanes)
        return self.assign(
            f"arith.extf {name} : {kind} to {vector_type('f32', lanes)}", torch.float16, lanes
        )

    # -- memory ------------------------------------------------------------------------------------

    def pointer_at(self, base: str, offset: Val, dtype: torch.dtype) -> str:
        """The address of element `offset` (an i64) behind `base`."""
        name = self.fresh()
        self.line(
            f"{name} = llvm.getelementptr {base}[{offset.name}] : "
            f"(!llvm.ptr, i64) -> !llvm.ptr, {MEMORY[dtype]}"
        )
        return name

    def load(self, pointer: str, dtype: torch.dtype, lanes: int, mask: Val | None = None) -> Val:
        """`lanes` neighbours, or those of them that `mask` names (the others are 0)."""
        kind = vector_type(MEMORY[dtype], lanes)
        align = max(1, dtype.itemsize)
        mask = mask and self.as_in_memory(mask)
        if mask is None or lanes == 1:
            text = f"llvm.load {pointer} {{alignment = {align} : i64}} : !llvm.ptr -> {kind}"
        else:
            zero = self._zero(dtype, lanes)
            text = (
                f"llvm.intr.masked.load {pointer}, {mask.name}, {zero} "
                f"{{alignment = {align} : i32}} : (!llvm.ptr, {mask.type}, {kind}) -> {kind}"
            )
        name = self.fresh()
        self.line(f"{name} = {text}")
        return self._from_neighbours(name, dtype, lanes)

    def load_again(self, pointer: str, dtype: torch.dtype) -> Val:
        """One element of what a vector holds already: from memory, which takes less than to take it
        out of the vector."""
        text = f"llvm.load volatile {pointer} : !llvm.ptr -> {MEMORY[dtype]}"
        return self._from_memory(self.assign(text, dtype, 1).name, dtype, 1)

    def gather(self, base: str, offsets: Val, dtype: torch.dtype, mask: Val | None = None) -> Val:
        """One element for each lane of `offsets` (i64), counted in elements from `base`."""
        if offsets.lanes == 1:
            return self.load(self.pointer_at(base, offsets, dtype), dtype, 1)
        lanes = offsets.lanes
        kind = vector_type(MEMORY[dtype], lanes)
        pointers = self.fresh()
        self.line(
            f"{pointers} = llvm.getelementptr {base}[{offsets.name}] : "
            f"(!llvm.ptr, {offsets.type}) -> vector<{lanes}x!llvm.ptr>, {MEMORY[dtype]}"
        )
        all_on = mask or self.const(1, torch.bool, lanes)
        name, zero = self.fresh(), self._zero(dtype, lanes)
        self.line(
            f"{name} = llvm.intr.masked.gather {pointers}, {all_on.name}, {zero} "
            f"{{alignment = {dtype.itemsize} : i32}} : "
            f"(vector<{lanes}x!llvm.ptr>, {all_on.type}, {kind}) -> {kind}"
        )
        return self._from_memory(name, dtype, lanes)

    def collect(self, pointers: Iterable[str], dtype: torch.dtype, lanes: int) -> Val:
        """One element from each address: where these are plain sums, faster than to gather, of
        narrow elements several times."""
        element = MEMORY[dtype]
        kind = vector_type(element, lanes)
        total = self._zero(dtype, lanes)
        for k, pointer in enumerate(pointers):
            part, after = self.fresh(), self.fresh()
            self.line(
                f"{part} = llvm.load {pointer} {{alignment = {dtype.itemsize} : i64}} : "
                f"!llvm.ptr -> {element}"
            )
            at = self.const(k, torch.int64)
            self.line(f"{after} = llvm.insertelement {part}, {total}[{at.name} : i64] : {kind}")
            total = after
        return self._from_memory(total, dtype, lanes)

    def spread(self, x: Val, pointers: Sequence[str]) -> None:
        """Each lane to its address."""
        name, kind = self._to_memory(x)
        for k, pointer in enumerate(pointers):
            part, at = self.fresh(), self.const(k, torch.int64)
            self.line(f"{part} = llvm.extractelement {name}[{at.name} : i64] : {kind}")
            self.line(
                f"llvm.store {part}, {pointer} {{alignment = {x.dtype.itemsize} : i64}} : "
                f"{MEMORY[x.dtype]}, !llvm.ptr"
            )

    def store(self, pointer: str, x: Val, mask: Val | None = None) -> None:
        name, kind = self._to_neighbours(x)
        align = x.dtype.itemsize
        mask = mask and self.as_in_memory(mask)
        if mask is None or x.lanes == 1:
            self.line(
                f"llvm.store {name}, {pointer} {{alignment = {align} : i64}} : {kind}, !llvm.ptr"
            )
            return
        self.line(
            f"llvm.intr.masked.store {name}, {pointer}, {mask.name} "
            f"{{alignment = {align} : i32}} : {kind}, {mask.type} into !llvm.ptr"
        )

    def fetch(self, start: str, size: int, level: int = 1, write: bool = False) -> None:
        """So many bytes into that cache level, so that they are there when they are needed; nothing
        happens where there is no memory."""
        hint = f"cache = 1 : i32, hint = {4 - level} : i32, rw = {int(write)} : i32"
        for first in range(0, size, CACHE_LINE):
            at = self.pointer_at(start, self.const(first, torch.int64, 1), torch.int8)
            self.line(f'"llvm.intr.prefetch"({at}) <{{{hint}}}> : (!llvm.ptr) -> ()')

    def store_past_cache(self, pointer: str, x: Val) -> None:
        """Neighbours that nobody reads soon: straight to main memory where the address is aligned,
        so that their cache lines are not fetched first. A function that does this ends in
        FENCE."""
        if x.lanes * x.dtype.itemsize < 16:
            self.store(pointer, x)
            return
        name, kind = self._to_neighbours(x)
        align = min(x.lanes * x.dtype.itemsize, this_machine().vector_bits // 8)
        address = self.assign(f"llvm.ptrtoint {pointer} : !llvm.ptr to i64", torch.int64, 1)
        beside = self.and_(address, self.const(align - 1, torch.int64))
        aligned = self.cmp("eq", beside, self.const(0, torch.int64))
        straight = f"{{alignment = {align} : i64, nontemporal}}"
        usual = f"{{alignment = {x.dtype.itemsize} : i64}}"
        self.line(f"scf.if {aligned.name} {{")
        self.line(f"  llvm.store {name}, {pointer} {straight} : {kind}, !llvm.ptr")
        self.line("} else {")
        self.line(f"  llvm.store {name}, {pointer} {usual} : {kind}, !llvm.ptr")
        self.line("}")

    def scatter(self, base: str, offsets: Val, x: Val, mask: Val | None = None) -> None:
        """Lane by lane to `base` + offsets (i64, in elements)."""
        if offsets.lanes == 1:
            self.store(self.pointer_at(base, offsets, x.dtype), x)
            return
        name, kind = self._to_memory(x)
        pointers = self.fresh()
        self.line(
            f"{pointers} = llvm.getelementptr {base}[{offsets.name}] : "
            f"(!llvm.ptr, {offsets.type}) -> vector<{x.lanes}x!llvm.ptr>, {MEMORY[x.dtype]}"
        )
        all_on = mask or self.const(1, torch.bool, x.lanes)
        self.line(
            f"llvm.intr.masked.scatter {name}, {pointers}, {all_on.name} "
            f"{{alignment = {x.dtype.itemsize} : i32}} : "
            f"{kind}, {all_on.type} into vector<{x.lanes}x!llvm.ptr>"
        )

    # -- the order of lanes ------------------------------------------------------------------------

    def places(self, lanes: int) -> list[int]:
        """Where in memory, counted from the first, the element of each lane lies."""
        if not self._paired(lanes):
            return list(range(lanes))
        return [*range(0, lanes, 2), *range(1, lanes, 2)]

    def _paired(self, lanes: int) -> bool:
        return self.in_pairs and lanes == self.lanes > 1

    def as_in_memory(self, x: Val) -> Val:
        """Its lanes in the order of memory."""
        return self._moved(x, _interleaved(x.lanes)) if self._paired(x.lanes) else x

    def as_in_lanes(self, x: Val) -> Val:
        """What has the order of memory in that of the lanes."""
        return self._moved(x, self.places(x.lanes)) if self._paired(x.lanes) else x

    def _moved(self, x: Val, lanes: Sequence[int]) -> Val:
        after = Val(self._picked(x.name, REGISTER[x.dtype], lanes), x.dtype, x.lanes)
        return self._nans_of([x], after)

    def _picked(self, name: str, element: str, lanes: Sequence[int]) -> str:
        """A vector of these elements with its lanes in another order."""
        after, kind = self.fresh(), vector_type(element, len(lanes))
        picks = ", ".join(map(str, lanes))
        self.line(f"{after} = vector.shuffle {name}, {name} [{picks}] : {kind}, {kind}")
        return after

    def _from_neighbours(self, name: str, dtype: torch.dtype, lanes: int) -> Val:
        """What was read from memory in one piece."""
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
        """What is to be written to memory in one piece, and its type."""
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

    # -- registers and memory ----------------------------------------------------------------------

    def _zero(self, dtype: torch.dtype, lanes: int) -> str:
        element = MEMORY[dtype]
        text = "0.0" if element.startswith("f") else "0"
        return self._constant(f"dense<{text}>", vector_type(element, lanes))

    def _from_memory(self, name: str, dtype: torch.dtype, lanes: int) -> Val:
        if dtype is torch.bool:
            byte = Val(name, torch.uint8, lanes)
            return self.cmp("ne", byte, self.const(0, torch.uint8))
        if dtype is torch.float16:
            return self._extend_f16(name, lanes)
        if dtype is torch.bfloat16:
            wide = self.assign(
                f"arith.extui {name} : {vector_type('i16', lanes)} to {vector_type('i32', lanes)}",
                torch.int32, lanes,
            )  # fmt: skip
            return self._bfloat16(self.shl(wide, self.const(16, torch.int32)))
        return Val(name, dtype, lanes)

    def _to_memory(self, x: Val) -> tuple[str, str]:
        kind = vector_type(MEMORY[x.dtype], x.lanes)
        if x.dtype is torch.bool:
            byte = self.assign(f"arith.extui {x.name} : {x.type} to {kind}", torch.uint8, x.lanes)
            return byte.name, kind
        if x.dtype is torch.float16:
            half = self.assign(f"arith.truncf {x.name} : {x.type} to {kind}", x.dtype, x.lanes)
            return half.name, kind
        if x.dtype is torch.bfloat16:
            bits = self.bitcast(Val(x.name, torch.float32, x.lanes), torch.int32)
            high = self.shr_logical(bits, self.const(16, torch.int32))
            short = self.assign(
                f"arith.trunci {high.name} : {high.type} to {kind}", x.dtype, x.lanes
            )
            return short.name, kind
        return x.name, kind


def _interleaved(lanes: int) -> list[int]:
    """The lanes that hold places 0, 1, 2 … where even ones come first."""
    return [k // 2 + lanes // 2 * (k % 2) for k in range(lanes)]
