"""Run-time state of the range checks: one record per process with the buffers of the running step.

One checked segment runs at a time (`running`). Its table has an `enter` step before every other
step, which writes that step's buffers to the record. The executor resolves their addresses like all
others, so loops and teams of threads need no special handling.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import Once
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.check_functions import (
    MOST_ALLOCATED,
    MOST_RANGES,
    RECORD,
    RECORD_SYMBOL,
    enter_text,
)
from ingot.codegen.mlir.range_checks import site
from ingot.errors import BoundsError
from ingot.linkage import declared, define

STOPPED = 77
"""The code that `enter` returns if an earlier step failed a check."""
NOWHERE = 4096
"""Bytes of spare memory that failed accesses are redirected to: more than any access takes."""

_record = (ctypes.c_int64 * (len(RECORD) + 2 * (MOST_ALLOCATED + MOST_RANGES)))()
_nowhere = (ctypes.c_int8 * (2 * NOWHERE))()
_record[RECORD.index("nowhere")] = ctypes.addressof(_nowhere)
_RECORD_SYMBOL = declared(define(RECORD_SYMBOL, ctypes.addressof(_record)), "()")
running = threading.RLock()
"""Held while a checked segment runs."""
_numbers = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Buffers:
    """The buffers of one step, for messages."""

    step: str
    names: tuple[str, ...]
    number: int

    @staticmethod
    def of(step: str, names: Sequence[str]) -> Buffers:
        made = Buffers(step, tuple(names), next(_numbers))
        _steps[made.number] = made
        return made


_steps: WeakValueDictionary[int, Buffers] = WeakValueDictionary()


# -- running ---------------------------------------------------------------------------------------


def run_checked(run: Callable[[], int]) -> int:
    """Runs a segment of checked functions exclusively; raises if an access was out of range."""
    with running:
        _record[RECORD.index("failed")] = 0
        code = run()
        if _record[RECORD.index("failed")]:
            raise _violation()
        return code


def _violation() -> BoundsError:
    word = {name: _record[k] for k, name in enumerate(RECORD)}
    at = site(word["site"])
    buffers = _steps.get(word["failed_step"])
    first = RECORD.index("ranges") + 2 * MOST_ALLOCATED
    ranges = [_record[first + k] for k in range(2 * word["count"])]
    pairs = list(zip(ranges[::2], ranges[1::2], strict=True))
    names = buffers.names if buffers else ()
    low, size = word["address"], word["bytes"]
    step = buffers.step if buffers else "NAME"
    function = at.function.replace("NAME", step.split()[0])
    verb = "writes" if at.writes else "reads"
    text = f"kernel `{function}` {verb} {size} bytes at {low:#x}, "
    owner = next((k for k, (a, b) in enumerate(pairs) if a <= word["root"] < b), None)
    if owner is None:
        text += f"derived from {word['root']:#x}, which is in none of its buffers"
    else:
        start, end = pairs[owner]
        name = names[owner] if owner < len(names) else f"buffer {owner}"
        text += f"byte {low - start} of `{name}`, which has {end - start}"
    hints = [f"the access: {at.op}"]
    if buffers is not None:
        hints.insert(0, f"the step: {buffers.step}")
    return BoundsError(text, hints=hints)


@Once
def _enter() -> Native:
    return compile_module([_RECORD_SYMBOL], {"enter": enter_text(STOPPED)})


def enter_function() -> int:
    """enter(step number, number of ranges, (start, end) of each)"""
    return _enter().addresses["enter"]
