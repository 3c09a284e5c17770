"""The parts of a C program: native sizes, relative instructions, shared memory, files."""

from __future__ import annotations

import ctypes
import subprocess
from array import array
from pathlib import Path
from typing import Any

import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._sympy.functions import FloorDiv, Max, Min, Mod

from ingot.codegen.jit.elf import ObjectError
from ingot.codegen.jit.jit import compile_module, unlinked_object
from ingot.codegen.mlir.builder import Builder
from ingot.deploy.ar import write_archive
from ingot.deploy.elf_writer import DEFAULT
from ingot.deploy.objects import Parts, Unit, combined, made_relative
from ingot.deploy.size_code import SizeWriter
from ingot.deploy.weights_file import Weights, memory_of
from ingot.errors import InputError, SaveError
from ingot.ops.values import Ptr, Val
from ingot.plan.ir import Affine, Iteration, Quotient, Remainder, Requirement
from ingot.plan.requirements import check
from ingot.plan.sizes import evaluator
from tests.deploy.building import build, needs_cc

A, B = (sympy.Symbol(name, integer=True, positive=True) for name in "ab")
SIZES = [
    A, A * B, A + 3 * B - 7, A**3 + 2, FloorDiv(A - 20, 8), Mod(A - 20, 8), FloorDiv(A * 5, 3 * B),
    Max(A, FloorDiv(5 * B, 3), 4), Min(A, B - 9), Mod(A * B, A), sympy.Integer(12), -A,
]  # fmt: skip
CONDITIONS = [
    A < B, A <= 2 * B, sympy.Eq(Mod(A, 8), 0), sympy.Ne(A, B), sympy.And(A > 3, B > 3),
    sympy.Or(A > 30, sympy.Not(sympy.Eq(B, 1))), sympy.true, sympy.false,
]  # fmt: skip
INDICES = [
    Requirement(Affine(0, ((1, Iteration(A)),)), B, "x"),
    Requirement(Affine(A, ((-1, Iteration(A)), (2, Iteration(FloorDiv(B, 4))))), 3 * B, "x"),
    Requirement(Affine(-3, ((1, Quotient(Affine(B, ((3, Iteration(A)),)), 4)),)), A, "x"),
    Requirement(Affine(0, ((1, Remainder(Affine(A, ((1, Iteration(3)),)), 7)),)), B, "x"),
    Requirement(Affine(0, ((1, Remainder(Affine(0, ((1, Iteration(A)),)), B)),)), B, "x"),
]


def _evaluated() -> Any:
    b, values, out = Builder(1), Ptr("%values"), Ptr("%out")
    words = {s: b.load_word(b.word_at(values, k)) for k, s in enumerate((A, B))}
    writer = SizeWriter(b, words.__getitem__)
    found: list[Val] = [writer.value(size) for size in SIZES]
    found += [b.cast(writer.condition(each), torch.int64) for each in CONDITIONS]
    found += [b.cast(writer.holds(each), torch.int64) for each in INDICES]
    found += [b.cast(writer.is_small(A * B * 7), torch.int64)]
    for number, value in enumerate(found):
        b.store_register(b.word_at(out, number), value)
    native = compile_module([], {"sizes": b.function("sizes", [values, out])})
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

    def run(a: int, b: int) -> list[int]:
        given, results = array("q", [a, b]), array("q", [0] * len(found))
        pointers = (each.buffer_info()[0] for each in (given, results))
        function(native.addresses["sizes"])(*pointers)
        return list(results)

    return run


@pytest.fixture(scope="module")
def native_sizes() -> Any:
    return _evaluated()


@given(a=st.integers(1, 100), b=st.integers(1, 100))
def test_sizes(native_sizes: Any, a: int, b: int) -> None:
    wanted = evaluator(SIZES, [A, B])([a, b])
    wanted += [int(bool(each.subs({A: a, B: b}))) for each in CONDITIONS]
    for required in INDICES:
        try:
            check(required, {A: a, B: b})
            wanted.append(1)
        except InputError:
            wanted.append(0)
    assert native_sizes(a, b) == [*wanted, 1]


def test_sizes_that_overflow(native_sizes: Any) -> None:
    for a, b in ((1 << 40, 1 << 40), (1 << 31, 1 << 31), (1 << 45, 1)):
        assert native_sizes(a, b)[-1] == 0
    assert native_sizes(1 << 31, 1)[-1] == 1


