"""Weight guards, the native half: are the weights of a call the tensors that were noted, with the
bytes that they had? One function answers it for all weights of a segment, because it is asked in
every call. It follows an address only where it was just read from a live object, and the
interpreter's lock is held meanwhile, so nobody frees what it looks at.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from functools import cache

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import Once
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir import memory
from ingot.codegen.mlir.blocks import BlockBuilder
from ingot.codegen.mlir.builder import Builder
from ingot.codegen.support.tensor_layout_probe import INLINE, TensorLayout, tensor_layout
from ingot.codegen.support.write_tracking import PAGEMAP_SCAN, SCAN_WORDS
from ingot.linkage import declared
from ingot.ops.values import Ptr, Val, Value

I64 = torch.int64
ITEMS = tuple.__basicsize__
"""Where a tuple's items begin."""
FRAME = (
    "tensors", "noted", "epochs", "epoch_count", "scans", "scan_count", "pagemap",
    "ranges", "range_count", "digest",
)  # fmt: skip
"""How many tensors, and their notes; pairs of the address of an epoch and its value; scans for
written pages and the file they go to; pairs of an address and a number of bytes, and the digest of
all those bytes."""
NO_VERSION = -1
"""Noted where the version of a tensor does not count."""
_HEAD = ("storage", "memory", "bytes", "version")
"""Words of a note before those that describe the tensor's geometry."""

FACTOR = 6364136223846793005
FOLD_FACTOR = 3202034522624059733
DIGEST_LANES, CHAINS = 8, 4
_ITEMS, _RANGES = Ptr("%items"), Ptr("%ranges")
_COUNT = Val("%count", I64)


def _digest() -> str:
    """The digest of ranges of bytes. Each of 32 lanes is a polynomial in an odd number, modulo
    2^64: any single changed word changes it, and so does any exchange of words; other changes are
    missed with a probability of 2^-64."""
    b = Builder(1)
    zero, one = b.const(0, I64), b.const(1, I64)

    def add_range(k: Val, total: Sequence[Val]) -> list[Val]:
        pair = b.row_at(_RANGES, k, 2)
        start, size = b.load_pointer(pair), b.load_word(b.word_at(pair, 1))
        return [_digest_of(b, start, size, total[0])]

    (total,) = b.carrying((zero, _COUNT, one), [zero], add_range)
    return b.function("digest", [_RANGES, _COUNT], total)


def _digest_of(b: Builder, start: Ptr, size: Val, total: Val) -> Val:
    """Adds one range: blocks of vectors, then words, then bytes."""
    wide, vector = DIGEST_LANES * I64.itemsize, b.const(0, I64, DIGEST_LANES)
    block, factor = b.const(wide * CHAINS, I64), b.const(FACTOR, I64)
    whole = b.sub(size, b.and_(size, b.const(wide * CHAINS - 1, I64)))

    def add_block(at: Val, sums: Sequence[Val]) -> list[Val]:
        first = b.byte_at(start, at)
        places = [first, *(b.byte_at(first, wide * k) for k in range(1, CHAINS))]
        read = [b.load_register(place, I64, DIGEST_LANES, 1) for place in places]
        products = [b.mul(x, factor) for x in sums]
        return [b.add(product, word) for product, word in zip(products, read, strict=True)]

    def add_word(at: Val, sums: Sequence[Val]) -> list[Val]:
        word = b.load_word(b.byte_at(start, at), 1)
        return [b.add(b.mul(sums[0], factor), word)]

    def add_byte(at: Val, sums: Sequence[Val]) -> list[Val]:
        byte = b.load(b.byte_at(start, at), torch.uint8, 1)
        return [b.add(b.mul(sums[0], factor), b.cast(byte, I64))]

    zero, one, eight = (b.const(n, I64) for n in (0, 1, 8))
    lanes = b.carrying((zero, whole, block), [vector] * CHAINS, add_block)
    total = b.add(total, size)
    for each in lanes:
        total = b.invoke_value("fold", [total, each], I64)
    words = b.sub(size, b.and_(size, b.const(7, I64)))
    sums = b.carrying((whole, words, eight), [total], add_word)
    return b.carrying((words, size, one), sums, add_byte)[0]


def _fold() -> str:
    """Adds the lanes of a vector to a digest."""
    b, start, lanes = Builder(1), Val("%sum", I64), Val("%lanes", I64, DIGEST_LANES)
    total, factor = start, b.const(FOLD_FACTOR, I64)
    for k in range(DIGEST_LANES):
        total = b.add(b.mul(total, factor), b.lane(lanes, k))
    return b.function("fold", [start, lanes], total)


