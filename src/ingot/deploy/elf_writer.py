"""Writes relocatable x86-64 ELF objects, which the system's linker reads."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import Enum

HIDDEN, DEFAULT = 2, 0
"""Visibility: to the program that the object is linked into, or also to others."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
_PROGBITS, _SYMTAB, _STRTAB, _RELA = 1, 2, 3, 4
_WRITE, _ALLOC, _EXECUTE, _INFO = 1, 2, 4, 0x40
_GLOBAL, _FUNCTION, _SECTION_SYMBOL = 1 << 4, 2, 3
_WORD = 8
NO_STACK = ".note.GNU-stack"
"""An object without this section asks for an executable stack."""


class Place(Enum):
    """The sections, with their flags."""

    TEXT = ".text"
    CONSTANTS = ".rodata"
    RELOCATED = ".data.rel.ro"
    """Constants with addresses in them."""
    DATA = ".data"

    @property
    def flags(self) -> int:
        more = {Place.TEXT: _EXECUTE, Place.CONSTANTS: 0}
        return _ALLOC | more.get(self, _WRITE)


@dataclass
class Content:
    data: bytearray = field(default_factory=bytearray)
    alignment: int = 16
    relocations: list[tuple[int, int, Place | str, int]] = field(default_factory=list)
    """(offset, kind, section or imported symbol, addend)"""

    def add(self, data: bytes, alignment: int) -> int:
        """Appends bytes; returns their offset."""
        self.alignment = max(self.alignment, alignment)
        self.data.extend(bytes(-len(self.data) % alignment))
        at = len(self.data)
        self.data.extend(data)
        return at


@dataclass(frozen=True)
class Defined:
    """A function in the text."""

    name: str
    offset: int
    visibility: int


def write_object(contents: dict[Place, Content], functions: list[Defined]) -> bytes:
    return _Writer(contents, functions).written()


class _Names:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def of(self, name: str) -> int:
        at = len(self.data)
        self.data += name.encode() + b"\0"
        return at


class _Writer:
    def __init__(self, contents: dict[Place, Content], functions: list[Defined]):
        self.contents, self.functions = contents, functions
        self.numbers = {place: 1 + k for k, place in enumerate(contents)}
        """Of the sections; the symbol of a section has the same number."""
        self.imports = self._imports()

    def _imports(self) -> dict[str, int]:
        """The numbers of the imported symbols."""
        first = 1 + len(self.contents) + len(self.functions)
        names = (t for c in self.contents.values() for *_, t, _ in c.relocations)
        unique = dict.fromkeys(name for name in names if isinstance(name, str))
        return {name: first + k for k, name in enumerate(unique)}

    def written(self) -> bytes:
        names, data = _Names(), bytearray(_HEADER.size)
        headers = [bytes(_SECTION.size)]

        def section(
            name: str, kind: int, content: bytes, flags: int = 0, link: int = 0, info: int = 0,
            alignment: int = 1, entry: int = 0,
        ) -> None:  # fmt: skip
            data.extend(bytes(-len(data) % alignment))
            row = (names.of(name), kind, flags, 0, len(data), len(content), link, info)
            headers.append(_SECTION.pack(*row, alignment, entry))
            data.extend(content)

        for place, content in self.contents.items():
            section(
                place.value, _PROGBITS, bytes(content.data), place.flags,
                alignment=content.alignment,
            )  # fmt: skip
        section(NO_STACK, _PROGBITS, b"")
        symbols, strings = self._symbols()
        table, texts = len(headers), len(headers) + 1
        local = 1 + len(self.contents)
        section(
            ".symtab", _SYMTAB, symbols, link=texts, info=local, alignment=_WORD,
            entry=_SYMBOL.size,
        )  # fmt: skip
        section(".strtab", _STRTAB, strings)
        for place, content in self.contents.items():
            if content.relocations:
                section(
                    f".rela{place.value}", _RELA, self._relocations(content), _INFO, table,
                    self.numbers[place], _WORD, _RELOCATION.size,
                )  # fmt: skip
        last = len(headers)
        names_at = names.of(".shstrtab")
        row = (names_at, _STRTAB, 0, 0, len(data), len(names.data), 0, 0, 1, 0)
        headers.append(_SECTION.pack(*row))
        data.extend(names.data)
        data.extend(bytes(-len(data) % _WORD))
        data[: _HEADER.size] = _HEADER.pack(
            _MAGIC, 1, 62, 1, 0, 0, len(data), 0, _HEADER.size, 0, 0, _SECTION.size, len(headers),
            last,
        )  # fmt: skip
        return bytes(data) + b"".join(headers)

    def _symbols(self) -> tuple[bytes, bytes]:
        names, rows = _Names(), [bytes(_SYMBOL.size)]
        for number in self.numbers.values():
            rows.append(_SYMBOL.pack(0, _SECTION_SYMBOL, 0, number, 0, 0))
        for each in self.functions:
            kind, text = _GLOBAL | _FUNCTION, self.numbers[Place.TEXT]
            name = names.of(each.name)
            rows.append(_SYMBOL.pack(name, kind, each.visibility, text, each.offset, 0))
        rows += [_SYMBOL.pack(names.of(name), _GLOBAL, 0, 0, 0, 0) for name in self.imports]
        return b"".join(rows), bytes(names.data)

    def _relocations(self, content: Content) -> bytes:
        rows = []
        for offset, kind, target, addend in content.relocations:
            numbers = self.numbers if isinstance(target, Place) else self.imports
            symbol = numbers[target]  # type: ignore[index]
            rows.append(_RELOCATION.pack(offset, symbol << 32 | kind, addend))
        return b"".join(rows)
