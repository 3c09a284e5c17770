"""A builder for ops on values in registers: calls such as `b.add(x, y)` write MLIR text in the
arith, math, vector, scf and llvm dialects. A value knows its torch dtype and its number of lanes (1
is a scalar, uniform over the vector); operands of different lanes are broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from ingot.linkage import declared
from ingot.ops.dtypes import REGISTER, UNSIGNED, is_float
from ingot.ops.values import Val, literal, vector_type

HANDS_NANS_ON = frozenset(
    {
        "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf", "arith.maximumf",
        "arith.minimumf", "math.fma", "math.absf", "math.sqrt",
    }
)  # fmt: skip


class OpBuilder:
    """Writes the body of one function. `lanes` is the width of its vector code."""

    def __init__(self, lanes: int):
        self.lanes = lanes
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.failures: list[tuple[Val, int]] = []
        self.short_nans: set[str] = set()
        """Names of f32 values that are not NaN, or a NaN whose lower 16 bits are zero."""
        self._constants: dict[tuple[str, str], str] = {}
        self._integers: dict[tuple[complex, torch.dtype, int], Val] = {}
        """Integer constants, which are asked for most often."""
        self._count = 0
        self._margin = "    "

    # -- text --------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(self._margin + text)

    def fresh(self) -> str:
        self._count += 1
        return f"%{self._count}"

    def assign(self, text: str, dtype: torch.dtype, lanes: int) -> Val:
        self._count += 1
        name = f"%{self._count}"
        self.lines.append(f"{self._margin}{name} = {text}")
        return Val(name, dtype, lanes)

    @contextmanager
    def indented(self) -> Iterator[None]:
        before, self._margin = self._margin, self._margin + "  "
        yield
        self._margin = before

    def constant_lines(self) -> list[str]:
        """The constants of the body, for the top of the function."""
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
        """A number, rounded to `dtype` and written as bits, so that NaN, -0.0 and the last ulp
        survive."""
        whole = type(value) is int  # not 1.0, True or -0.0, which are equal to integers
        if whole and (known := self._integers.get((value, dtype, lanes))) is not None:
            return known
        text = literal(value, dtype)
        kind = vector_type(REGISTER[dtype], lanes)
        name = self._constant(text if lanes == 1 else f"dense<{text}>", kind)
        self.short_nans.add(name)
        made = Val(name, dtype, lanes)
        if whole:
            self._integers[value, dtype, lanes] = made
        return made

    def broadcast(self, x: Val, lanes: int) -> Val:
        if x.lanes == lanes:
            return x
        assert x.lanes == 1, f"cannot make {lanes} lanes of {x.lanes}"
        target = Val("", x.dtype, lanes)
        text = f"vector.broadcast {x.name} : {x.type} to {target.type}"
        return self._nans_of([x], self.assign(text, x.dtype, lanes))

    def _nans_of(self, operands: Sequence[Val], result: Val) -> Val:
        """A processor propagates a NaN with its payload, and creates NaNs without one."""
        if all(operand.name in self.short_nans for operand in operands):
            self.short_nans.add(result.name)
        return result

    def same_lanes(self, *values: Val) -> list[Val]:
        lanes = values[0].lanes
        for value in values:
            if value.lanes != lanes:
                lanes = max(v.lanes for v in values)
                return [self.broadcast(v, lanes) for v in values]
        return list(values)

    # -- arithmetic --------------------------------------------------------------------------------

    def op(self, name: str, *operands: Val, dtype: torch.dtype | None = None) -> Val:
        """An op whose operands and result have one type: `%r = name %a, %b : type`."""
        values = self.same_lanes(*operands)
        first = values[0]
        names = ", ".join([v.name for v in values])
        result = self.assign(f"{name} {names} : {first.type}", dtype or first.dtype, first.lanes)
        return self._nans_of(values, result) if name in HANDS_NANS_ON else result

    def _by_kind(self, float_op: str, int_op: str, *operands: Val) -> Val:
        return self.op(float_op if is_float(operands[0].dtype) else int_op, *operands)

    def add(self, x: Val, y: Val) -> Val:
        return self._by_kind("arith.addf", "arith.addi", x, y)

    def sub(self, x: Val, y: Val) -> Val:
        return self._by_kind("arith.subf", "arith.subi", x, y)

    def mul(self, x: Val, y: Val) -> Val:
        return self._by_kind("arith.mulf", "arith.muli", x, y)

    def div(self, x: Val, y: Val) -> Val:
        """True division of floats; truncating division of integers (neither by 0, nor MIN / -1)."""
        return self._by_kind(
            "arith.divf", "arith.divui" if x.dtype in UNSIGNED else "arith.divsi", x, y
        )

    def rem(self, x: Val, y: Val) -> Val:
        """The remainder of integers, as in C."""
        return self.op("arith.remui" if x.dtype in UNSIGNED else "arith.remsi", x, y)

    def fma(self, x: Val, y: Val, z: Val) -> Val:
        return self.op("math.fma", x, y, z)

    def neg(self, x: Val) -> Val:
        return (
            self.op("arith.negf", x) if is_float(x.dtype) else self.sub(self.const(0, x.dtype), x)
        )

    def maximum(self, x: Val, y: Val) -> Val:
        """Propagates NaN, like torch.maximum."""
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
        """An op of the math dialect that LLVM lowers to one instruction: sqrt, floor, ceil, trunc,
        roundeven, absf, copysign, fma, ctpop."""
        return self.op(f"math.{name}", *operands)

    # -- comparison and choice ---------------------------------------------------------------------

    def cmp(self, predicate: str, x: Val, y: Val) -> Val:
        """eq, ne, lt, le, gt, ge; ordered on floats except `ne`, which is true for NaN. `uno`:
        either operand is NaN."""
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
        """Request an error where `condition` holds: 1 is ZeroDivisionError, 2 an index out of
        range. The loop nest reads `failures`, ignores lanes that its mask disables, and reports the
        code."""
        self.failures.append((condition, code))

    def any(self, condition: Val) -> Val:
        """Whether at least one lane is true."""
        if condition.lanes == 1:
            return condition
        return self.assign(
            f"vector.reduction <or>, {condition.name} : {condition.type} into i1", torch.bool, 1
        )

    def select(self, condition: Val, x: Val, y: Val) -> Val:
        c, a, b = self.same_lanes(condition, x, y)
        text = f"arith.select {c.name}, {a.name}, {b.name} : {c.type}, {a.type}"
        return self._nans_of([a, b], self.assign(text, x.dtype, a.lanes))

    # -- calls and lanes ---------------------------------------------------------------------------

    def call(self, symbol: str, operands: Sequence[Val], dtype: torch.dtype) -> Val:
        """Call a C function on whole vectors, such as one of Sleef's."""
        values = self.same_lanes(*operands)
        kinds = ", ".join(v.type for v in values)
        result = Val("", dtype, values[0].lanes).type
        self.declarations[symbol] = declared(symbol, f"({kinds})", f" -> {result}")
        names = ", ".join(v.name for v in values)
        return self.assign(
            f"llvm.call @{symbol}({names}) : ({kinds}) -> {result}", dtype, values[0].lanes
        )

    def places(self, lanes: int) -> list[int]:
        """The position of each lane's element, counted from the first."""
        return list(range(lanes))

    def iota(self, lanes: int) -> Val:
        """0, 1, 2 … as i64, in the order of the lanes."""
        if lanes == 1:
            return self.const(0, torch.int64)
        text = f"dense<[{', '.join(map(str, self.places(lanes)))}]>"
        return Val(self._constant(text, f"vector<{lanes}xi64>"), torch.int64, lanes)

    def shuffle(self, x: Val, y: Val, indices: Sequence[int]) -> Val:
        """Lanes of x followed by those of y, selected by index. Operands and result are vectors."""
        picks = ", ".join(map(str, indices))
        text = f"vector.shuffle {x.name}, {y.name} [{picks}] : {x.type}, {y.type}"
        return self.assign(text, x.dtype, len(indices))

    def from_lanes(self, values: Sequence[Val]) -> Val:
        """Scalars packed into one vector."""
        kind = vector_type(REGISTER[values[0].dtype], len(values))
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
