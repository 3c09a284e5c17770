"""Compiles MLIR text to machine code in-process. Takes a module of internal functions, returns
their addresses. The code lives as long as the Native that holds its engine. Every failure of MLIR
or LLVM becomes a CompileError.
"""

from __future__ import annotations

import ctypes
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from ingot.codegen.mlir_c import Engine
from ingot.linkage import imported

LOWERING = (
    "builtin.module(convert-scf-to-cf,convert-math-to-llvm,convert-vector-to-llvm,convert-arith-to-llvm,"
    "convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts)"
)
# Without these LLVM splits 512-bit vectors on recent Intel.
FUNCTION_ATTRIBUTES = (
    'passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]'
)


@dataclass(frozen=True)
class Source:
    """The text that a module was compiled from."""

    declarations: list[str]
    functions: dict[str, str]
    inside: list[str]


@dataclass(frozen=True, eq=False)
class Native:
    """Machine code in memory."""

    addresses: dict[str, int]
    """Function names → addresses, in the C calling convention."""
    engine: Engine
    """Keeps the code alive."""
    packed: bytes
    """The module's text, compressed to a tenth: range checks are added to it on request."""

    @property
    def source(self) -> Source:
        return Source(*json.loads(zlib.decompress(self.packed)))


_owners: WeakValueDictionary[int, Native] = WeakValueDictionary()
"""Function addresses → their modules."""


def compiled_function(address: int) -> tuple[Native, str] | None:
    """The module of a function and its name there; None if ingot did not compile it."""
    native = _owners.get(address)
    if native is None:
        return None
    return native, next(name for name, each in native.addresses.items() if each == address)


def compile_module(
    declarations: Sequence[str], functions: dict[str, str], inside: Sequence[str] = ()
) -> Native:
    """Compiles `functions` (names → texts of `llvm.func internal @name`) as one module. `inside`
    names further functions in their texts.

    The engine wraps every exported function, so only one is exported: it writes the addresses of
    the others to a table.
    """
    names = [*functions, *inside]
    text = "\n".join(["module {", *declarations, *functions.values(), _table_function(names), "}"])
    table = (ctypes.c_int64 * len(names))()
    engine = Engine(text, LOWERING, imported(declarations))
    entry = engine.lookup("ingot_table")
    pointer = ctypes.c_void_p(ctypes.addressof(table))
    packed = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entry)(packed)
    source = json.dumps([list(declarations), functions, list(inside)])
    compressed = zlib.compress(source.encode(), 1)
    native = Native(dict(zip(names, table, strict=True)), engine, compressed)
    _owners.update(dict.fromkeys(table, native))
    return native


def _table_function(names: Sequence[str]) -> str:
    lines = ["  llvm.func @ingot_table(%table: !llvm.ptr) {"]
    for i, name in enumerate(names):
        lines += [
            f"    %a{i} = llvm.mlir.addressof @{name} : !llvm.ptr",
            f"    %p{i} = llvm.getelementptr %table[{i}] : (!llvm.ptr) -> !llvm.ptr, i64",
            f"    llvm.store %a{i}, %p{i} : !llvm.ptr, !llvm.ptr",
        ]
    return "\n".join([*lines, "    llvm.return", "  }"])
