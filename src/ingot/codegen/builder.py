"""The text of one native function, written op by op. Comes in: calls such as `b.add(x, y)`; goes
out: MLIR text in the arith, math, vector, scf and llvm dialects. What holds: a value knows its
torch dtype and how many lanes it has (1 is a scalar, uniform over the vector); mixing lanes
broadcasts. Half types live in registers as f32 and are rounded when they are cast to, so that every
rule computes in f32 and rounds where eager rounds.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
HALVES = (torch.bfloat16, torch.float16)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
_REGISTER = {
    torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "f32", torch.float16: "f32",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint64: "i64", torch.uint32: "i32", torch.uint16: "i16", torch.uint8: "i8",
    torch.bool: "i1",
}  # fmt: skip
_MEMORY = {**_REGISTER, torch.bfloat16: "i16", torch.float16: "f16", torch.bool: "i8"}
NATIVE_DTYPES = frozenset(_REGISTER)


def is_float(dtype: torch.dtype) -> bool:
    return dtype in FLOATS


def bits_of(dtype: torch.dtype) -> int:
    """Width in a register."""
    return 1 if dtype is torch.bool else int(_REGISTER[dtype][1:])


@dataclass(frozen=True, slots=True)
class Val:
    """An SSA value: its name, its torch dtype, its lanes (1 = scalar)."""

    name: str
    dtype: torch.dtype
    lanes: int = 1

    @property
    def type(self) -> str:
        return vector_type(_REGISTER[self.dtype], self.lanes)


def vector_type(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"vector<{lanes}x{element}>"


class Builder:
    """Writes the body of one function. `lanes` is the width that vector code of this function
    uses."""

    def __init__(self, lanes: int):
        self.lanes = lanes
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.failures: list[tuple[Val, int]] = []
        self._constants: dict[tuple[str, str], str] = {}
        self._count = 0
        self._depth = 2

    # -- text --------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def fresh(self) -> str:
        self._count += 1
        return f"%{self._count}"

    def assign(self, text: str, dtype: torch.dtype, lanes: int) -> Val:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return Val(name, dtype, lanes)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    def constant_lines(self) -> list[str]:
        """The constants the body used; they go to the function's top."""
        lines = []
        for (text, kind), name in self._constants.items():
            typed = text if kind == "i1" else f"{text} : {kind}"
            lines.append(f"    {name} = arith.constant {typed}")
        return lines

    def _constant(self, text: str, kind: str) -> str:
        key = (text, kind)
        if key not in self._constants:
            self._constants[key] = f"%c{len(self._constants)}"
        return self._constants[key]

    # -- constants and lanes -----------------------------------------------------------------------

    def const(self, value: complex, dtype: torch.dtype, lanes: int = 1) -> Val:
        """A number, rounded to `dtype`; the bits are written, so that NaN, -0.0 and the last ulp
        survive."""
        element = _REGISTER[dtype]
        text = _literal(value, dtype)
        kind = vector_type(element, lanes)
        return Val(self._constant(text if lanes == 1 else f"dense<{text}>", kind), dtype, lanes)

    def const_bits(self, bits: int, dtype: torch.dtype, lanes: int = 1) -> Val:
        """A float constant given by its bit pattern, or an integer."""
        if not is_float(dtype):
            return self.const(bits, dtype, lanes)
        width = bits_of(dtype)
        text = f"0x{bits:0{width // 4}X}"
        kind = vector_type(_REGISTER[dtype], lanes)
        return Val(self._constant(text if lanes == 1 else f"dense<{text}>", kind), dtype, lanes)

    def is_constant(self, x: Val) -> bool:
        return x.name.startswith("%c")

    def broadcast(self, x: Val, lanes: int) -> Val:
        if x.lanes == lanes:
            return x
        assert x.lanes == 1, f"cannot make {lanes} lanes of {x.lanes}"
        target = Val("", x.dtype, lanes)
        return self.assign(f"vector.broadcast {x.name} : {x.type} to {target.type}", x.dtype, lanes)

    def same_lanes(self, *values: Val) -> list[Val]:
        lanes = max(v.lanes for v in values)
        return [self.broadcast(v, lanes) for v in values]

    # -- arithmetic --------------------------------------------------------------------------------

    def op(self, name: str, *operands: Val, dtype: torch.dtype | None = None) -> Val:
        """An op whose operands and result have one type: `%r = name %a, %b : type`."""
        values = self.same_lanes(*operands)
        first = values[0]
        names = ", ".join(v.name for v in values)
        return self.assign(f"{name} {names} : {first.type}", dtype or first.dtype, first.lanes)

    def _by_kind(self, float_op: str, int_op: str, *operands: Val) -> Val:
        return self.op(float_op if is_float(operands[0].dtype) else int_op, *operands)

    def add(self, x: Val, y: Val) -> Val:
        return self._by_kind("arith.addf", "arith.addi", x, y)

    def sub(self, x: Val, y: Val) -> Val:
        return self._by_kind("arith.subf", "arith.subi", x, y)

    def mul(self, x: Val, y: Val) -> Val:
        return self._by_kind("arith.mulf", "arith.muli", x, y)

    def div(self, x: Val, y: Val) -> Val:
        """True division of floats; truncating division of integers (the divisor must not be 0, nor
        MIN / -1)."""
        return self._by_kind(
            "arith.divf", "arith.divui" if x.dtype in UNSIGNED else "arith.divsi", x, y
        )

    def rem(self, x: Val, y: Val) -> Val:
        """C's remainder of integers."""
        return self.op("arith.remui" if x.dtype in UNSIGNED else "arith.remsi", x, y)

    def fma(self, x: Val, y: Val, z: Val) -> Val:
        return self.op("math.fma", x, y, z)

    def neg(self, x: Val) -> Val:
        return (
            self.op("arith.negf", x) if is_float(x.dtype) else self.sub(self.const(0, x.dtype), x)
        )

    def maximum(self, x: Val, y: Val) -> Val:
        """NaN wins, as in torch.maximum."""
        return self._by_kind("arith.maximumf", _signed("arith.max{}i", x.dtype), x, y)

    def minimum(self, x: Val, y: Val) -> Val:
        return self._by_kind("arith.minimumf", _signed("arith.min{}i", x.dtype), x, y)

    def and_(self, x: Val, y: Val) -> Val:
        return self.op("arith.andi", x, y)

    def or_(self, x: Val, y: Val) -> Val:
        return self.op("arith.ori", x, y)

    def xor(self, x: Val, y: Val) -> Val:
        return self.op("arith.xori", x, y)

    def not_(self, x: Val) -> Val:
        return self.xor(x, self.const(-1 if x.dtype is not torch.bool else 1, x.dtype))

    def shl(self, x: Val, y: Val) -> Val:
        return self.op("arith.shli", x, y)

    def shr(self, x: Val, y: Val) -> Val:
        """Arithmetic for signed types, logical for unsigned ones."""
        return self.op("arith.shrui" if x.dtype in UNSIGNED else "arith.shrsi", x, y)

    def shr_logical(self, x: Val, y: Val) -> Val:
        return self.op("arith.shrui", x, y)

    def math(self, name: str, *operands: Val) -> Val:
        """An op of the math dialect that LLVM has as one instruction: sqrt, floor, ceil, trunc,
        roundeven, absf, copysign, fma, ctpop."""
        return self.op(f"math.{name}", *operands)

    # -- comparison and choice ---------------------------------------------------------------------

    def cmp(self, predicate: str, x: Val, y: Val) -> Val:
        """eq, ne, lt, le, gt, ge; on floats ordered, but `ne`, which is true on NaN. `uno`: either
        is NaN."""
        a, b = self.same_lanes(x, y)
        if is_float(x.dtype):
            code = {"ne": "une", "uno": "uno"}.get(predicate, "o" + predicate)
            text = f"arith.cmpf {code}, {a.name}, {b.name} : {a.type}"
        else:
            sign = (
                ""
                if predicate in ("eq", "ne")
                else "u"
                if x.dtype in (*UNSIGNED, torch.bool)
                else "s"
            )
            text = f"arith.cmpi {sign}{predicate}, {a.name}, {b.name} : {a.type}"
        return self.assign(text, torch.bool, a.lanes)

    def isnan(self, x: Val) -> Val:
        return self.cmp("uno", x, x)

    def fail_if(self, condition: Val, code: int) -> None:
        """Ask for an error where `condition` holds: 1 is ZeroDivisionError, 2 an index out of
        range. The loop nest reads `failures`, leaves out the lanes that its mask turned off, and
        reports the code."""
        self.failures.append((condition, code))

    def any(self, condition: Val) -> Val:
        """Whether one lane at least is true."""
        if condition.lanes == 1:
            return condition
        return self.assign(
            f"vector.reduction <or>, {condition.name} : {condition.type} into i1", torch.bool, 1
        )

    def branch(self, condition: Val, then: Callable[[], Val], otherwise: Callable[[], Val]) -> Val:
        """A real branch on a scalar, for what is rarely needed and dear; both sides give a value of
        one type."""
        header = len(self.lines)
        name = self.fresh()
        self.line("")
        with self.indented():
            first = then()
            self.line(f"scf.yield {first.name} : {first.type}")
        self.line("} else {")
        with self.indented():
            second = otherwise()
            self.line(f"scf.yield {second.name} : {second.type}")
        self.line("}")
        self.lines[header] = (
            "  " * self._depth + f"{name} = scf.if {condition.name} -> ({first.type}) {{"
        )
        return Val(name, first.dtype, first.lanes)

    def repeat_while(
        self,
        start: Sequence[Val],
        condition: Callable[[Sequence[Val]], Val],
        step: Callable[[Sequence[Val]], Sequence[Val]],
    ) -> list[Val]:
        """Values that `step` renews as long as `condition`, a scalar of them, holds."""
        kinds = [v.type for v in start]
        names, before, inside = ([self.fresh() for _ in start] for _ in range(3))

        def typed(fresh: Sequence[str]) -> list[Val]:
            return [Val(n, v.dtype, v.lanes) for n, v in zip(fresh, start, strict=True)]

        joined = ", ".join(kinds)
        given = ", ".join(f"{n} = {v.name}" for n, v in zip(before, start, strict=True))
        self.line(f"{names[0]}:{len(names)} = scf.while ({given}) : ({joined}) -> ({joined}) {{")
        with self.indented():
            held = condition(typed(before))
            self.line(f"scf.condition({held.name}) {', '.join(before)} : {joined}")
        self.line("} do {")
        arguments = ", ".join(f"{n}: {k}" for n, k in zip(inside, kinds, strict=True))
        self.line(f"^bb0({arguments}):")
        with self.indented():
            renewed = step(typed(inside))
            self.line(f"scf.yield {', '.join(v.name for v in renewed)} : {joined}")
        self.line("}")
        return [Val(f"{names[0]}#{i}", v.dtype, v.lanes) for i, v in enumerate(start)]

    def select(self, condition: Val, x: Val, y: Val) -> Val:
        c, a, b = self.same_lanes(condition, x, y)
        return self.assign(
            f"arith.select {c.name}, {a.name}, {b.name} : {c.type}, {a.type}", x.dtype, a.lanes
        )

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
        kind = vector_type(_MEMORY[dtype], x.lanes)
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
        narrow = bits_of(dtype) < 32
        wide = torch.int32 if narrow else torch.int64 if dtype in UNSIGNED else dtype
        return self.cast(self._convert("arith.fptosi", x, wide), dtype)

    def _cast_int_to_float(self, x: Val, dtype: torch.dtype) -> Val:
        unsigned = x.dtype in UNSIGNED or x.dtype is torch.bool
        if bits_of(x.dtype) < 32:
            x, unsigned = self.cast(x, torch.int32), False
        register = torch.float64 if dtype is torch.float64 else torch.float32
        return self.cast(
            self._convert("arith.uitofp" if unsigned else "arith.sitofp", x, register), dtype
        )

    def round_half(self, x: Val, dtype: torch.dtype) -> Val:
        """An f32 register rounded to the nearest f16 or bf16, still held as f32."""
        if dtype is torch.float16:
            half = self.assign(
                f"arith.truncf {x.name} : {x.type} to {vector_type('f16', x.lanes)}", dtype, x.lanes
            )
            return self._extend_f16(half.name, x.lanes)
        bits = self._bf16_bits(x)
        high = self.and_(bits, self.const(-65536, torch.int32))
        value = self.bitcast(high, torch.float32)
        return Val(value.name, dtype, x.lanes)

    def _bf16_bits(self, x: Val) -> Val:
        """f32 bits with the upper half rounded to nearest even; a NaN stays a NaN."""
        bits = self.bitcast(Val(x.name, torch.float32, x.lanes), torch.int32)
        odd = self.and_(
            self.shr_logical(bits, self.const(16, torch.int32)), self.const(1, torch.int32)
        )
        rounded = self.add(self.add(bits, self.const(0x7FFF, torch.int32)), odd)
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
            f"(!llvm.ptr, i64) -> !llvm.ptr, {_MEMORY[dtype]}"
        )
        return name

    def load(self, pointer: str, dtype: torch.dtype, lanes: int, mask: Val | None = None) -> Val:
        """`lanes` neighbours, or those of them that `mask` names (the others are 0)."""
        kind = vector_type(_MEMORY[dtype], lanes)
        align = max(1, dtype.itemsize)
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
        return self._from_memory(name, dtype, lanes)

    def gather(self, base: str, offsets: Val, dtype: torch.dtype, mask: Val | None = None) -> Val:
        """One element for each lane of `offsets` (i64), counted in elements from `base`."""
        if offsets.lanes == 1:
            return self.load(self.pointer_at(base, offsets, dtype), dtype, 1)
        lanes = offsets.lanes
        kind = vector_type(_MEMORY[dtype], lanes)
        pointers = self.fresh()
        self.line(
            f"{pointers} = llvm.getelementptr {base}[{offsets.name}] : "
            f"(!llvm.ptr, {offsets.type}) -> vector<{lanes}x!llvm.ptr>, {_MEMORY[dtype]}"
        )
        all_on = mask or self.const(1, torch.bool, lanes)
        name, zero = self.fresh(), self._zero(dtype, lanes)
        self.line(
            f"{name} = llvm.intr.masked.gather {pointers}, {all_on.name}, {zero} "
            f"{{alignment = {dtype.itemsize} : i32}} : "
            f"(vector<{lanes}x!llvm.ptr>, {all_on.type}, {kind}) -> {kind}"
        )
        return self._from_memory(name, dtype, lanes)

    def store(self, pointer: str, x: Val, mask: Val | None = None) -> None:
        name, kind = self._to_memory(x)
        align = x.dtype.itemsize
        if mask is None or x.lanes == 1:
            self.line(
                f"llvm.store {name}, {pointer} {{alignment = {align} : i64}} : {kind}, !llvm.ptr"
            )
            return
        self.line(
            f"llvm.intr.masked.store {name}, {pointer}, {mask.name} "
            f"{{alignment = {align} : i32}} : {kind}, {mask.type} into !llvm.ptr"
        )

    def scatter(self, base: str, offsets: Val, x: Val, mask: Val | None = None) -> None:
        """Lane by lane to `base` + offsets (i64, in elements)."""
        if offsets.lanes == 1:
            self.store(self.pointer_at(base, offsets, x.dtype), x)
            return
        name, kind = self._to_memory(x)
        pointers = self.fresh()
        self.line(
            f"{pointers} = llvm.getelementptr {base}[{offsets.name}] : "
            f"(!llvm.ptr, {offsets.type}) -> vector<{x.lanes}x!llvm.ptr>, {_MEMORY[x.dtype]}"
        )
        all_on = mask or self.const(1, torch.bool, x.lanes)
        self.line(
            f"llvm.intr.masked.scatter {name}, {pointers}, {all_on.name} "
            f"{{alignment = {x.dtype.itemsize} : i32}} : "
            f"{kind}, {all_on.type} into vector<{x.lanes}x!llvm.ptr>"
        )

    def _zero(self, dtype: torch.dtype, lanes: int) -> str:
        element = _MEMORY[dtype]
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
            value = self.bitcast(self.shl(wide, self.const(16, torch.int32)), torch.float32)
            return Val(value.name, dtype, lanes)
        return Val(name, dtype, lanes)

    def _to_memory(self, x: Val) -> tuple[str, str]:
        kind = vector_type(_MEMORY[x.dtype], x.lanes)
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

    # -- calls and lanes ---------------------------------------------------------------------------

    def call(self, symbol: str, operands: Sequence[Val], dtype: torch.dtype) -> Val:
        """A C function over whole vectors, such as Sleef's."""
        values = self.same_lanes(*operands)
        kinds = ", ".join(v.type for v in values)
        result = Val("", dtype, values[0].lanes).type
        self.declarations[symbol] = f"  llvm.func @{symbol}({kinds}) -> {result}"
        names = ", ".join(v.name for v in values)
        return self.assign(
            f"llvm.call @{symbol}({names}) : ({kinds}) -> {result}", dtype, values[0].lanes
        )

    def iota(self, lanes: int) -> Val:
        """0, 1, 2 … as i64."""
        if lanes == 1:
            return self.const(0, torch.int64)
        text = f"dense<[{', '.join(map(str, range(lanes)))}]>"
        return Val(self._constant(text, f"vector<{lanes}xi64>"), torch.int64, lanes)

    def shuffle(self, x: Val, y: Val, indices: Sequence[int]) -> Val:
        """Lanes of x followed by those of y, picked by index. Both are vectors, and so is the
        result."""
        picks = ", ".join(map(str, indices))
        text = f"vector.shuffle {x.name}, {y.name} [{picks}] : {x.type}, {y.type}"
        return self.assign(text, x.dtype, len(indices))

    def from_lanes(self, values: Sequence[Val]) -> Val:
        """Scalars side by side as one vector."""
        kind = vector_type(_REGISTER[values[0].dtype], len(values))
        names = ", ".join(v.name for v in values)
        return self.assign(f"vector.from_elements {names} : {kind}", values[0].dtype, len(values))

    def lane(self, x: Val, index: int) -> Val:
        if x.lanes == 1:
            return x
        return self.assign(
            f"vector.extract {x.name}[{index}] : {Val('', x.dtype).type} from {x.type}", x.dtype, 1
        )


