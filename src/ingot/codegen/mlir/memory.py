"""A builder for the llvm dialect: addresses, accesses to memory, stack memory, calls and the text
of a function. An access has an MLIR type; dtypes and masks are added by `Builder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import torch

from ingot.ops.dtypes import MEMORY
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import POINTER, Ptr, Val, Value, vector_type

FRAME = Ptr("%frame")
"""The argument of most functions: the pointers and sizes of a call."""
Callee = str | Ptr
"""The symbol of a function, or its address."""
Extents = Callable[[], Sequence[tuple[Ptr, Val, bool]]]
"""Computes what memory a call accesses: its start, its bytes, whether it is written."""


class MemoryBuilder(RegisterBuilder):
    """Writes the body of one function: ops on addresses and memory."""

    def __init__(self, lanes: int):
        super().__init__(lanes)
        self.entry: list[str] = []
        """Lines for the function's top: stack memory."""
        self._slots = 0

    # -- addresses ---------------------------------------------------------------------------------

    def pointer_at(self, base: Ptr, offset: Val, dtype: torch.dtype) -> Ptr:
        """The address of element `offset` (an i64) from `base`."""
        return self.element_at(base, offset, MEMORY[dtype])

    def register_at(self, base: Ptr, offset: Val, dtype: torch.dtype, lanes: int = 1) -> Ptr:
        """As `pointer_at`, in an array of values in register form."""
        return self.element_at(base, offset, Val("", dtype, lanes).type)

    def word_at(self, base: Ptr, index: Val | int) -> Ptr:
        """The address of a 64-bit word."""
        return self.element_at(base, index, "i64")

    def byte_at(self, base: Ptr, offset: Val | int) -> Ptr:
        return self.element_at(base, offset, "i8")

    def row_at(self, base: Ptr, index: Val | int, words: int) -> Ptr:
        """The address of a row of a table, whose rows have so many words."""
        return self.element_at(base, index, f"!llvm.array<{words} x i64>")

    def element_at(self, base: Ptr, index: Val | int, element: str) -> Ptr:
        """The address of an element of an array of this MLIR type."""
        return Ptr(self._offset(base, index, element, POINTER))

    def _offset(self, base: Ptr, index: Val | int, element: str, kind: str) -> str:
        name = self.fresh()
        at, kinds = (
            (index, POINTER) if isinstance(index, int) else (index.name, f"{POINTER}, {index.type}")
        )
        self.line(f"{name} = llvm.getelementptr {base.name}[{at}] : ({kinds}) -> {kind}, {element}")
        return name

    def address_of(self, symbol: str) -> Ptr:
        return self._pointer(f"llvm.mlir.addressof @{symbol} : {POINTER}")

    def null(self) -> Ptr:
        return self._pointer(f"llvm.mlir.zero : {POINTER}")

    def as_pointer(self, address: Val) -> Ptr:
        return self._pointer(f"llvm.inttoptr {address.name} : {address.type} to {POINTER}")

    def as_number(self, pointer: Ptr) -> Val:
        return self.assign(f"llvm.ptrtoint {pointer.name} : {POINTER} to i64", torch.int64, 1)

    def choose(self, condition: Val, x: Ptr, y: Ptr) -> Ptr:
        return self._pointer(f"arith.select {condition.name}, {x.name}, {y.name} : {POINTER}")

    def is_same(self, x: Ptr, y: Ptr) -> Val:
        return self.assign(f'llvm.icmp "eq" {x.name}, {y.name} : {POINTER}', torch.bool, 1)

    def _pointer(self, text: str) -> Ptr:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return Ptr(name)

    # -- accesses ----------------------------------------------------------------------------------

    def load_pointer(self, at: Ptr, alignment: int | None = None) -> Ptr:
        return Ptr(self.load_as(POINTER, at, alignment))

    def load_word(self, at: Ptr, alignment: int | None = None) -> Val:
        return Val(self.load_as("i64", at, alignment), torch.int64)

    def load_register(
        self, at: Ptr, dtype: torch.dtype, lanes: int = 1, alignment: int | None = None
    ) -> Val:
        """Loads a value that is in memory as it is in a register."""
        return Val(self.load_as(Val("", dtype, lanes).type, at, alignment), dtype, lanes)

    def store_register(self, at: Ptr, value: Value, alignment: int | None = None) -> None:
        """Stores a value as it is in the register."""
        self.store_as(value.name, value.type, at, alignment)

    def define(self, value: Value, at: Ptr) -> None:
        """Loads a value whose name is given."""
        self.line(f"{value.name} = {_load(value.type, at)}")

    def load_as(
        self, kind: str, at: Ptr, alignment: int | None = None, volatile: bool = False
    ) -> str:
        """Loads a value of an MLIR type, aligned for that type if nothing else is said."""
        name = self.fresh()
        self.line(f"{name} = {_load(kind, at, alignment, volatile)}")
        return name

    def store_as(
        self, name: str, kind: str, at: Ptr, alignment: int | None = None, past_cache: bool = False
    ) -> None:
        """Stores a value of an MLIR type; `past_cache`: non-temporally."""
        given = [] if alignment is None else [f"alignment = {alignment} : i64"]
        given += ["nontemporal"] * past_cache
        attributes = f" {{{', '.join(given)}}}" if given else ""
        self.line(f"llvm.store {name}, {at.name}{attributes} : {kind}, {POINTER}")

    def masked_load_as(self, kind: str, at: Ptr, mask: Val, other: str, alignment: int) -> str:
        """Loads the lanes of a vector that `mask` selects; the others are those of `other`."""
        name = self.fresh()
        self.line(
            f"{name} = llvm.intr.masked.load {at.name}, {mask.name}, {other} "
            f"{{alignment = {alignment} : i32}} : ({POINTER}, {mask.type}, {kind}) -> {kind}"
        )
        return name

    def masked_store_as(self, name: str, kind: str, at: Ptr, mask: Val, alignment: int) -> None:
        """Stores the lanes of a vector that `mask` selects."""
        self.line(
            f"llvm.intr.masked.store {name}, {at.name}, {mask.name} "
            f"{{alignment = {alignment} : i32}} : {kind}, {mask.type} into {POINTER}"
        )

    def gather_as(self, kind: str, addresses: str, mask: Val, other: str, alignment: int) -> str:
        """As `masked_load_as`, each lane from an address of its own."""
        name, many = self.fresh(), vector_type(POINTER, mask.lanes)
        self.line(
            f"{name} = llvm.intr.masked.gather {addresses}, {mask.name}, {other} "
            f"{{alignment = {alignment} : i32}} : ({many}, {mask.type}, {kind}) -> {kind}"
        )
        return name

    def scatter_as(self, name: str, kind: str, addresses: str, mask: Val, alignment: int) -> None:
        """As `masked_store_as`, each lane to an address of its own."""
        many = vector_type(POINTER, mask.lanes)
        self.line(
            f"llvm.intr.masked.scatter {name}, {addresses}, {mask.name} "
            f"{{alignment = {alignment} : i32}} : {kind}, {mask.type} into {many}"
        )

    def _lane_addresses(self, base: Ptr, offsets: Val, element: str) -> str:
        """The name of a vector of addresses."""
        return self._offset(base, offsets, element, vector_type(POINTER, offsets.lanes))

    def copy(self, to: Ptr, start: Ptr, size: Val) -> None:
        """Copies bytes between memory that does not overlap."""
        self.line(
            f'"llvm.intr.memcpy"({to.name}, {start.name}, {size.name}) <{{isVolatile = false}}> : '
            f"({POINTER}, {POINTER}, i64) -> ()"
        )

    def fill(self, to: Ptr, byte: Val, size: Val) -> None:
        self.line(
            f'"llvm.intr.memset"({to.name}, {byte.name}, {size.name}) <{{isVolatile = false}}> : '
            f"({POINTER}, i8, i64) -> ()"
        )

    def prefetch(self, at: Ptr, level: int, write: bool) -> None:
        hint = f"cache = 1 : i32, hint = {4 - level} : i32, rw = {int(write)} : i32"
        self.line(f'"llvm.intr.prefetch"({at.name}) <{{{hint}}}> : ({POINTER}) -> ()')

    def fetch_and_add(self, at: Ptr, value: Val) -> Val:
        """Adds to a word atomically; returns the old one."""
        text = f"llvm.atomicrmw add {at.name}, {value.name} acq_rel : {POINTER}, {value.type}"
        return self.assign(text, value.dtype, 1)

    def store_fence(self) -> None:
        """Orders non-temporal stores before everything that follows."""
        self.line('llvm.call_intrinsic "llvm.x86.sse.sfence"() : () -> ()')

    def cycles(self) -> Val:
        """The processor's cycle counter."""
        text = 'llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64'
        return self.assign(text, torch.uint64, 1)

    def identify(self, leaf: Val, subleaf: Val) -> list[Val]:
        """What `cpuid` says of the processor: eax, ebx, ecx, edx."""
        registers = "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}"
        return self._assembly("cpuid", registers, [leaf, subleaf], 4)

    def saved_registers(self) -> Val:
        """The registers that the operating system saves (`xgetbv` of 0); the processor must have
        OSXSAVE."""
        zero = self.const(0, torch.int32)
        registers = "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"
        return self._assembly("xgetbv", registers, [zero], 2)[0]

    def _assembly(
        self, text: str, registers: str, operands: Sequence[Val], count: int
    ) -> list[Val]:
        """An instruction with `count` results of 32 bits."""
        names = ", ".join(value.name for value in operands)
        kind = f"!llvm.struct<({', '.join(['i32'] * count)})>"
        result = self.fresh()
        self.line(
            f'{result} = llvm.inline_asm has_side_effects "{text}", "{registers}" {names} : '
            f"{types_of(operands)} -> {kind}"
        )
        return [
            self.assign(f"llvm.extractvalue {result}[{k}] : {kind}", torch.int32, 1)
            for k in range(count)
        ]

    # -- stack memory ------------------------------------------------------------------------------

    def slot(self, dtype: torch.dtype, lanes: int = 1, count: int = 1) -> Ptr:
        """Stack memory for values in register form; LLVM promotes single ones to registers."""
        return self.stack(count, Val("", dtype, lanes).type)

    def stack(self, count: int, element: str = "i64", alignment: int | None = 64) -> Ptr:
        """Stack memory for elements of an MLIR type, allocated at the function's top."""
        self._slots += 1
        slot, number = Ptr(f"%slot{self._slots}"), self.const(count, torch.int64)
        attributes = "" if alignment is None else f" {{alignment = {alignment} : i64}}"
        self.entry.append(
            f"    {slot.name} = llvm.alloca {number.name} x {element}{attributes} : "
            f"(i64) -> {POINTER}"
        )
        return slot

    def allocate(self, size: Val, alignment: int = 64) -> Ptr:
        """Memory of so many bytes, until `release`."""
        return self.invoke_pointer("aligned_alloc", [self.const(alignment, torch.int64), size])

    def release(self, block: Ptr) -> None:
        self.invoke("free", [block])

    # -- calls -------------------------------------------------------------------------------------

    def invoke(self, function: Callee, arguments: Sequence[Value]) -> None:
        """Calls a function without a result."""
        self.line(_call(function, arguments, "()"))

    def invoke_library(
        self, function: Callee, arguments: Sequence[Value], extents: Extents
    ) -> None:
        """Calls a library's function, whose accesses are `extents`."""
        self.invoke(function, arguments)

    def invoke_value(
        self, function: Callee, arguments: Sequence[Value], dtype: torch.dtype, variadic: str = ""
    ) -> Val:
        """`variadic`: the type of the function if it takes any number of arguments."""
        text = _call(function, arguments, Val("", dtype).type, variadic)
        return self.assign(text, dtype, 1)

    def invoke_pointer(self, function: Callee, arguments: Sequence[Value]) -> Ptr:
        return self._pointer(_call(function, arguments, POINTER))

    # -- text --------------------------------------------------------------------------------------

    def fork(self) -> Self:
        """A writer of another function that lines of this one can be copied into."""
        other = type(self)(self.lanes)
        other._count, other._constants = self._count, dict(self._constants)
        return other

    @contextmanager
    def apart(self) -> Iterator[list[str]]:
        """Collects lines to be put elsewhere in the function."""
        lines, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = lines

    def give_back(self, value: Value | None = None) -> None:
        """Returns from the function."""
        self.line("llvm.return" if value is None else f"llvm.return {value.name} : {value.type}")

    def function(
        self,
        name: str,
        arguments: Sequence[Value],
        result: Value | None = None,
        attributes: str = "",
        internal: bool = True,
    ) -> str:
        """The function of everything written so far, at whose end it returns `result`."""
        self.give_back(result)
        given = ", ".join(f"{value.name}: {value.type}" for value in arguments)
        kind = "" if result is None else f" -> {result.type}"
        more = attributes and f" attributes {{{attributes}}}"
        linkage = "internal " if internal else ""
        head = f"  llvm.func {linkage}@{name}({given}){kind}{more} {{"
        return "\n".join([head, *self.constant_lines(), *self.entry, *self.lines, "  }"])


def types_of(arguments: Sequence[Value]) -> str:
    """The types of a function's arguments."""
    return f"({', '.join(value.type for value in arguments)})"


def _call(function: Callee, arguments: Sequence[Value], kind: str, variadic: str = "") -> str:
    names = ", ".join(value.name for value in arguments)
    types = f"{types_of(arguments)} -> {kind}"
    if isinstance(function, Ptr):
        return f"llvm.call {function.name}({names}) : {POINTER}, {types}"
    more = variadic and f" vararg(!llvm.func<{variadic}>)"
    return f"llvm.call @{function}({names}){more} : {types}"


def _load(kind: str, at: Ptr, alignment: int | None = None, volatile: bool = False) -> str:
    how = " volatile" if volatile else ""
    attributes = "" if alignment is None else f" {{alignment = {alignment} : i64}}"
    return f"llvm.load{how} {at.name}{attributes} : {POINTER} -> {kind}"
