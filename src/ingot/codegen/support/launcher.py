"""The native function that Python calls to run a segment: binds tensors to base pointers and runs
the table. Takes the addresses of the base pointers and of the table, weights and tensors. Returns
the executor's code, or UNUSUAL, before it runs anything, if an argument misses the fast path.

Objects are inspected with the GIL held; the table runs without it, while a reference keeps packed
weights alive. There is a launcher only if the layout of tensors in memory was found
(`tensor_layout`).
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import starmap

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import Once
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.blocks import BlockBuilder
from ingot.codegen.support.tensor_layout_probe import INLINE, TensorLayout, tensor_layout
from ingot.codegen.support.thread_state import (
    STRANGE,
    ThreadState,
    is_state_readable,
    state_declarations,
    state_in_python,
    tells_the_truth,
    write_state,
)
from ingot.linkage import declared, define
from ingot.ops.values import Ptr, Val
from ingot.program.plain_tensor import plain_keys

UNUSUAL = -1
FRAME = (
    "execute", "unchanged", "weights", "watched", "constants", "constant_count", "tensors",
    "tensor_count", "keeper",
)  # fmt: skip
"""Two functions; the number of weights, which are the first arguments, and the frame that recorded
their state, or 0; addresses and lengths of the constants, as pairs (base, word), and of the
tensors, as rows (base, then TENSOR_ROW); the object that holds the packed weights."""
TENSOR_ROW = ("itemsize", "extent", "dtype")
"""Bytes of an element; bytes from the first element to the end of the last, 0: computed from the
tensor's sizes and strides; the number of the dtype, -1: any."""
ANY = -1
KIND = object.__basicsize__ - 8
"""Offset of the type in an object."""
DATA = bytes.__basicsize__ - 1
"""Offset of the contents in a bytes object."""
FASTCALL = 0x80
SELF, ARGUMENTS, COUNT = Ptr("%self"), Ptr("%args"), Val("%count", torch.int64)
"""The arguments of every function; the second is an array of addresses of objects."""
I64 = torch.int64
_PYTHON = {
    "PyLong_AsLongLong": "(!llvm.ptr) -> i64",
    "PyLong_FromLongLong": "(i64) -> !llvm.ptr",
    "PyEval_SaveThread": "() -> !llvm.ptr",
    "PyEval_RestoreThread": "(!llvm.ptr) -> ()",
    "Py_IncRef": "(!llvm.ptr) -> ()",
    "Py_DecRef": "(!llvm.ptr) -> ()",
}

PLAIN: dict[str, type] = {
    "ingot_type_tensor": torch.Tensor,
    "ingot_type_parameter": torch.nn.Parameter,
}
"""Symbols of the classes whose instances are plain tensors."""

Launcher = Callable[..., int]


