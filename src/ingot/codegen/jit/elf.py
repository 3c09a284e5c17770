"""Reads relocatable x86-64 ELF objects, the form in which machine code is kept. Nothing in an
object is trusted: every offset, size and index is checked before it is used, and only the
relocations that LLVM's large code model makes are known. Any defect is an ObjectError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ingot.errors import CompileError

MOST_BYTES = 1 << 28
MOST_SECTIONS = 1 << 12
MOST_SYMBOLS = 1 << 18
MOST_ALIGNMENT = 1 << 12

R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_PC64 = 1, 2, 4, 24
WIDTHS = {R_X86_64_64: 8, R_X86_64_PC32: 4, R_X86_64_PLT32: 4, R_X86_64_PC64: 8}
"""Bytes that each kind of relocation writes."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOBITS, _REL = 1, 2, 3, 4, 8, 9
_WRITE, _ALLOC, _EXECUTE, _TLS = 1, 2, 4, 1 << 10
_UNDEFINED, _ABSOLUTE, _FIRST_RESERVED = 0, 0xFFF1, 0xFF00
_FUNCTION = 2
_UNWINDING = ".eh_frame"
"""Exceptions never pass through generated code."""


class ObjectError(CompileError):
    """An object that is damaged, or not one that LLVM made for ingot."""


@dataclass(frozen=True)
class Section:
    name: str
    data: bytes | None
    """None: zeros."""
    size: int
    alignment: int
    writable: bool
    executable: bool


@dataclass(frozen=True)
class ElfSymbol:
    name: str
    section: int | None
    """Number of the section that defines it; None if it is imported."""
    value: int
    is_function: bool


@dataclass(frozen=True)
class Relocation:
    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True)
class ObjectFile:
    sections: dict[int, Section]
    """The sections that are loaded, by their number in the file."""
    symbols: list[ElfSymbol]
    relocations: list[Relocation]

    def imports(self) -> Iterator[str]:
        """The symbols that relocations refer to and the object does not define."""
        used = {each.symbol for each in self.relocations}
        yield from sorted(s.name for k, s in enumerate(self.symbols) if k in used and _missing(s))

    def functions(self) -> dict[str, ElfSymbol]:
        return {s.name: s for s in self.symbols if s.is_function and s.section is not None}


def _missing(symbol: ElfSymbol) -> bool:
    return symbol.section is None and bool(symbol.name)


@dataclass(frozen=True)
class _Header:
    """A row of the section table."""

    name: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


def read_object(data: bytes) -> ObjectFile:
    return _Reader(data).parsed()


