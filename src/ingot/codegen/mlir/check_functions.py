"""The functions that checked code (range_checks.py) calls, in every module of it. They read the
record of the running step (bounds_runtime.py), whose buffers are ranges of addresses, and note the
first access that is out of range.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import torch

from ingot.codegen.mlir.builder import Builder
from ingot.codegen.mlir.memory import FRAME
from ingot.linkage import declared
from ingot.ops.values import Ptr, Val, Value

RECORD = (
    "failed", "site", "address", "bytes", "root", "failed_step", "step", "count", "stack_low",
    "stack_high", "nowhere", "turn", "ranges",
)  # fmt: skip
"""Words of the record. (start, end) pairs follow: blocks that functions allocated, then the step's
buffers."""
MOST_RANGES = 120
MOST_ALLOCATED = max(64, 2 * (os.cpu_count() or 1))
RECORD_SYMBOL = "ingot_bounds_record"
DEEP, HIGH = 1 << 22, 1 << 20
"""Bytes of stack below the executor's frame, and above a check's own, that count as the stack's."""
PAIR = 2
I64 = torch.int64
_ROOT, _POINTER, _BLOCK = Ptr("%root"), Ptr("%pointer"), Ptr("%block")
_SIZE, _FIRST, _BYTES, _SITE = (Val(f"%{name}", I64) for name in ("size", "first", "bytes", "site"))
_NEVER_INLINED = 'passthrough = ["noinline"]'


def with_check_functions(
    declarations: Sequence[str], functions: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The declarations and functions of a module, and what its checks call."""
    added: dict[str, str] = {}
    if any("@bounds_" in text for text in functions.values()):
        added = {"bounds_check": _check(), "bounds_within": _within()}
    imports = [declared(RECORD_SYMBOL, "()")] if added else []
    if any("@bounds_alloc" in text for text in functions.values()):
        added |= {"bounds_alloc": _alloc(), "bounds_free": _free()}
    return [*declarations, *imports], {**functions, **added}


class _RecordWriter:
    """Writes a function that uses the record."""

    def __init__(self) -> None:
        self.b = Builder(1)
        self.record = self.b.address_of(RECORD_SYMBOL)
        self.zero, self.one = self.const(0), self.const(1)

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def at(self, name: str) -> Ptr:
        return self.b.word_at(self.record, RECORD.index(name))

    def word(self, name: str) -> Val:
        return self.b.load_word(self.at(name))

    def keep(self, name: str, value: Val) -> None:
        self.b.store_register(self.at(name), value)

    def range(self, k: Val) -> Ptr:
        return self.b.row_at(self.at("ranges"), k, PAIR)


class _Access(_RecordWriter):
    """The access to `bytes` bytes at `pointer` + `first`, derived from `root`."""

    def __init__(self) -> None:
        super().__init__()
        b = self.b
        self.start = b.as_number(_ROOT)
        self.low = b.add(b.as_number(_POINTER), _FIRST)
        self.high = b.add(self.low, _BYTES)
        self.is_empty = b.cmp("le", _BYTES, self.zero)

    def lies_in(self, start: Val, end: Val) -> Val:
        b = self.b
        return b.and_(b.cmp("ge", self.low, start), b.cmp("le", self.high, end))

    def text(self, name: str, arguments: list[Value], fits: Val) -> str:
        """Gives the pointer, or one to spare memory if the access does not fit. The first failure
        is noted."""
        b = self.b
        outside = b.not_(b.or_(fits, self.is_empty))
        first = b.cmp("eq", self.word("failed"), self.zero)
        with b.when(b.and_(first, outside)):
            self.keep("failed", self.one)
            self.keep("site", _SITE)
            self.keep("address", self.low)
            self.keep("bytes", _BYTES)
            self.keep("root", self.start)
            self.keep("failed_step", self.word("step"))
        result = b.choose(outside, b.as_pointer(self.word("nowhere")), _POINTER)
        return b.function(name, arguments, result, _NEVER_INLINED)


def _check() -> str:
    """An access to a buffer of the step, the one that the root points into; or to the stack."""
    w = _Access()
    b, no = w.b, w.b.const(0, torch.bool)
    count = b.add(w.word("count"), w.const(MOST_ALLOCATED))

    def look(k: Val, found: list[Val]) -> list[Val]:
        owned, good, free = found
        pair = w.range(k)
        start, end = b.load_word(pair), b.load_word(b.word_at(pair, 1))
        fits = w.lies_in(start, end)
        owns = b.and_(b.cmp("ge", w.start, start), b.cmp("lt", w.start, end))
        return [b.or_(owned, owns), b.or_(good, b.and_(fits, owns)), b.or_(free, fits)]

    extent = (w.zero, count, w.one)
    owned, good, free = b.carrying(extent, [no] * 3, lambda k, found: look(k, list(found)))
    mine = b.as_number(b.slot(I64))
    on_mine = w.lies_in(mine, b.add(mine, w.const(HIGH)))
    on_stack = w.lies_in(w.word("stack_low"), w.word("stack_high"))
    known = b.select(owned, good, b.or_(b.or_(on_mine, on_stack), free))
    return w.text("bounds_check", [_ROOT, _POINTER, _FIRST, _BYTES, _SITE], known)


def _within() -> str:
    """An access to memory that the function allocated, `size` bytes from the root."""
    w = _Access()
    fits = w.lies_in(w.start, w.b.add(w.start, _SIZE))
    return w.text("bounds_within", [_ROOT, _SIZE, _POINTER, _FIRST, _BYTES, _SITE], fits)


def _alloc() -> str:
    """Allocates a block and records it."""
    w = _RecordWriter()
    b, align = w.b, Val("%align", I64)
    block = b.invoke_pointer("aligned_alloc", [align, _BYTES])
    turn = b.fetch_and_add(w.at("turn"), w.one)
    pair = w.range(b.rem(turn, w.const(MOST_ALLOCATED)))
    start = b.as_number(block)
    b.store_register(pair, start)
    b.store_register(b.word_at(pair, 1), b.add(start, _BYTES))
    return b.function("bounds_alloc", [align, _BYTES], block)


def _free() -> str:
    w = _RecordWriter()
    b, start = w.b, w.b.as_number(_BLOCK)
    with b.loop(w.zero, w.const(MOST_ALLOCATED), w.one) as k:
        pair = w.range(k)
        with b.when(b.cmp("eq", b.load_word(pair), start)):
            b.store_register(pair, w.zero)
            b.store_register(b.word_at(pair, 1), w.zero)
    b.invoke("free", [_BLOCK])
    return b.function("bounds_free", [_BLOCK])


def enter_text(stopped: int) -> str:
    """enter(step number, number of ranges, (start, end) of each), a step of a table: writes the
    next step's buffers to the record. Its code is `stopped` after a failure."""
    w = _RecordWriter()
    b = w.b
    w.keep("step", b.load_word(FRAME))
    many = b.load_word(b.word_at(FRAME, 1))
    w.keep("count", many)
    here = b.as_number(FRAME)
    w.keep("stack_low", b.sub(here, w.const(DEEP)))
    w.keep("stack_high", b.add(here, w.const(4096)))
    words, ranges = b.word_at(FRAME, 2), b.word_at(w.at("ranges"), PAIR * MOST_ALLOCATED)
    with b.loop(w.zero, b.add(many, many), w.one) as k:
        b.store_register(b.word_at(ranges, k), b.load_word(b.word_at(words, k)))
    bad = b.cmp("ne", w.word("failed"), w.zero)
    code = b.select(bad, w.const(stopped), w.zero)
    return b.function("enter", [FRAME, Ptr("%bases")], code)
