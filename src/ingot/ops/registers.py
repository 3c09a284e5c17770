"""The builder for pointwise rules: instructions, exponents and conversions between dtypes, all in
registers. Half-precision values are held as f32 and rounded when they are cast, so that a rule
computes in f32 and rounds where eager rounds.
"""

from __future__ import annotations

import torch

from ingot.machine import this_machine
from ingot.ops.control import ControlBuilder
from ingot.ops.dtypes import HALVES, MEMORY, UNSIGNED, bits_of, is_float
from ingot.ops.values import Val, vector_type


class RegisterBuilder(ControlBuilder):
    """Writes the body of one function, in registers."""

    def __init__(self, lanes: int):
        super().__init__(lanes)
        self.register_bytes = this_machine().vector_bits // 8
        """Of the widest registers that the function may use."""

    # -- exponents ---------------------------------------------------------------------------------

    def can_scale(self, x: Val) -> bool:
        """Is there an instruction for `scale`? AVX-512 has one."""
        return self.register_bytes == 64 and x.dtype is torch.float32 and x.lanes % 16 == 0

    def scale(self, x: Val, n: Val) -> Val:
        """x · 2ⁿ for an integral f32 n, rounded once, with denormals, 0 and inf."""
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
        """The bits of a float as stored in memory: 16 for a half-precision type."""
        if x.dtype not in HALVES:
            return self.bitcast(x, torch.int64 if x.dtype is torch.float64 else torch.int32)
        name, kind = self._to_memory(x)
        if x.dtype is torch.bfloat16:
            return Val(name, torch.int16, x.lanes)
        target = vector_type("i16", x.lanes)
        return self.assign(f"arith.bitcast {name} : {kind} to {target}", torch.int16, x.lanes)

    def from_bits(self, x: Val, dtype: torch.dtype) -> Val:
        """The float with these bits in memory."""
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
        """Towards zero. Values out of range wrap where eager's conversion is defined (uint8 through
        int64, uint64 above and below int64), and are undefined elsewhere."""
        if dtype is torch.uint64:
            return self._cast_float_to_uint64(x)
        wide = torch.int64 if dtype in UNSIGNED else dtype
        if bits_of(dtype) < 32 and not (dtype is torch.uint8 and x.dtype is torch.float64):
            wide = torch.int32  # a smaller float outside int32 has eight trailing zero bits
        return self.cast(self._convert("arith.fptosi", x, wide), dtype)

    def _cast_float_to_uint64(self, x: Val) -> Val:
        """As C compilers do: from 2⁶³ on, the excess is converted and the top bit added."""
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
        """A bf16 value from f32 bits whose lower half is zero."""
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
        if x.name in self.short_nans:  # no carry reaches the sign
            return rounded
        quiet = self.const(0x7FC00000, torch.int32)
        return self.select(self.isnan(Val(x.name, torch.float32, x.lanes)), quiet, rounded)

    def _extend_f16(self, name: str, lanes: int) -> Val:
        kind = vector_type("f16", lanes)
        return self.assign(
            f"arith.extf {name} : {kind} to {vector_type('f32', lanes)}", torch.float16, lanes
        )

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