class _Checks:
    """Writes the parts of a function of tensors: it looks at each, and goes to block `unusual` if
    Python has to."""

    def __init__(self, words: TensorLayout):
        self.b = BlockBuilder()
        self.words = words
        self.zero, self.one = self.const(0), self.const(1)

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def own(self) -> Ptr:
        """The address of the contents of `self`, which is a bytes object."""
        return self.b.byte_at(SELF, DATA)

    def word(self, base: Ptr, offset: int) -> Val:
        """The word `offset` bytes from `base`."""
        return self.b.load_word(self.b.byte_at(base, offset))

    def pointer(self, base: Ptr, offset: int) -> Ptr:
        return self.b.load_pointer(self.b.byte_at(base, offset))

    def argument(self, number: Val) -> Ptr:
        return self.b.load_pointer(self.b.word_at(ARGUMENTS, number))

    def require(self, condition: Val) -> None:
        self.b.require(condition, "unusual")

    def row(self, rows: Ptr, k: Val, length: int) -> list[Val]:
        """The words of row `k` of a table."""
        b, start = self.b, self.b.mul(k, self.const(length))
        places = [b.add(start, self.const(place)) for place in range(length)]
        return [b.load_word(b.word_at(rows, place)) for place in places]

    def answer(self, code: Val) -> None:
        b = self.b
        b.give_back(b.invoke_pointer("PyLong_FromLongLong", [code]))

    def function(self, name: str, otherwise: Val, bits: Val | None = None) -> str:
        """The function; `otherwise`, with `bits`, is the answer of block `unusual`."""
        b = self.b
        b.block("unusual")
        code = otherwise if bits is None else b.or_(bits, otherwise)
        result = b.invoke_pointer("PyLong_FromLongLong", [code])
        return b.function(name, [SELF, ARGUMENTS, COUNT], result)

    # -- tensors -----------------------------------------------------------------------------------

    def require_plain(self, tensor: Ptr) -> None:
        """A tensor or parameter, and of no other class."""
        kinds = [self.b.as_number(self.b.address_of(name)) for name in PLAIN]
        self.require(self.one_of(self.word(tensor, KIND), kinds))

    def one_of(self, word: Val, known: Sequence[Val]) -> Val:
        return reduce(self.b.or_, [self.b.cmp("eq", word, each) for each in known])

    def inside(self, tensor: Ptr) -> Ptr:
        """The C++ object of a tensor."""
        return self.pointer(tensor, self.words.tensor)

    def storage_of(self, inside: Ptr) -> Ptr:
        storage = self.word(inside, self.words.storage)
        self.require(self.b.cmp("ne", storage, self.zero))
        return self.b.as_pointer(storage)

    def address_of(self, tensor: Ptr, row: Sequence[Val]) -> Val:
        """The address of the first element. Unusual are other classes and dtypes, and storages that
        do not hold the whole tensor."""
        b, words = self.b, self.words
        size, extent, dtype = row
        self.require_plain(tensor)
        inside = self.inside(tensor)
        number = b.load_register(b.byte_at(inside, words.dtype), torch.uint16)
        same, every = b.cmp("eq", b.cast(number, I64), dtype), b.cmp("eq", dtype, self.const(ANY))
        self.require(b.or_(same, every))
        storage = self.storage_of(inside)
        memory = self.word(storage, words.memory)
        self.require(b.cmp("ne", memory, self.zero))
        needed = self.extent_of(inside, size, extent)
        behind = b.mul(self.word(inside, words.first), size)
        end, address = b.add(behind, needed), b.add(memory, behind)
        self.require(b.cmp("le", end, self.word(storage, words.bytes)))
        return address

    def extent_of(self, inside: Ptr, size: Val, extent: Val) -> Val:
        """`extent` if it is known, otherwise computed from the tensor's sizes and strides."""
        b, words, zero, one = self.b, self.words, self.zero, self.one
        needed, dim, span = (Val(f"%{name}", I64) for name in ("needed", "dim", "span"))
        b.jump_if(b.cmp("ne", extent, zero), "extent", "unknown", extent)
        b.block("unknown")
        b.jump_if(b.cmp("eq", self.word(inside, words.elements), zero), "extent", "filled", zero)
        b.block("filled")
        rank, room = self.word(inside, words.geometry), self.const(INLINE)
        few, elsewhere = b.cmp("le", rank, room), self.pointer(inside, words.sizes)
        sizes = b.choose(few, b.byte_at(inside, words.sizes), elsewhere)
        strides = b.word_at(sizes, b.select(few, room, rank))
        b.jump("dims", zero, one)
        b.block("dims", dim, span)
        b.jump_if(b.cmp("lt", dim, rank), "dim", "spanned")
        b.block("dim")
        length, stride = (b.load_word(b.word_at(table, dim)) for table in (sizes, strides))
        further = b.add(span, b.mul(b.sub(length, one), stride))
        b.jump("dims", b.add(dim, one), further)
        b.block("spanned")
        b.jump("extent", b.mul(span, size))
        b.block("extent", needed)
        return needed


class _Launch(_Checks):
    """launch(address of the base pointers, address of the table, *weights, *tensors)"""

    def text(self) -> str:
        b = self.b
        self.frame = b.load_pointer(self.own(), 1)
        self.bases, table = (
            b.as_pointer(b.invoke_value("PyLong_AsLongLong", [self.pointer(ARGUMENTS, 8 * k)], I64))
            for k in range(2)
        )
        self._check_weights()
        with b.rounds(self._number("constant_count")) as k:
            base, word = self.row(self._field("constants"), k, 2)
            self._set_base(base, word)
        with b.rounds(self._number("tensor_count")) as k:
            base, *row = self.row(self._field("tensors"), k, 1 + len(TENSOR_ROW))
            place = b.add(b.add(self._number("weights"), self.const(2)), k)
            self._set_base(base, self.address_of(self.argument(place), row))
        self.answer(self._run(table))
        return self.function("launch", self.const(UNUSUAL))

    def _field(self, name: str) -> Ptr:
        return self.b.load_pointer(self.b.word_at(self.frame, FRAME.index(name)))

    def _number(self, name: str) -> Val:
        return self.b.load_word(self.b.word_at(self.frame, FRAME.index(name)))

    def _set_base(self, number: Val, value: Val) -> None:
        self.b.store_register(self.b.word_at(self.bases, number), value)

    def _check_weights(self) -> None:
        b, weights = self.b, self._number("weights")
        b.jump_if(b.cmp("eq", weights, self.zero), "known", "some")
        b.block("some")
        watched = self._number("watched")
        self.require(b.cmp("ne", watched, self.zero))
        noted = b.as_pointer(watched)
        self.require(b.cmp("eq", b.load_word(noted), weights))
        items = b.byte_at(ARGUMENTS, 16)
        same = b.invoke_value(self._field("unchanged"), [items, noted], I64)
        self.require(b.cmp("ne", same, self.zero))
        b.jump("known")
        b.block("known")

    def _run(self, table: Ptr) -> Val:
        """Runs the table without the GIL, while a reference keeps the packed weights alive."""
        b, keeper = self.b, self._field("keeper")
        b.invoke("Py_IncRef", [keeper])
        state = b.invoke_pointer("PyEval_SaveThread", [])
        code = b.invoke_value(self._field("execute"), [table, self.bases], I64)
        b.invoke("PyEval_RestoreThread", [state])
        b.invoke("Py_DecRef", [keeper])
        return code


