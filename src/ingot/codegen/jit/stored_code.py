"""The modules in the cache on disk: what they were compiled for, and whether an entry from another
place belongs under its key. Nothing is compiled or linked here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ingot.cache.disk import DiskCache, disk_cache, read_entry
from ingot.cache.programs import check_program_entry, is_program, is_questions
from ingot.codegen.jit.code_store import (
    EntryError,
    Module,
    Origin,
    is_module,
    read_module,
    read_origin,
    read_reference,
    unpacked_source,
)
from ingot.codegen.jit.elf import read_object


@dataclass(frozen=True)
class Stored:
    key: str
    origin: Origin
    module: Module
    bytes: int


def check_entry(key: str, entry: bytes) -> None:
    """A CompileError unless it is a module whose key is the digest of its text and origin, the key
    of a module, or a program under its key. What the machine code does cannot be checked."""
    if is_program(entry) or is_questions(entry):
        check_program_entry(key, entry)
        return
    if not is_module(entry):
        read_reference(entry)
        return
    module = read_module(entry)
    if read_origin(module.origin).key(unpacked_source(module.source)) != key:
        raise EntryError("the key does not fit the text")
    read_object(module.object)


def stored_modules(disk: DiskCache) -> Iterator[Stored]:
    """The last used first. Entries of other forms are left out."""
    found = sorted(disk.entries(), key=lambda pair: pair[1].st_mtime, reverse=True)
    for path, status in found:
        entry = read_entry(path)
        if entry is None or not is_module(entry):
            continue
        try:
            module = read_module(entry)
            yield Stored(path.name, read_origin(module.origin), module, status.st_size)
        except EntryError:
            continue


def inventory() -> dict[tuple[str, str], tuple[int, int]]:
    """(compiler, instruction set) → the number of modules for it, and their bytes."""
    disk = disk_cache()
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for each in () if disk is None else stored_modules(disk):
        made_for = each.origin.compiler, each.origin.isa
        count, size = found.get(made_for, (0, 0))
        found[made_for] = count + 1, size + each.bytes
    return found


def lines_of(module: Module) -> list[str]:
    """The lines of its MLIR, declarations first."""
    declarations, functions, _ = json.loads(unpacked_source(module.source))
    texts = [*declarations, *functions.values()]
    return [line for text in texts for line in text.splitlines() if line.strip()]