def _signed(pattern: str, dtype: torch.dtype) -> str:
    return pattern.format("u" if dtype in (*UNSIGNED, torch.bool) else "s")


def _literal(value: complex, dtype: torch.dtype) -> str:
    if dtype is torch.bool:
        return "true" if value else "false"
    if not is_float(dtype):
        assert not isinstance(value, complex)
        number = int(value)
        width = bits_of(dtype)
        wrapped = number & ((1 << width) - 1)
        return str(wrapped - (1 << width) if wrapped >> (width - 1) else wrapped)
    assert not isinstance(value, complex)
    number_f = float(value)
    if dtype is torch.float64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', number_f))[0]:016X}"
    return f"0x{_f32_bits(number_f, dtype):08X}"


def rounded(value: float, dtype: torch.dtype) -> float:
    """`value` as f32, f16 or bf16 would hold it."""
    exact: float = struct.unpack("<f", struct.pack("<I", _f32_bits(value, dtype)))[0]
    return exact


def _f32_bits(value: float, dtype: torch.dtype) -> int:
    """The bits, as f32, of `value` rounded to f32, f16 or bf16. Not by torch: this runs under fake
    tensor modes."""
    if math.isnan(value):
        return 0x7FC00000
    bits = _packed(value, "<f", "<I", 0x7F800000)
    if dtype is torch.float16:
        half = _packed(value, "<e", "<H", 0x7C00)
        exact: float = struct.unpack("<e", struct.pack("<H", half))[0]
        return _packed(exact, "<f", "<I", 0x7F800000)
    if dtype is torch.bfloat16 and not math.isinf(value):
        return (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits


def _packed(value: float, kind: str, unsigned: str, infinity: int) -> int:
    try:
        return int(struct.unpack(unsigned, struct.pack(kind, value))[0])
    except OverflowError:
        sign = 1 << (8 * struct.calcsize(unsigned) - 1) if value < 0 else 0
        return infinity | sign
