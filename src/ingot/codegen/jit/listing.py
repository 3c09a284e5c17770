"""Listings of a compiled function: its MLIR, as a module that MLIR parses, and its assembly. Both
contain the function and all others of its module that it calls."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ingot.codegen.jit.native import Native, called_function, compiled_function

DISASSEMBLERS = ("objdump", "llvm-objdump")
_DEFINED = re.compile(r"^\s*llvm\.(?:func|mlir\.global)\b[^@\n]*@(\w+)", re.MULTILINE)
_NAMED = re.compile(r"@(\w+)")
_LABEL = re.compile(r"^[0-9a-f]+ <([^>]+)>:$", re.MULTILINE)


@dataclass(frozen=True)
class Listing:
    native: Native
    declarations: tuple[str, ...]
    texts: tuple[str, ...]
    """The texts of its functions."""

    def mlir(self) -> str:
        return "\n".join(["module {", *self.declarations, *self.texts, "}"])

    def names(self) -> list[str]:
        return [name for text in self.texts for name in _DEFINED.findall(text)]

    def calls(self) -> Iterator[tuple[str, int]]:
        """The symbols and addresses of the functions of other modules that it calls."""
        for declaration in self.declarations:
            for symbol in _DEFINED.findall(declaration):
                found = called_function(symbol)
                if found is not None:
                    yield symbol, found[0].addresses[found[1]]

    def assembly(self, disassembler: str) -> str:
        """What the disassembler shows of its functions; LLVM may have inlined some."""
        shown = _disassembled(self.native.module.object, disassembler)
        found = [f"{name}:\n{shown[name].strip(chr(10))}" for name in self.names() if name in shown]
        return "\n\n".join(found)


def listing_of(address: int) -> Listing | None:
    """The listing of the function at an address; None if ingot did not compile it."""
    compiled = compiled_function(address)
    if compiled is None:
        return None
    native, function = compiled
    source = native.source
    owner = {name: text for text in source.functions.values() for name in _DEFINED.findall(text)}
    imports = {name: line for line in source.declarations for name in _DEFINED.findall(line)}
    texts: dict[str, None] = {}
    declarations: dict[str, None] = {}
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name in imports:
            declarations[imports[name]] = None
        elif name in owner and owner[name] not in texts:
            texts[owner[name]] = None
            waiting += _NAMED.findall(owner[name])
    return Listing(native, tuple(declarations), tuple(texts))


def disassembler() -> str | None:
    """The path of a program that disassembles objects; torch-mlir's LLVM exports none."""
    return next(filter(None, map(shutil.which, DISASSEMBLERS)), None)


@lru_cache(maxsize=4)
def _disassembled(object: bytes, disassembler: str) -> Mapping[str, str]:
    """The assembly of each function. Cached, because the kernels of a program share modules."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "module.o")
        path.write_bytes(object)
        command = [disassembler, "-d", "-r", "--no-show-raw-insn", str(path)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, *parts = _LABEL.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))