@pytest.mark.parametrize("size", [FloorDiv(A, B - 3), sympy.sqrt(A), sympy.Function("f")(A)])
def test_sizes_without_code(size: Any) -> None:
    with pytest.raises(SaveError, match="for which there is no native code"):
        SizeWriter(Builder(1), lambda _: Val("%x", torch.int64)).value(size)


@pytest.mark.parametrize("register", range(16))
def test_relative_instructions(register: int) -> None:
    rex, low = 0x48 | register >> 3, register & 7
    for imported, opcode in ((False, 0x8D), (True, 0x8B)):
        code = bytearray(b"\x90" + bytes([rex, 0xB8 | low]) + bytes(8) + b"\x90")
        at, _, addend = made_relative(code, 3, imported)
        head = bytes([0x48 | (register >> 3) << 2, opcode, 0x05 | low << 3])
        assert bytes(code) == b"\x90" + head + bytes(4) + b"\x0f\x1f\x00\x90"
        assert (at, addend) == (4, -4)


@pytest.mark.parametrize("code", [b"\x48\xa1" + bytes(8), b"\xb8" + bytes(9), bytes(10)])
def test_other_instructions(code: bytes) -> None:
    with pytest.raises(ObjectError, match="not in a movabs"):
        made_relative(bytearray(code), 2, False)


def _object(declarations: list[str], name: str, b: Builder, result: Val) -> bytes:
    return unlinked_object(declarations, {name: b.function(name, [Ptr("%at")], result)})


@needs_cc
def test_objects_are_combined(tmp_path: Path) -> None:
    """Calls between units, a table, an import under another name; linked anywhere by cc."""
    one = Builder(1)
    total = one.add(one.load_word(Ptr("%at")), one.load_word(one.address_of("numbers")))
    inner = _object(["  llvm.func @numbers()"], "inner", one, total)
    two = Builder(1)
    size = two.invoke_value("elsewhere", [], torch.int64)
    twice = two.add(two.invoke_value("other_inner", [Ptr("%at")], torch.int64), size)
    declarations = ["  llvm.func @other_inner(!llvm.ptr) -> i64", "  llvm.func @elsewhere() -> i64"]
    outer = _object(declarations, "outer", two, twice)
    units = [Unit(outer, {"both": "outer"}), Unit(inner, {"other_inner": "inner"})]
    numbers = array("q", [1000]).tobytes()
    whole = Parts(units, {"numbers": numbers}, {"elsewhere": "given_by_c"})
    data, imports = combined(whole, {"both": DEFAULT})
    assert imports == ["given_by_c"]
    again, _ = combined(whole, {"both": DEFAULT})
    assert again == data
    archive = write_archive({"odd.o": (b"odd", ["none"]), "it.o": (data, ["both"])})
    (tmp_path / "libit.a").write_bytes(archive)
    (tmp_path / "main.c").write_text(
        "long both(long *);\nlong given_by_c(void);\nlong given_by_c(void) { return 5; }\n"
        "int main(void) { long x = 30; return both(&x) != 1035; }\n"
    )
    for more in ([], ["-static-pie"], ["-no-pie"]):
        path = build(tmp_path, "main", "main.c", "libit.a", *more)
        assert subprocess.run([path]).returncode == 0


def test_a_weight_is_stored_once(tmp_path: Path) -> None:
    weights, x = Weights(), torch.randn(5, 7)
    assert weights.place("x", lambda: x) == weights.place("x", x.clone) == 64
    assert weights.place("none", lambda: torch.empty(0)) == weights.size == 64 + 192
    assert weights.place("half", x.bfloat16) == 256
    header = weights.header(["plan"])
    weights.write(tmp_path / "weights.bin", header)
    data = (tmp_path / "weights.bin").read_bytes()
    assert len(data) == header[-1] == 384
    assert torch.equal(torch.frombuffer(bytearray(data[64:204]), dtype=torch.float32), x.flatten())


def test_memory_of_strided_tensors() -> None:
    x = torch.randn(3, 4, 5)
    for strides in ((20, 5, 1), (1, 3, 12), (0, 5, 1), (40, 10, 2)):
        tensor = x[:1].expand(3, 4, 5) if 0 in strides else x
        flat = memory_of(tensor, strides)
        assert torch.equal(flat.as_strided((3, 4, 5), strides), tensor)
    assert memory_of(torch.empty(0, 3), (3, 1)).numel() == 0