def _present(words: TensorLayout) -> str:
    """present(*tensors): 0 if each has memory for its elements, according to its row (bytes of an
    element, extent); UNUSUAL if Python has to check."""
    w = _Checks(words)
    rows = w.b.load_pointer(w.own(), 1)
    with w.b.rounds(COUNT) as k:
        size, extent = w.row(rows, k, 2)
        w.address_of(w.argument(k), [size, extent, w.const(ANY)])
    w.answer(w.zero)
    return w.function("present", w.const(UNUSUAL))


def _state(words: TensorLayout) -> str:
    """state(*tensors): the bits of `thread_state`."""
    w = _Checks(words)
    total = write_state(w.b)
    with w.b.rounds(COUNT) as k:
        tensor = w.argument(k)
        w.require_plain(tensor)
        keys = w.word(w.inside(tensor), words.keys)
        known = [w.const(_signed(each)) for each in sorted(plain_keys())]
        w.require(w.one_of(keys, known))
    w.answer(total)
    return w.function("state", w.const(STRANGE), total)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _apart(words: TensorLayout) -> str:
    """apart(*tensors): 0 if none of the first ones, whose number is in `self`, shares memory with
    another; UNUSUAL if one does or has none."""
    w = _Checks(words)
    b = w.b
    first = b.load_word(w.own(), 1)

    def memory(k: Val) -> Val:
        return w.word(w.storage_of(w.inside(w.argument(k))), words.memory)

    with b.rounds(first) as i:
        mine, start = memory(i), b.add(i, w.one)
        with b.rounds(b.sub(COUNT, start)) as j:
            w.require(b.cmp("ne", mine, memory(b.add(start, j))))
    w.answer(w.zero)
    return w.function("apart", w.const(UNUSUAL))


@Once
def native_code() -> Native | None:
    words = tensor_layout()
    if words is None or not _as_expected():
        return None
    functions = {
        "launch": _Launch(words).text(),
        "present": _present(words),
        "apart": _apart(words),
    }
    declarations = [*starmap(declared, _PYTHON.items()), *(declared(name, "()") for name in PLAIN)]
    for name, each in PLAIN.items():
        define(name, id(each))
    if is_state_readable():
        functions["state"] = _state(words)
        declarations += state_declarations()
    return compile_module(declarations, functions)


def _as_expected() -> bool:
    """Whether this is a Python with known object layouts."""
    sample, tensor = b"as expected", torch.empty(0)
    return (
        sys.implementation.name == "cpython"
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and all(hasattr(ctypes.pythonapi, name) for name in (*_PYTHON, "PyCFunction_NewEx"))
        and ctypes.string_at(id(sample) + DATA, len(sample)) == sample
        and ctypes.c_void_p.from_address(id(tensor) + KIND).value == id(torch.Tensor)
    )


def begin() -> None:
    """Starts compiling the launcher ahead of time."""
    native_code.begin()


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_methods: dict[int, _Method] = {}
"""Kept for the life of the process: functions refer to them."""


def _method(address: int, name: bytes, flags: int) -> _Method:
    return _methods.setdefault(address, _Method(name, address, flags, None))


def _function(native: Native, name: str, flags: int, own: bytes) -> Callable[..., int]:
    """A native function as a Python callable; `own` is passed as self."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    method = _method(native.addresses[name], name.encode(), flags)
    function: Callable[..., int] = make(ctypes.addressof(method), own, None)
    return function


def _table_address(table: array[int]) -> bytes:
    return table.buffer_info()[0].to_bytes(8, sys.byteorder)


def launcher(frame: array[int]) -> Launcher | None:
    """launch(address of the base pointers, address of the table, *weights, *tensors). The caller
    keeps the frame alive and may change it."""
    native = native_code()
    if native is None:
        return None
    return _function(native, "launch", FASTCALL, _table_address(frame))


def presence(rows: array[int]) -> Callable[..., int] | None:
    """present(*tensors), with a row for each tensor; the caller keeps the rows alive."""
    native = native_code()
    if native is None:
        return None
    return _function(native, "present", FASTCALL, _table_address(rows))


def apartness(first: int) -> Callable[..., int] | None:
    """apart(*tensors) for strided tensors: the first `first` are compared with all."""
    native = native_code()
    if native is None:
        return None
    return _function(native, "apart", FASTCALL, first.to_bytes(8, sys.byteorder))


@cache
def thread_state() -> ThreadState:
    """Returns the bits of `thread_state` that are set for the calling thread."""
    native = native_code()
    if native is not None and "state" in native.addresses:
        function = _function(native, "state", FASTCALL, b"")
        if tells_the_truth(function):
            return function
    return state_in_python