class _Reader:
    def __init__(self, data: bytes):
        if len(data) > MOST_BYTES:
            raise ObjectError(f"the object has {len(data)} bytes, more than {MOST_BYTES}")
        self.data = data
        self.headers = self._headers()

    def parsed(self) -> ObjectFile:
        sections = {
            k: self._section(header)
            for k, header in enumerate(self.headers)
            if header.flags & _ALLOC and not self._names(header.name).startswith(_UNWINDING)
        }
        tables = [k for k, header in enumerate(self.headers) if header.kind == _SYMTAB]
        if len(tables) != 1:
            raise ObjectError(f"the object has {len(tables)} symbol tables")
        symbols = list(self._symbols(self.headers[tables[0]], sections))
        relocations = [
            each
            for header in self.headers
            if header.kind in (_RELA, _REL) and header.info in sections
            for each in self._relocations(header, tables[0], sections, len(symbols))
        ]
        return ObjectFile(sections, symbols, relocations)

    # -- pieces ------------------------------------------------------------------------------------

    def _headers(self) -> list[_Header]:
        if len(self.data) < _HEADER.size or not self.data.startswith(_MAGIC):
            raise ObjectError("not a 64-bit little-endian ELF object")
        _, kind, machine, *_, start, _, _, _, _, size, count, names = _HEADER.unpack_from(self.data)
        if (kind, machine) != (_RELOCATABLE, _X86_64):
            raise ObjectError("not a relocatable object for x86-64")
        if size != _SECTION.size or not 0 < count <= MOST_SECTIONS:
            raise ObjectError(f"a section table of {count} rows of {size} bytes")
        rows = self._rows(_SECTION, start, count * size)
        headers = [
            _Header(name, kind, flags, offset, size, link, info, alignment, entry)
            for name, kind, flags, _, offset, size, link, info, alignment, entry in rows
        ]
        if names >= len(headers) or headers[names].kind != _STRTAB:
            raise ObjectError("the object has no names of sections")
        self._name_table = self._bytes(headers[names].offset, headers[names].size)
        return headers

    def _names(self, offset: int) -> str:
        return _string(self._name_table, offset)

    def _bytes(self, offset: int, size: int) -> bytes:
        if offset + size > len(self.data):
            raise ObjectError(f"bytes {offset} to {offset + size} of {len(self.data)}")
        return self.data[offset : offset + size]

    def _rows(self, row: struct.Struct, offset: int, size: int) -> Iterator[tuple[int, ...]]:
        if size % row.size:
            raise ObjectError(f"a table of {size} bytes has rows of {row.size}")
        return row.iter_unpack(self._bytes(offset, size))

    def _section(self, header: _Header) -> Section:
        name = self._names(header.name)
        if header.kind not in (_PROGBITS, _NOBITS) or header.flags & _TLS:
            raise ObjectError(f"section {name!r} of kind {header.kind}")
        alignment = max(1, header.alignment)
        if alignment & (alignment - 1) or alignment > MOST_ALIGNMENT:
            raise ObjectError(f"section {name!r} is aligned to {alignment} bytes")
        writable, executable = bool(header.flags & _WRITE), bool(header.flags & _EXECUTE)
        if writable and executable:
            raise ObjectError(f"section {name!r} is both writable and executable")
        if header.size > MOST_BYTES:
            raise ObjectError(f"section {name!r} has {header.size} bytes")
        data = None if header.kind == _NOBITS else self._bytes(header.offset, header.size)
        return Section(name, data, header.size, alignment, writable, executable)

    def _symbols(self, table: _Header, sections: dict[int, Section]) -> Iterator[ElfSymbol]:
        if table.size > MOST_SYMBOLS * _SYMBOL.size or table.link >= len(self.headers):
            raise ObjectError("the symbol table is too long or has no names")
        strings = self.headers[table.link]
        texts = self._bytes(strings.offset, strings.size)
        for name, info, _, place, value, size in self._rows(_SYMBOL, table.offset, table.size):
            text = _string(texts, name)
            if place in sections:
                inside = sections[place]
                if value + size > inside.size:
                    raise ObjectError(f"symbol {text!r} lies outside of section {inside.name!r}")
                yield ElfSymbol(text, place, value, info & 15 == _FUNCTION)
            elif place == _UNDEFINED:
                yield ElfSymbol(text, None, 0, False)
            else:  # a file name, a common block, a section that is not loaded
                yield ElfSymbol("", None, 0, False)

    def _relocations(
        self, table: _Header, symbols: int, sections: dict[int, Section], count: int
    ) -> Iterator[Relocation]:
        target = sections[table.info]
        if table.kind == _REL or table.link != symbols or target.data is None:
            raise ObjectError(f"relocations of section {target.name!r} of an unknown form")
        for offset, info, addend in self._rows(_RELOCATION, table.offset, table.size):
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            if kind not in WIDTHS:
                raise ObjectError(f"a relocation of kind {kind} in section {target.name!r}")
            if offset + WIDTHS[kind] > target.size or symbol >= count:
                raise ObjectError(f"a relocation outside of section {target.name!r}")
            yield Relocation(table.info, offset, kind, symbol, addend)


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if offset >= len(table) or end < 0:
        raise ObjectError("a name outside of the table of names")
    return table[offset:end].decode("ascii", "replace")
