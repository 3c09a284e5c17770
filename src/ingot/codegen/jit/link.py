"""Links an object into this process: copies its sections to memory of their own, applies the
relocations, then makes code executable and constants read-only. Memory is never writable and
executable at the same time. The mapping lives as long as its Image.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable
from functools import cache

from ingot.codegen.jit.elf import (
    MOST_BYTES,
    R_X86_64_64,
    WIDTHS,
    ElfSymbol,
    ObjectError,
    ObjectFile,
    Relocation,
    Section,
    read_object,
)

_FAILED = ctypes.c_void_p(-1).value
_MASK = (1 << 64) - 1

Resolve = Callable[[str], int | None]


@cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
    ]  # fmt: skip
    for name, arguments in (
        ("munmap", [ctypes.c_void_p, ctypes.c_size_t]),
        ("mprotect", [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_int, arguments
    return library


class Image:
    """An object in memory. `addresses`: of its functions, by name."""

    def __init__(self, data: bytes, resolve: Resolve):
        """`resolve` gives the addresses of imported symbols; None if one may not be imported."""
        self.start = 0
        parsed = read_object(data)
        offsets, groups, self.size = _layout(parsed)
        imports = {name: _imported(name, resolve) for name in parsed.imports()}
        self._map()
        places = {number: self.start + offset for number, offset in offsets.items()}
        for number, section in parsed.sections.items():
            if section.data is not None:
                ctypes.memmove(places[number], section.data, section.size)
        for each in parsed.relocations:
            value = _value(each, parsed.symbols[each.symbol], places, imports)
            ctypes.memmove(places[each.section] + each.offset, value, WIDTHS[each.kind])
        for begin, end, protection in groups:
            self._protect(begin, end, protection)
        self.addresses = {
            name: places[symbol.section] + symbol.value
            for name, symbol in parsed.functions().items()
            if symbol.section is not None
        }

    def _map(self) -> None:
        anywhere = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        start = _libc().mmap(None, self.size, protection, anywhere, -1, 0)
        if start in (None, _FAILED):
            raise ObjectError(f"no memory for code: {os.strerror(ctypes.get_errno())}")
        self.start = start

    def _protect(self, begin: int, end: int, protection: int) -> None:
        if _libc().mprotect(self.start + begin, end - begin, protection):
            raise ObjectError(f"code cannot be executed: {os.strerror(ctypes.get_errno())}")

    def __del__(self) -> None:
        # At interpreter shutdown code may still run in a thread that nobody waits for.
        if self.start and sys is not None and not sys.is_finalizing():
            _libc().munmap(self.start, self.size)


def _protection(section: Section) -> int:
    if section.executable:
        return mmap.PROT_READ | mmap.PROT_EXEC
    return mmap.PROT_READ | (mmap.PROT_WRITE if section.writable else 0)


def _layout(parsed: ObjectFile) -> tuple[dict[int, int], list[tuple[int, int, int]], int]:
    """The offset of each section, the ranges of pages with their protection, and the size of it
    all."""
    kinds: dict[int, list[int]] = {}
    for number, section in parsed.sections.items():
        kinds.setdefault(_protection(section), []).append(number)
    offsets: dict[int, int] = {}
    groups = []
    end = 0
    for protection, numbers in kinds.items():
        begin = end
        for number in numbers:
            section = parsed.sections[number]
            offsets[number] = _aligned(end, section.alignment)
            end = offsets[number] + section.size
        end = _aligned(end, mmap.PAGESIZE)
        if end > begin:
            groups.append((begin, end, protection))
    if not end:
        raise ObjectError("the object has no code")
    if end > MOST_BYTES:
        raise ObjectError(f"the object takes {end} bytes, more than {MOST_BYTES}")
    return offsets, groups, end


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _imported(name: str, resolve: Resolve) -> int:
    address = resolve(name)
    if address is None:
        raise ObjectError(f"code imports {name[:80]!r}, which is not on the list of symbols it may")
    return address


def _value(
    each: Relocation, symbol: ElfSymbol, places: dict[int, int], imports: dict[str, int]
) -> bytes:
    if symbol.section is not None:
        target = places[symbol.section] + symbol.value
    elif symbol.name in imports:
        target = imports[symbol.name]
    else:
        raise ObjectError("a relocation refers to nothing")
    value = target + each.addend
    if each.kind != R_X86_64_64:
        value -= places[each.section] + each.offset
    if WIDTHS[each.kind] == 8:
        return struct.pack("<Q", value & _MASK)
    if not -(1 << 31) <= value < 1 << 31:
        raise ObjectError(f"{symbol.name[:80]!r} is too far away for its relocation")
    return struct.pack("<i", value)
