"""`checks="bounds"` of masked accesses, for every dtype and every number of lanes in a register."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot
from ingot.codegen.jit.jit import compile_module
from ingot.codegen.mlir.range_checks import CheckedBuilder
from ingot.machine import this_machine
from ingot.ops.dtypes import is_float
from ingot.ops.values import Ptr, Val

BITS = [bits for bits in (1, 128, 256, 512) if bits <= this_machine().vector_bits]
DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.bfloat16, torch.float16, torch.float32, torch.float64,
]  # fmt: skip
SOME = [
    dtype if dtype in (torch.int8, torch.float16) else pytest.param(dtype, marks=pytest.mark.slow)
    for dtype in DTYPES
]
LANES = [1, 2, 3, 4, 8, 16, 32, 64, 65, 128, 256, 512]
NOTED = """
  llvm.func internal @bounds_check(%root: !llvm.ptr, %pointer: !llvm.ptr, %first: i64, %bytes: i64,
      %site: i64) -> !llvm.ptr attributes {passthrough = ["noinline"]} {
    llvm.store %first, %root : i64, !llvm.ptr
    %next = llvm.getelementptr %root[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %bytes, %next : i64, !llvm.ptr
    llvm.return %pointer : !llvm.ptr
  }"""
I64 = torch.int64
P, LOW, HIGH = Ptr("%p"), Val("%low", I64), Val("%high", I64)
PROBED = (torch.int8, torch.int16, torch.bfloat16, torch.float32, torch.float64)


def probe(lanes: int, dtype: torch.dtype) -> str:
    """Stores the lanes from `low` to `high`, 16 bytes after `p`."""
    b = CheckedBuilder(lanes)
    numbers = b.iota(lanes)
    mask = b.and_(b.cmp("ge", numbers, LOW), b.cmp("lt", numbers, HIGH))
    value = b.const(0, dtype, lanes)
    if lanes > 1:
        b.store(b.word_at(P, 2), value, mask)
    else:
        with b.when(mask):
            b.store(b.word_at(P, 2), value)
    return b.function(f"probe_{dtype.itemsize}_{is_float(dtype)}", [P, LOW, HIGH])


@pytest.mark.parametrize("lanes", LANES)
def test_the_range_of_a_mask(lanes: int) -> None:
    """A check gets the range from the first active lane to the last."""
    texts = {f"probe_{d.itemsize}_{is_float(d)}": probe(lanes, d) for d in PROBED}
    native = compile_module([], texts | {"bounds_check": NOTED})
    memory = (ctypes.c_int64 * (lanes + 2))()
    for name in texts:
        size = int(name.split("_")[1])
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
            native.addresses[name]
        )
        for low, high in {(0, lanes), (0, 1), (lanes // 3, lanes - 1), (lanes - 1, lanes), (1, 1)}:
            memory[0] = memory[1] = 0
            call(ctypes.addressof(memory), low, high)
            count = max(0, high - low)
            assert max(0, memory[1]) == count * size, (name, low, high)
            assert count == 0 or memory[0] == low * size, (name, low, high)


def test_an_access_past_stack_memory_is_checked() -> None:
    b = CheckedBuilder(4)
    small = b.slot(torch.float32, 4)
    b.store_register(small, b.const(0.0, torch.float32, 4))
    assert "@bounds_" not in "".join(b.lines)
    b.store_register(small, b.const(0.0, torch.float64, 4))
    b.load(b.pointer_at(small, b.const(1, I64), torch.float32), torch.float32, 1)
    assert "".join(b.lines).count("@bounds_within") == 2


def written(x: Tensor) -> Tensor:
    x[-1] = 1
    return x.clone()


def turned(x: Tensor) -> Tensor:
    return torch.cat([x[1:], x[:1]]).transpose(0, -1).contiguous()


def selected(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, x.flip(1)[:1])


@pytest.mark.parametrize("dtype", SOME, ids=str)
@pytest.mark.parametrize("bits", BITS)
def test_programs_run_checked(bits: int, dtype: torch.dtype) -> None:
    options = {"strict": True, "checks": "bounds", "vector_bits": bits}
    programs: list[Callable[[Tensor], Tensor]] = [written, turned, selected]
    for program in programs:
        shapes = (dict.fromkeys(range(5), Dim.AUTO),)
        example = torch.zeros(3, 2, 1, 1, 2, dtype=dtype)
        compiled = ingot.compile(program, (example,), dynamic_shapes=shapes, options=options)
        for shape in ((3, 2, 1, 1, 2), (2, 3, 1, 1, 67)):
            x = (torch.arange(torch.Size(shape).numel()) % 5).reshape(shape).to(dtype)
            torch.testing.assert_close(compiled(x.clone()), program(x.clone()))


@pytest.mark.parametrize("dtype", SOME, ids=str)
def test_a_dynamic_write_runs_checked(dtype: torch.dtype) -> None:
    torch._dynamo.reset()
    options = {"strict": True, "checks": "bounds"}
    compiled = torch.compile(written, backend="ingot", dynamic=True, options=options)
    for shape in ((1, 2, 1, 1, 2), (3, 2, 1, 1, 2)):
        x = torch.zeros(shape, dtype=dtype)
        torch.testing.assert_close(compiled(x.clone()), written(x.clone()))
