"""Symbols that generated code may call: a closed list, each resolved before it can be called."""

from __future__ import annotations

import pytest

from ingot.codegen.jit.jit import compile_module
from ingot.errors import CompileError
from ingot.linkage import imported, symbol_address


def test_imports_are_a_closed_list() -> None:
    assert symbol_address("system") is None
    with pytest.raises(CompileError, match="generated code imports system"):
        imported(["  llvm.func @system(!llvm.ptr) -> i32"])


def test_symbol_that_nothing_defines_is_a_compile_error() -> None:
    """An unresolved symbol must never become a call to address zero."""
    body = (
        "  llvm.func @ingot_no_such_symbol(i64) -> i64\n"
        "  llvm.func internal @f(%x: i64) -> i64 {\n"
        "    %y = llvm.call @ingot_no_such_symbol(%x) : (i64) -> i64\n"
        "    llvm.return %y : i64\n  }"
    )
    with pytest.raises(CompileError):
        compile_module([], {"f": body})


def test_calls_that_llvm_inserts_are_resolved() -> None:
    """f64 to f16 and 128-bit division are functions of libgcc, whose symbols need not be global."""
    body = (
        "  llvm.func internal @f(%x: f64, %a: i128, %b: i128) -> f32 {\n"
        "    %y = llvm.fptrunc %x : f64 to f16\n"
        "    %q = llvm.sdiv %a, %b : i128\n"
        "    %w = llvm.fpext %y : f16 to f32\n"
        "    %z = llvm.sitofp %q : i128 to f32\n"
        "    %s = llvm.fadd %w, %z : f32\n"
        "    llvm.return %s : f32\n  }"
    )
    assert compile_module([], {"f": body}).addresses["f"]
