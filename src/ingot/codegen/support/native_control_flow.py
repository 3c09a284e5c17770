"""Control-flow ops as native functions over the frame and the base pointers of a call: `point` sets
a base pointer, `copy` copies memory, `branch` compares two sizes or reads a flag and runs one of
two tables, `loop` runs a table while the flag of another is set, `scan` a table a number of times.

Between two iterations the base pointers of carried values are swapped, so that the body reads what
it last wrote, and those of scanned values advance. A loop checks for signals every few hundredths
of a second; an exception from a handler stops it with the code INTERRUPTED.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch

from ingot.codegen.mlir.builder import Builder
from ingot.codegen.mlir.memory import FRAME
from ingot.linkage import declared, define
from ingot.ops.values import Ptr, Val

INTERRUPTED = 255
LOOK_AFTER = 50_000_000
"""Cycles that a loop runs between checks for signals."""
BASES = Ptr("%bases")
"""The base pointers of a call: the second argument of every function."""
PAIR = 2
"""Words of a row: a pair of bases, or a base and a number of bytes."""
_raised = (ctypes.c_void_p * 3)()
"""Type, value and traceback of a handler's exception. Only the main thread runs handlers."""
RAISED = define("ingot_raised", ctypes.addressof(_raised))
_I64 = torch.int64


class StepWriter:
    """Writes a function that is a step of a table."""

    def __init__(self) -> None:
        self.b = Builder(1)
        self.zero, self.one = self.const(0), self.const(1)

    def const(self, value: int) -> Val:
        return self.b.const(value, _I64)

    def word(self, position: int, of: Ptr = FRAME) -> Val:
        return self.b.load_word(self.b.word_at(of, position))

    def pointer(self, position: int) -> Ptr:
        return self.b.load_pointer(self.b.word_at(FRAME, position))

    def base_at(self, number: Val) -> Ptr:
        return self.b.word_at(BASES, number)

    def run(self, table: Ptr) -> Val:
        return self.b.invoke_value("execute", [table, BASES], _I64)

    def text(self, name: str, code: Val) -> str:
        return self.b.function(name, [FRAME, BASES], code)


def _point() -> str:
    w = StepWriter()
    base, address = w.word(0), w.word(1)
    w.b.store_register(w.base_at(base), address)
    return w.text("point", w.zero)


def _copy() -> str:
    w = StepWriter()
    w.b.copy(w.pointer(0), w.pointer(1), w.word(2))
    return w.text("copy", w.zero)


def _branch() -> str:
    w = StepWriter()
    b, left, right, address = w.b, w.word(2), w.word(3), w.word(4)
    holds = b.branch(
        b.cmp("ne", address, w.zero),
        lambda: _flag(b, b.as_pointer(address)),
        lambda: b.cmp("le", left, right),
    )
    table = b.load_pointer(b.word_at(FRAME, b.select(holds, w.zero, w.one)))
    return w.text("branch", w.run(table))


def _flag(b: Builder, at: Ptr) -> Val:
    return b.load(at, torch.bool, 1)


_ROWS, _COUNT = Ptr("%rows"), Val("%count", _I64)


def _swap() -> str:
    """Exchanges the base pointers of each pair."""
    w = StepWriter()
    b = w.b
    with b.loop(w.zero, _COUNT, w.one) as k:
        pair = b.row_at(_ROWS, k, PAIR)
        old, new = (w.base_at(w.word(i, pair)) for i in range(PAIR))
        first, second = b.load_word(old), b.load_word(new)
        b.store_register(old, second)
        b.store_register(new, first)
    return b.function("swap", [_ROWS, _COUNT, BASES])


def _advance() -> str:
    """Adds the number of bytes of each row to its base pointer."""
    w = StepWriter()
    b = w.b
    with b.loop(w.zero, _COUNT, w.one) as k:
        row = b.row_at(_ROWS, k, PAIR)
        base, size = w.word(0, row), w.word(1, row)
        at = w.base_at(base)
        b.store_register(at, b.add(b.load_word(at), size))
    return b.function("advance", [_ROWS, _COUNT, BASES])


