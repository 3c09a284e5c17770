"""Compiles MLIR text in-process: a module of internal functions becomes an object, which is then
linked (native.py). A module that is known by its content is not compiled again. Every failure of
MLIR or LLVM becomes a CompileError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ingot.codegen.jit import code_store
from ingot.codegen.jit.code_store import Module, code_key, origin_here, packed_source
from ingot.codegen.jit.mlir_c import object_code
from ingot.codegen.jit.native import (
    ANCHOR,
    ModuleText,
    Native,
    called_function,
    find,
    find_kernel,
    link,
)
from ingot.codegen.mlir.check_functions import with_check_functions
from ingot.codegen.mlir.memory import MemoryBuilder
from ingot.codegen.mlir.openmp import has_openmp
from ingot.linkage import declared_names, imported
from ingot.machine import LEVELS, is_targeting, machine_levels, this_machine
from ingot.ops.values import Ptr
from ingot.version import code_version

LOWERING = (
    "builtin.module(convert-scf-to-cf,convert-math-to-llvm,convert-vector-to-llvm,convert-arith-to-llvm,"
    "convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts)"
)
# Without these LLVM splits 512-bit vectors on recent Intel.
FUNCTION_ATTRIBUTES = (
    'passthrough = [["min-legal-vector-width", "512"], ["prefer-vector-width", "512"]]'
)
_FEATURES = dict(zip(LEVELS, ("+sse4.2", "+avx2", "+avx512f"), strict=True))
"""A feature that each level has. With none named, LLVM takes those of the machine it runs on."""
_NOWHERE = 16
"""An address for symbols that are never called."""


def compile_module(
    declarations: Sequence[str], functions: dict[str, str], inside: Sequence[str] = ()
) -> Native:
    """Compile `functions` (names → texts of `llvm.func internal @name`) as one module. `inside`
    names further functions in their texts."""
    if this_machine().range_checks:
        declarations, functions = with_check_functions(declarations, functions)
    source = ModuleText(list(declarations), functions, list(inside))
    text, names = source.text(), source.names()
    key = code_key(this_machine().isa, LOWERING, text)
    known = _known(text, names)
    if known is not None:
        return known
    with code_store.building(key):
        return _known(text, names) or _compiled(key, source, text)


def unlinked_object(declarations: Sequence[str], functions: Mapping[str, str]) -> bytes:
    """The object of a module that is not run in this process: nothing that it imports has to be
    here."""
    machine = this_machine()
    names = [name for each in declarations for name in declared_names(each)]
    body = [*declarations, *functions.values(), _anchor(list(functions))]
    return object_code(
        "\n".join(["module {", *body, "}"]), LOWERING, dict.fromkeys(names, _NOWHERE),
        machine.level, _FEATURES.get(machine.isa, ""),
    )  # fmt: skip


def _known(text: str, names: Sequence[str]) -> Native | None:
    known = find(_keys(text))
    return known if known is not None and known.addresses.keys() >= set(names) else None


def _compiled(key: str, source: ModuleText, text: str) -> Native:
    machine, declarations = this_machine(), source.declarations
    body = [*declarations, *source.functions.values(), _anchor(source.names())]
    data = object_code(
        "\n".join(["module {", *body, "}"]), LOWERING, imported(declarations, _called_address),
        machine.level, _FEATURES.get(machine.isa, ""),
    )  # fmt: skip
    module = Module(packed_source(text), data, origin_here(machine.isa, LOWERING).encoded())
    native = link(key, module)
    code_store.keep(key, module.entry())
    code_store.missed(key)
    return native


def _keys(text: str) -> Iterator[str]:
    """The keys of the code that will do for a text: that for this machine, and if it is not another
    machine's, that for the levels which it supports."""
    levels = () if is_targeting() else machine_levels()
    for isa in dict.fromkeys([this_machine().isa, *levels]):
        yield code_key(isa, LOWERING, text)


def module_with(kernel: str, function: str) -> Native | None:
    """The module, stored earlier, with the kernel of this text."""
    return find_kernel(_keys(kernel), function)


def keep_kernel(kernel: str, native: Native) -> None:
    """Record that the kernel of this text is in this module."""
    code_store.keep(code_key(this_machine().isa, LOWERING, kernel), native.key.encode())


def named_module(name: str) -> Native | None:
    """The module, stored earlier, that this version of ingot makes under this name."""
    return find_kernel([_key_of(name)]) if code_store.takes_programs() else None


def keep_named(name: str, native: Native) -> None:
    if code_store.takes_programs():
        code_store.keep(_key_of(name), native.key.encode())


def _key_of(name: str) -> str:
    machine = this_machine()
    return code_key(
        machine.isa, LOWERING, f"{code_version()} {machine.as_text()} {has_openmp()} {name}"
    )


def _called_address(symbol: str) -> int | None:
    """The address of a function of another module."""
    found = called_function(symbol)
    return None if found is None else found[0].addresses.get(found[1])


def _anchor(names: Sequence[str]) -> str:
    """The module's one exported function. It uses the others, so that LLVM keeps them and their
    calling convention; the engine makes a wrapper for each exported function."""
    b, table = MemoryBuilder(1), Ptr("%table")
    for i, name in enumerate(names):
        b.store_register(b.word_at(table, i), b.address_of(name))
    return b.function(ANCHOR, [table], internal=False)
