"""The executor of plans: a loop over a table of machine words, compiled once per process. Takes a
table of steps and the base pointers of a call; returns 0 or the error code of the step that failed.

A step is its function's address, the number of its arguments, and a base number and an offset per
argument. The function gets the sums of bases and offsets, in a frame with two spare words, and the
base pointers. These belong to one call: a control-flow step may change them, and runs a table of
its own over the same ones. The control-flow step `parallel_region` runs a table on several threads,
each with its own frames.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import Once
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.builder import Builder
from ingot.codegen.mlir.memory import FRAME
from ingot.codegen.mlir.openmp import has_openmp, openmp_declarations
from ingot.codegen.support.native_control_flow import (
    BASES,
    PAIR,
    control_flow_declarations,
    control_flow_functions,
)
from ingot.codegen.support.parallel_region import fill_frame, parallel_region_functions
from ingot.ops.values import Ptr, Val, Value

MOST_ARGUMENTS = 254
STEP_SHIFT = 8
"""A failure is returned as the step's number shifted by this, plus the error code."""

FRAME_WORDS = MOST_ARGUMENTS + 2


def _fill() -> str:
    """Writes the arguments of a step to a frame."""
    b, words, count = Builder(1), Ptr("%words"), Val("%count", torch.int64)
    zero, one = b.const(0, torch.int64), b.const(1, torch.int64)
    with b.loop(zero, count, one) as k:
        pair = b.row_at(words, k, PAIR)
        base, offset = b.load_word(pair), b.load_word(b.word_at(pair, 1))
        start = b.load_word(b.word_at(BASES, base))
        b.store_register(b.word_at(FRAME, k), b.add(start, offset))
    return b.function("fill", [FRAME, words, count, BASES])


def _execute() -> str:
    b, table = Builder(1), Ptr("%table")
    zero, one = b.const(0, torch.int64), b.const(1, torch.int64)
    frame = b.slot(torch.int64, count=FRAME_WORDS)

    def goes_on(state: Sequence[Value]) -> Val:
        at, _, failed = _state(state)
        some = b.cmp("ne", b.load_word(at), zero)
        return b.and_(some, b.cmp("eq", failed, zero))

    def step(state: Sequence[Value]) -> list[Value]:
        at, number, _ = _state(state)
        function, following = fill_frame(b, at, frame)
        code = b.invoke_value(function, [frame, BASES], torch.int64)
        high = b.shl(number, b.const(STEP_SHIFT, torch.int64))
        low = b.and_(code, b.const((1 << STEP_SHIFT) - 1, torch.int64))
        result = b.select(b.cmp("ne", code, zero), b.or_(high, low), zero)
        return [following, b.add(number, one), result]

    start: list[Value] = [table, zero, zero]
    end = b.repeat_while(start, goes_on, step)
    return b.function("execute", [table, BASES], end[2])


def _state(values: Sequence[Value]) -> tuple[Ptr, Val, Val]:
    """(the step, its number, the code of a failure)"""
    at, number, failed = values
    assert isinstance(at, Ptr) and isinstance(number, Val) and isinstance(failed, Val)
    return at, number, failed


@Once
def native_code() -> Native:
    functions = {"fill": _fill(), "execute": _execute(), **control_flow_functions()}
    if has_openmp():
        functions |= parallel_region_functions(FRAME_WORDS)
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
    """The address of one of the `control_flow_functions`, or of `parallel_region`."""
    return native_code().addresses[name]