class _Unchanged:
    """unchanged(items, frame): epochs, tensor by tensor every word of its note, written pages,
    bytes: the first thing that differs ends it."""

    def __init__(self, words: TensorLayout):
        self.b = BlockBuilder()
        self.words = words
        self.zero = self.b.const(0, I64)

    def text(self) -> str:
        b = self.b
        numbers = ("tensors", "epoch_count", "scan_count", "pagemap", "range_count", "digest")
        self.number = {name: b.load_word(self._field(name)) for name in numbers}
        tables = ("noted", "epochs", "scans", "ranges")
        self.table = {name: b.load_pointer(self._field(name)) for name in tables}
        with b.rounds(self.number["epoch_count"]) as k:
            self._epoch(b.row_at(self.table["epochs"], k, 2))
        with b.rounds(self.number["tensors"]) as k:
            row = b.row_at(self.table["noted"], k, len(_HEAD) + self.words.geometry_words)
            self._tensor(b.load_pointer(b.word_at(_ITEMS, k)), row)
        with b.rounds(self.number["scan_count"]) as k:
            self._scan(b.row_at(self.table["scans"], k, SCAN_WORDS))
        ranges: list[Value] = [self.table["ranges"], self.number["range_count"]]
        found = b.invoke_value("digest", ranges, I64)
        equal = b.cmp("eq", found, self.number["digest"])
        b.give_back(b.cast(equal, I64))
        b.block("other")
        return b.function("unchanged", [_ITEMS, memory.FRAME], self.zero)

    def _field(self, name: str) -> Ptr:
        return self.b.word_at(memory.FRAME, FRAME.index(name))

    def _same(self, value: Val, wanted: Val) -> None:
        self.b.require(self.b.cmp("eq", value, wanted), "other")

    def _epoch(self, pair: Ptr) -> None:
        b = self.b
        now = b.load_word(b.load_pointer(pair))
        self._same(now, b.load_word(b.word_at(pair, 1)))

    def _scan(self, scan: Ptr) -> None:
        """The number of written pages is zero."""
        b = self.b
        file = b.cast(self.number["pagemap"], torch.int32)
        arguments: list[Value] = [file, b.const(PAGEMAP_SCAN, I64), scan]
        written = b.invoke_value("ioctl", arguments, torch.int32, "i32 (i32, i64, ...)")
        self._same(b.cast(written, I64), self.zero)

    def _tensor(self, tensor: Ptr, row: Ptr) -> None:
        b, words = self.b, self.words
        inside = b.load_pointer(b.byte_at(tensor, words.tensor))

        def noted(position: int) -> Val:
            return b.load_word(b.word_at(row, position))

        def word(base: Ptr, offset: int) -> Val:
            return b.load_word(b.byte_at(base, offset))

        storage = word(inside, words.storage)
        self._same(storage, noted(_HEAD.index("storage")))
        held = b.as_pointer(storage)
        self._same(word(held, words.memory), noted(_HEAD.index("memory")))
        self._same(word(held, words.bytes), noted(_HEAD.index("bytes")))
        for k in range(words.geometry_words):
            self._same(word(inside, words.geometry + 8 * k), noted(len(_HEAD) + k))
        wanted = noted(_HEAD.index("version"))
        b.jump_if(b.cmp("eq", wanted, b.const(NO_VERSION, I64)), "known", "counted")
        b.block("counted")
        counter = word(inside, words.counter)
        b.require(b.cmp("ne", counter, self.zero), "other")
        at = b.byte_at(b.as_pointer(counter), words.version)
        self._same(b.cast(b.load_register(at, torch.uint32), I64), wanted)
        b.jump("known")
        b.block("known")


@Once
def native_code() -> Native:
    words = tensor_layout()
    functions = {"fold": _fold(), "digest": _digest()}
    if words is not None:
        functions["unchanged"] = _Unchanged(words).text()
    return compile_module([declared("ioctl", "(i32, i64, ...)", " -> i32")], functions)


def begin() -> None:
    """Weights will be guarded."""
    native_code.begin()


@cache
def _digester() -> Callable[[int, int], int]:
    # CFUNCTYPE: other threads of Python run meanwhile.
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    return kind(native_code().addresses["digest"])


def digest(ranges: Sequence[tuple[int, int]]) -> int:
    """Of the bytes at (address, size), one range after the other."""
    table = array("q", (word for pair in ranges for word in pair))
    return _digester()(table.buffer_info()[0], len(ranges))


def guard_address() -> int:
    """Of `unchanged(items, frame)`; 0 where there is none."""
    return native_code().addresses.get("unchanged", 0)


@cache
def guard_function() -> Callable[[int, int], int] | None:
    """unchanged(address of the tensors' objects, address of a frame), where it can be asked so."""
    address = guard_address()
    sample = (object(),)
    if not address or ctypes.c_void_p.from_address(id(sample) + ITEMS).value != id(sample[0]):
        return None
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)


def can_note(tensor: torch.Tensor) -> bool:
    """Does the tensor hold all that describes it in itself?"""
    return tensor_layout() is not None and tensor.dim() <= INLINE


def note(tensor: torch.Tensor, version: int) -> tuple[int, ...]:
    """The words that native code compares; `version` was read before the weight was."""
    words = tensor_layout()
    assert words is not None
    storage = tensor.untyped_storage()
    geometry = (ctypes.c_int64 * words.geometry_words).from_address(tensor._cdata + words.geometry)
    return storage._cdata, storage.data_ptr(), storage.nbytes(), version, *geometry
