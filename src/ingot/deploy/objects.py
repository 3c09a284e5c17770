"""Combines objects of LLVM, which the JIT made for addresses that are fixed, into one relocatable
object that may be linked anywhere: sections that are not reached are dropped, references between
the objects are resolved, and instructions that load a 64-bit address become ones relative to the
instruction pointer.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ingot.codegen.jit.elf import (
    R_X86_64_64,
    R_X86_64_PC32,
    R_X86_64_PC64,
    R_X86_64_PLT32,
    ElfSymbol,
    ObjectError,
    ObjectFile,
    Relocation,
    read_object,
)
from ingot.deploy.elf_writer import Content, Defined, Place, write_object

R_X86_64_GOTPCREL = 9
_REX_W, _REX_B, _REX_R = 0x48, 0x01, 0x04
_MOV_IMMEDIATE, _LEA, _MOV = 0xB8, 0x8D, 0x8B
_RELATIVE = 0x05
_NOP = b"\x0f\x1f\x00"
"""The relative forms have seven bytes; `movabs` has ten."""
TABLE_ALIGNMENT = 64


@dataclass(frozen=True)
class Unit:
    """An object, and the names by which others refer to its functions."""

    data: bytes
    names: Mapping[str, str]
    """Global names → functions of the object."""


@dataclass
class Parts:
    """The parts of one object to be written."""

    units: list[Unit] = field(default_factory=list)
    tables: dict[str, bytes] = field(default_factory=dict)
    """Constants that the units refer to, by name."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Other names for imported symbols."""


def combined(parts: Parts, public: Mapping[str, int]) -> tuple[bytes, list[str]]:
    """An object that defines the functions of `public`, with their visibility; the names that it
    imports."""
    linker = _Linker(parts)
    linker.reach(public)
    functions = [Defined(name, linker.text_offset(name), way) for name, way in public.items()]
    data = write_object(linker.contents, functions)
    imported = (t for c in linker.contents.values() for *_, t, _ in c.relocations)
    return data, sorted({name for name in imported if isinstance(name, str)})


_Key = tuple[int, int]
"""Number of a unit, number of a section in it."""


class _Linker:
    def __init__(self, parts: Parts):
        self.parts = parts
        self.objects = [read_object(unit.data) for unit in parts.units]
        self.contents: dict[Place, Content] = {Place.TEXT: Content()}
        self._placed: dict[_Key, tuple[Place, int]] = {}
        self._tables: dict[str, tuple[Place, int]] = {}
        self._defined = {
            name: (number, self._function(self.objects[number], function))
            for number, unit in enumerate(parts.units)
            for name, function in unit.names.items()
        }

    def _function(self, parsed: ObjectFile, name: str) -> ElfSymbol:
        found = parsed.functions().get(name)
        if found is None:
            raise ObjectError(f"the object has no function {name!r}")
        return found

    def text_offset(self, name: str) -> int:
        number, symbol = self._defined[name]
        assert symbol.section is not None
        return self._placed[number, symbol.section][1] + symbol.value

    # -- what is reached ---------------------------------------------------------------------------

    def reach(self, names: Sequence[str] | Mapping[str, int]) -> None:
        waiting = [self._defined[name] for name in names]
        reached: dict[_Key, list[Relocation]] = {}
        while waiting:
            number, symbol = waiting.pop()
            if symbol.section is None or (number, symbol.section) in reached:
                continue
            key = number, symbol.section
            parsed = self.objects[number]
            reached[key] = [r for r in parsed.relocations if r.section == symbol.section]
            waiting += (self._owner(number, parsed.symbols[each.symbol]) for each in reached[key])
        for key, relocations in reached.items():
            self._place(key, bool(relocations))
        for key, relocations in reached.items():
            for each in relocations:
                self._relocate(key, each)

    def _owner(self, number: int, symbol: ElfSymbol) -> tuple[int, ElfSymbol]:
        """The definition that a symbol of a unit stands for; itself if no unit has one."""
        if symbol.section is None:
            return self._defined.get(symbol.name, (number, symbol))
        return number, symbol

    def _place(self, key: _Key, relocated: bool) -> None:
        section = self.objects[key[0]].sections[key[1]]
        place = Place.CONSTANTS
        if section.executable:
            place = Place.TEXT
        elif section.writable:
            place = Place.DATA
        elif relocated:
            place = Place.RELOCATED
        data = bytes(section.size) if section.data is None else section.data
        self._placed[key] = place, self._add(place, data, section.alignment)

    def _add(self, place: Place, data: bytes, alignment: int) -> int:
        return self.contents.setdefault(place, Content()).add(data, alignment)

    # -- relocations -------------------------------------------------------------------------------

    def _target(self, number: int, symbol: ElfSymbol) -> tuple[Place, int] | str:
        """(section, offset), or the name of a symbol to import."""
        owner, found = self._owner(number, symbol)
        if found.section is not None:
            place, at = self._placed[owner, found.section]
            return place, at + found.value
        if not found.name:
            raise ObjectError("a relocation refers to nothing")
        if found.name in self.parts.tables:
            return self._table(found.name)
        return self.parts.renamed.get(found.name, found.name)

    def _table(self, name: str) -> tuple[Place, int]:
        if name not in self._tables:
            data = self.parts.tables[name]
            self._tables[name] = (
                Place.CONSTANTS, self._add(Place.CONSTANTS, data, TABLE_ALIGNMENT)
            )  # fmt: skip
        return self._tables[name]

    def _relocate(self, key: _Key, each: Relocation) -> None:
        place, start = self._placed[key]
        target = self._target(key[0], self.objects[key[0]].symbols[each.symbol])
        content, at = self.contents[place], start + each.offset
        if place is Place.TEXT and each.kind == R_X86_64_64:
            at, kind, addend = made_relative(content.data, at, isinstance(target, str))
            addend += each.addend
        else:
            kind, addend = each.kind, each.addend
        if isinstance(target, str):
            if kind == R_X86_64_GOTPCREL and each.addend:
                raise ObjectError(f"an offset from the imported symbol {target[:80]!r}")
            content.relocations.append((at, kind, target, addend))
            return
        section, offset = target
        if section is place and kind in (R_X86_64_PC32, R_X86_64_PLT32):
            content.data[at : at + 4] = struct.pack("<i", offset + addend - at)
            return
        if kind == R_X86_64_PLT32:
            kind = R_X86_64_PC32
        assert kind in (R_X86_64_64, R_X86_64_PC32, R_X86_64_PC64)
        content.relocations.append((at, kind, section, offset + addend))


def made_relative(data: bytearray, at: int, imported: bool) -> tuple[int, int, int]:
    """Rewrites the instruction `movabs $address, register`, whose operand is at `at`: to `lea`, or
    for an imported symbol to a load of its address. Returns (place of the operand, kind of the
    relocation, addend)."""
    start = at - 2
    if start < 0 or data[start] & ~_REX_B != _REX_W or data[start + 1] & ~7 != _MOV_IMMEDIATE:
        raise ObjectError("a 64-bit address in code, not in a movabs")
    register, high = data[start + 1] & 7, data[start] & _REX_B
    opcode = _MOV if imported else _LEA
    head = bytes([_REX_W | (_REX_R if high else 0), opcode, _RELATIVE | register << 3])
    data[start : start + 10] = head + bytes(4) + _NOP
    return start + 3, R_X86_64_GOTPCREL if imported else R_X86_64_PC32, -4
