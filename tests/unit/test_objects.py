"""Objects are read and linked without trust: whatever their bytes are, the result is an Image or an
ObjectError, and only listed symbols are imported."""

from __future__ import annotations

import ctypes
import random
import struct

import pytest

from ingot.codegen.jit import code_store
from ingot.codegen.jit.code_store import EntryError, Module, read_module, unpacked_source
from ingot.codegen.jit.elf import ObjectError, read_object
from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.link import Image
from ingot.codegen.jit.native import Native, link
from ingot.linkage import symbol_address

SIN = "  llvm.func @sinf(f32) -> f32"
SINE = """
  llvm.func internal @sine(%x: f32) -> f32 {
    %y = llvm.call @sinf(%x) : (f32) -> f32
    llvm.return %y : f32
  }"""
TABLE = """
  llvm.func internal @affine(%x: !llvm.ptr) {
    %v = llvm.load %x : !llvm.ptr -> vector<4xf32>
    %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
    %r = arith.mulf %v, %k : vector<4xf32>
    llvm.store %r, %x : vector<4xf32>, !llvm.ptr
    llvm.return
  }"""


@pytest.fixture(scope="module")
def native() -> Native:
    return compile_module([SIN], {"sine": SINE, "affine": TABLE})


def test_linked_code_runs(native: Native) -> None:
    sine = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(native.addresses["sine"])
    assert abs(sine(0.5) - 0.4794255) < 1e-6
    values = (ctypes.c_float * 4)(1, 1, 1, 1)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(native.addresses["affine"])(ctypes.addressof(values))
    assert list(values) == [1, 2, 3, 4]


def test_code_is_never_writable_and_executable(native: Native) -> None:
    begin, end = native.image.start, native.image.start + native.image.size
    with open("/proc/self/maps") as file:
        rows = [line.split() for line in file]
    found = [
        row[1]
        for row in rows
        for start, stop in [[int(word, 16) for word in row[0].split("-")]]
        if begin <= start and stop <= end
    ]
    assert any("x" in flags for flags in found)
    assert not any("w" in flags and "x" in flags for flags in found)


def test_modules_call_each_other_and_stay_alive() -> None:
    callee = compile_module([SIN], {"sine": SINE})
    symbol, declaration = callee.declaration("sine", "(f32) -> f32")
    caller = compile_module(
        [declaration],
        {
            "twice": f"""
  llvm.func internal @twice(%x: f32) -> f32 {{
    %y = llvm.call @{symbol}(%x) : (f32) -> f32
    %z = llvm.call @{symbol}(%y) : (f32) -> f32
    llvm.return %z : f32
  }}"""
        },
    )
    assert caller.calls == (callee,)
    del callee
    twice = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(caller.addresses["twice"])
    assert abs(twice(0.5) - 0.4612695) < 1e-6


def test_unlisted_imports_are_refused(native: Native) -> None:
    assert "sinf" in set(read_object(native.module.object).imports())
    data = native.module.object.replace(b"\0sinf\0", b"\0kill\0")
    with pytest.raises(ObjectError, match="imports 'kill'"):
        Image(data, symbol_address)


def test_mutants_are_linked_or_refused(native: Native) -> None:
    """The code of a mutant is not run: bytes of instructions may have changed."""
    chance, data = random.Random(0), native.module.object
    refused = 0
    for k in range(3000):
        mutant = bytearray(data)
        if k % 3 == 0:
            mutant = mutant[: chance.randrange(len(mutant))]
        for _ in range(chance.randrange(1, 6)):
            if mutant:
                at = chance.randrange(len(mutant))
                mutant[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        if k % 5 == 0 and len(mutant) > 64:  # words of the headers
            start = struct.unpack_from("<Q", data, 40)[0]
            at = start + 8 * chance.randrange((len(data) - start) // 8)
            if at + 8 <= len(mutant):
                struct.pack_into("<Q", mutant, at, chance.choice([0, 1 << 63, 1 << 40, 2**64 - 1]))
        try:
            Image(bytes(mutant), symbol_address)
        except ObjectError:
            refused += 1
    assert refused > 1000


def test_memory_is_bounded(native: Native) -> None:
    data = bytearray(native.module.object)
    start = struct.unpack_from("<Q", data, 40)[0]
    count = struct.unpack_from("<H", data, 60)[0]
    for k in range(count):
        at = start + 64 * k
        flags = struct.unpack_from("<Q", data, at + 8)[0]
        if flags & 2 and not flags & 4:  # loaded, not code: zeros without end
            struct.pack_into("<I", data, at + 4, 8)
            struct.pack_into("<Q", data, at + 32, 1 << 28)
    with pytest.raises(ObjectError):
        Image(bytes(data), symbol_address)


@pytest.mark.parametrize("size", [0, 7, 15, 20, 400])
def test_entries_cut_off(native: Native, size: int) -> None:
    entry = native.module.entry()
    assert read_module(entry) == native.module
    with pytest.raises((EntryError, ObjectError)):
        link("0" * 32, read_module(entry[:size]))


def test_source_of_an_entry(native: Native) -> None:
    source = native.source
    assert source.functions["sine"] == SINE and source.declarations == [SIN]
    for damaged in (native.module.source[:-3], b"", b"\0" * 20):
        with pytest.raises(EntryError):
            unpacked_source(damaged)


def test_a_text_that_inflates_is_refused() -> None:
    bomb = code_store.packed_source("a" * (code_store.MOST_SOURCE + 1))
    with pytest.raises(EntryError, match="too long"):
        unpacked_source(bomb)


def test_references_are_keys() -> None:
    assert code_store.read_reference(b"0123456789abcdef" * 2) == "0123456789abcdef" * 2
    for bad in (b"", b"../../etc/passwd", b"g" * 32, b"0" * 33, b"\xff" * 32):
        with pytest.raises(EntryError):
            code_store.read_reference(bad)


def test_provided_entries_are_found() -> None:
    made = compile_module([SIN], {"sine": SINE})
    module = Module(made.module.source, made.module.object)
    key = "f" * 32
    code_store.provide({key: module.entry()})
    assert dict(code_store.stored([key, "e" * 32])) == {key: module.entry()}
