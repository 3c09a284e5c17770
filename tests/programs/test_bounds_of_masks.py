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
from ingot.codegen.support.range_checks import Checker, bytes_of_type
from ingot.machine import this_machine

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
PROBE = """
  llvm.func internal @probe_{lanes}_{kind}(%p: !llvm.ptr, %low: i64, %high: i64) {{
    %lanes = arith.constant dense<[{numbers}]> : vector<{lanes}xi64>
    %lows = vector.broadcast %low : i64 to vector<{lanes}xi64>
    %highs = vector.broadcast %high : i64 to vector<{lanes}xi64>
    %above = arith.cmpi sge, %lanes, %lows : vector<{lanes}xi64>
    %below = arith.cmpi slt, %lanes, %highs : vector<{lanes}xi64>
    %mask = arith.andi %above, %below : vector<{lanes}xi1>
    %value = arith.constant dense<0{dot}> : vector<{lanes}x{kind}>
    %at = llvm.getelementptr %p[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.intr.masked.store %value, %at, %mask {{alignment = 1 : i32}} : vector<{lanes}x{kind}>, \
vector<{lanes}xi1> into !llvm.ptr
    llvm.return
  }}"""


@pytest.mark.parametrize("lanes", LANES)
def test_the_range_of_a_mask(lanes: int) -> None:
    """A check gets the range from the first active lane to the last."""
    numbers = ", ".join(map(str, range(lanes)))
    checker = Checker(lambda function, op: 1, lambda symbol: symbol)
    texts = {
        f"probe_{lanes}_{kind}": PROBE.format(
            lanes=lanes, kind=kind, numbers=numbers, dot="" if kind[0] == "i" else ".0"
        )
        for kind in ("i8", "i16", "bf16", "f32", "f64")
    }
    native = compile_module([], checker.checked(texts) | {"bounds_check": NOTED})
    memory = (ctypes.c_int64 * (lanes + 2))()
    for name in texts:
        size = bytes_of_type(name.rsplit("_", 1)[1])
        probe = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
            native.addresses[name]
        )
        for low, high in {(0, lanes), (0, 1), (lanes // 3, lanes - 1), (lanes - 1, lanes), (1, 1)}:
            probe(ctypes.addressof(memory), low, high)
            count = max(0, high - low)
            assert max(0, memory[1]) == count * size, (name, low, high)
            assert count == 0 or memory[0] == low * size, (name, low, high)


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
