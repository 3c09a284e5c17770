"""The executor of plans: a loop over a table of machine words, compiled once per process. Takes a
table of steps and the base pointers of a call; returns 0 or the error code of the step that failed.

A step is its function's address, the number of its arguments, and a base number and an offset per
argument. The function gets the sums of bases and offsets, in a frame with two spare words, and the
base pointers. These belong to one call: a control-flow step may change them, and runs a table of
its own over the same ones. The control-flow step `team` runs a table on several threads, each with
its own frames.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from ingot.codegen.control_flow import control_flow_declarations, control_flow_functions
from ingot.codegen.jit import compile_module
from ingot.codegen.lazy import Once
from ingot.codegen.native import Native
from ingot.codegen.openmp import has_openmp, openmp_declarations
from ingot.codegen.parallel_region import team_functions

MOST_ARGUMENTS = 254
STEP_SHIFT = 8
"""A failure is returned as the step's number shifted by this, plus the error code."""

_FILL = """
  llvm.func internal @fill(
      %frame: !llvm.ptr, %words: !llvm.ptr, %count: i64, %bases: !llvm.ptr) {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    scf.for %k = %zero to %count step %one : i64 {
      %pair = llvm.getelementptr %words[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %base = llvm.load %pair : !llvm.ptr -> i64
      %offsetat = llvm.getelementptr %pair[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %offset = llvm.load %offsetat : !llvm.ptr -> i64
      %baseat = llvm.getelementptr %bases[%base] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %start = llvm.load %baseat : !llvm.ptr -> i64
      %word = arith.addi %start, %offset : i64
      %to = llvm.getelementptr %frame[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %word, %to : i64, !llvm.ptr
    }
    llvm.return
  }"""

_EXECUTE = f"""
  llvm.func internal @execute(%table: !llvm.ptr, %bases: !llvm.ptr) -> i64 {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %room = llvm.mlir.constant({MOST_ARGUMENTS + 2} : i64) : i64
    %frame = llvm.alloca %room x i64 {{alignment = 64 : i64}} : (i64) -> !llvm.ptr
    %end:3 = scf.while (%at = %table, %number = %zero, %failed = %zero)
        : (!llvm.ptr, i64, i64) -> (!llvm.ptr, i64, i64) {{
      %function = llvm.load %at : !llvm.ptr -> i64
      %some = arith.cmpi ne, %function, %zero : i64
      %fine = arith.cmpi eq, %failed, %zero : i64
      %go = arith.andi %some, %fine : i1
      scf.condition(%go) %at, %number, %failed : !llvm.ptr, i64, i64
    }} do {{
    ^bb0(%at: !llvm.ptr, %number: i64, %failed: i64):
      %address = llvm.load %at : !llvm.ptr -> i64
      %function = llvm.inttoptr %address : i64 to !llvm.ptr
      %countat = llvm.getelementptr %at[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %count = llvm.load %countat : !llvm.ptr -> i64
      %words = llvm.getelementptr %at[2] : (!llvm.ptr) -> !llvm.ptr, i64
      llvm.call @fill(%frame, %words, %count, %bases)
          : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
      %code = llvm.call %function(%frame, %bases) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i64
      %bad = arith.cmpi ne, %code, %zero : i64
      %shift = arith.constant {STEP_SHIFT} : i64
      %high = arith.shli %number, %shift : i64
      %mask = arith.constant {(1 << STEP_SHIFT) - 1} : i64
      %low = arith.andi %code, %mask : i64
      %both = arith.ori %high, %low : i64
      %result = arith.select %bad, %both, %zero : i64
      %next = llvm.getelementptr %words[%count]
          : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %after = arith.addi %number, %one : i64
      scf.yield %next, %after, %result : !llvm.ptr, i64, i64
    }}
    llvm.return %end#2 : i64
  }}"""


@Once
def native_code() -> Native:
    functions = {"fill": _FILL, "execute": _EXECUTE, **control_flow_functions()}
    if has_openmp():
        functions |= team_functions(MOST_ARGUMENTS + 2)
    declarations = [*openmp_declarations().values(), *control_flow_declarations()]
    return compile_module(declarations, functions)


def begin() -> None:
    """Starts compiling the executor ahead of time."""
    native_code.begin()


@cache
def executor() -> Callable[[int, int], int]:
    """execute(address of the table, address of the base pointers)."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    return kind(executor_address())


def executor_address() -> int:
    return native_code().addresses["execute"]


def is_control_flow(address: int) -> bool:
    """Whether the function runs tables or changes base pointers rather than computes."""
    return address in native_code().addresses.values()


def control_flow_address(name: str) -> int:
    """The address of one of the `control_flow_functions`, or of `team`."""
    return native_code().addresses[name]