def _loop() -> str:
    w = StepWriter()
    b, test, body, flag, count = w.b, w.pointer(0), w.pointer(1), w.pointer(2), w.word(3)
    pairs, looked = b.word_at(FRAME, 4), _clock(b)

    def head(carried: Sequence[Val]) -> tuple[Val, Sequence[Val]]:
        failed = carried[0]
        fine = b.cmp("eq", failed, w.zero)
        tested = b.branch(fine, lambda: w.run(test), lambda: failed)
        still = b.cmp("eq", tested, w.zero)
        return b.branch(still, lambda: _flag(b, flag), lambda: still), [tested]

    def step(carried: Sequence[Val]) -> list[Val]:
        code = w.run(body)
        b.invoke("swap", [pairs, count, BASES])
        return [b.invoke_value("watched", [code, looked], _I64)]

    (end,) = b.repeat([w.zero], head, step)
    return w.text("loop", end)


def _scan() -> str:
    w = StepWriter()
    b, body, times, carried, moving = w.b, w.pointer(0), w.word(1), w.word(2), w.word(3)
    pairs, looked = b.word_at(FRAME, 4), _clock(b)
    steps = b.row_at(pairs, carried, PAIR)

    def goes_on(state: Sequence[Val]) -> Val:
        k, failed = state
        return b.and_(b.cmp("eq", failed, w.zero), b.cmp("lt", k, times))

    def step(state: Sequence[Val]) -> list[Val]:
        code = w.run(body)
        b.invoke("swap", [pairs, carried, BASES])
        b.invoke("advance", [steps, moving, BASES])
        seen = b.invoke_value("watched", [code, looked], _I64)
        return [b.add(state[0], w.one), seen]

    _, failed = b.repeat_while([w.zero, w.zero], goes_on, step)
    return w.text("scan", failed)


def _clock(b: Builder) -> Ptr:
    """Memory for the time of the last check for signals."""
    looked = b.slot(torch.uint64)
    b.store_register(looked, b.cycles())
    return looked


def _watched() -> str:
    """The code of an iteration, or INTERRUPTED if a handler of a signal raised."""
    w = StepWriter()
    b, code, looked = w.b, Val("%code", _I64), Ptr("%looked")
    now = b.cycles()
    past = b.sub(now, b.load_register(looked, torch.uint64))
    due = b.cmp("gt", past, b.const(LOOK_AFTER, torch.uint64))
    fine = b.cmp("eq", code, w.zero)

    def look() -> Val:
        b.store_register(looked, now)
        return b.invoke_value("signals", [], _I64)

    return b.function("watched", [code, looked], b.branch(b.and_(due, fine), look, lambda: code))


def _signals() -> str:
    w = StepWriter()
    b = w.b
    raised = b.address_of(RAISED)
    value, trace = b.word_at(raised, 1), b.word_at(raised, 2)
    state = b.invoke_value("PyGILState_Ensure", [], torch.int32)
    found = b.invoke_value("PyErr_CheckSignals", [], torch.int32)

    def stop() -> Val:
        b.invoke("PyErr_Fetch", [raised, value, trace])
        return w.const(INTERRUPTED)

    code = b.branch(b.cmp("ne", found, b.const(0, torch.int32)), stop, lambda: w.zero)
    b.invoke("PyGILState_Release", [state])
    return b.function("signals", [], code)


def raise_interrupt() -> None:
    """Re-raises the exception of the signal handler."""
    restore = ctypes.pythonapi.PyErr_Restore
    restore.argtypes = [ctypes.c_void_p] * 3
    restore.restype = None
    restore(*_raised)


def control_flow_functions() -> dict[str, str]:
    """Function texts by name; they call @execute."""
    return {
        "point": _point(),
        "copy": _copy(),
        "branch": _branch(),
        "swap": _swap(),
        "advance": _advance(),
        "signals": _signals(),
        "watched": _watched(),
        "loop": _loop(),
        "scan": _scan(),
    }


def control_flow_declarations() -> list[str]:
    return [
        declared(RAISED, "()"),
        declared("PyGILState_Ensure", "()", " -> i32"),
        declared("PyGILState_Release", "(i32)"),
        declared("PyErr_CheckSignals", "()", " -> i32"),
        declared("PyErr_Fetch", "(!llvm.ptr, !llvm.ptr, !llvm.ptr)"),
    ]
