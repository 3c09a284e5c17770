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
from functools import cache
from itertools import starmap

import torch

from ingot.codegen.jit import compile_module
from ingot.codegen.lazy import Once
from ingot.codegen.native import Native
from ingot.codegen.tensor_layout_probe import INLINE, TensorLayout, tensor_layout
from ingot.codegen.thread_state import (
    STRANGE,
    ThreadState,
    state_declarations,
    state_in_python,
    state_lines,
    tells_the_truth,
)
from ingot.linkage import declared, define
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


class _Text:
    """Writes the lines of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def add(self, *lines: str) -> None:
        self.lines += [f"    {line}" for line in lines]

    def block(self, label: str) -> None:
        self.lines.append(f"  {label}:")

    def name(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def constant(self, value: int) -> str:
        name = self.name()
        self.add(f"{name} = llvm.mlir.constant({value} : i64) : i64")
        return name

    def load(self, base: str, offset: int, kind: str = "i64") -> str:
        at, name = self.name(), self.name()
        self.add(
            f"{at} = llvm.getelementptr {base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"{name} = llvm.load {at} : !llvm.ptr -> {kind}",
        )
        return name

    def item(self, base: str, index: str, kind: str = "i64") -> str:
        """Word `index` from `base`."""
        at, name = self.name(), self.name()
        self.add(
            f"{at} = llvm.getelementptr {base}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, i64",
            f"{name} = llvm.load {at} : !llvm.ptr -> {kind}",
        )
        return name

    def field(self, name: str, kind: str = "i64") -> str:
        return self.load("%frame", 8 * FRAME.index(name), kind)

    def call(self, function: str, arguments: str, kind: str) -> str:
        """Calls a function of Python's C API."""
        result = "" if kind.endswith("()") else f"{self.name()} = "
        self.add(f"{result}llvm.call @{function}({arguments}) : {kind}")
        return result.removesuffix(" = ")

    def address(self, symbol: str) -> str:
        """The address of an object of this process, as a number."""
        pointer, number = self.name(), self.name()
        self.add(
            f"{pointer} = llvm.mlir.addressof @{symbol} : !llvm.ptr",
            f"{number} = llvm.ptrtoint {pointer} : !llvm.ptr to i64",
        )
        return number

    def branch_unless(self, condition: str, onward: str) -> None:
        self.add(f"llvm.cond_br {condition}, {onward}, ^unusual")
        self.block(onward)

    def compare(self, how: str, a: str, b: str, kind: str = "i64") -> str:
        name = self.name()
        self.add(f'{name} = llvm.icmp "{how}" {a}, {b} : {kind}')
        return name

    def loop(self, label: str, count: str, body: Callable[[str], None]) -> None:
        """Runs `body` for 0 … count - 1."""
        zero, one = self.constant(0), self.constant(1)
        self.add(f"llvm.br ^{label}({zero} : i64)")
        self.block(f"^{label}(%{label}: i64)")
        more = self.compare("slt", f"%{label}", count)
        self.add(f"llvm.cond_br {more}, ^{label}_do, ^{label}_done")
        self.block(f"^{label}_do")
        body(f"%{label}")
        after = self.name()
        self.add(f"{after} = llvm.add %{label}, {one} : i64", f"llvm.br ^{label}({after} : i64)")
        self.block(f"^{label}_done")

    def set_base(self, number: str, value: str) -> None:
        at = self.name()
        self.add(
            f"{at} = llvm.getelementptr %bases[{number}] : (!llvm.ptr, i64) -> !llvm.ptr, i64",
            f"llvm.store {value}, {at} : i64, !llvm.ptr",
        )


def _launch(words: TensorLayout) -> str:
    t = _Text()
    t.add(f"%frame = llvm.load {_at(t, '%self', DATA)} {{alignment = 1 : i64}} : "
          "!llvm.ptr -> !llvm.ptr")  # fmt: skip
    zero = t.constant(0)
    for k, name in enumerate(("bases", "table")):
        number = t.call(
            "PyLong_AsLongLong",
            f"{t.load('%args', 8 * k, '!llvm.ptr')}",
            _PYTHON["PyLong_AsLongLong"],
        )
        t.add(f"%{name} = llvm.inttoptr {number} : i64 to !llvm.ptr")
    _check_weights(t, zero)
    t.loop("constant", t.field("constant_count"), lambda k: _set_constant(t, k))
    t.loop("tensor", t.field("tensor_count"), lambda k: _set_tensor(t, k, words, zero))
    keeper = t.field("keeper", "!llvm.ptr")
    t.call("Py_IncRef", keeper, _PYTHON["Py_IncRef"])
    state = t.call("PyEval_SaveThread", "", _PYTHON["PyEval_SaveThread"])
    execute = t.field("execute", "!llvm.ptr")
    t.add(f"%code = llvm.call {execute}(%table, %bases) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i64")
    t.call("PyEval_RestoreThread", state, _PYTHON["PyEval_RestoreThread"])
    t.call("Py_DecRef", keeper, _PYTHON["Py_DecRef"])
    _answer(t, "%code")
    t.block("^unusual")
    _answer(t, t.constant(UNUSUAL))
    head = (
        "  llvm.func internal @launch(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64) -> !llvm.ptr"
    )
    return "\n".join([f"{head} {{", *t.lines, "  }"])


def _at(t: _Text, base: str, offset: int) -> str:
    name = t.name()
    t.add(f"{name} = llvm.getelementptr {base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8")
    return name


def _check_weights(t: _Text, zero: str) -> None:
    weights = t.field("weights")
    none = t.compare("eq", weights, zero)
    t.add(f"llvm.cond_br {none}, ^known, ^some")
    t.block("^some")
    watched = t.field("watched")
    t.branch_unless(t.compare("ne", watched, zero), "^noted")
    t.add(f"%noted = llvm.inttoptr {watched} : i64 to !llvm.ptr")
    t.branch_unless(t.compare("eq", t.load("%noted", 0), weights), "^alive")
    items, unchanged = _at(t, "%args", 16), t.field("unchanged", "!llvm.ptr")
    t.add(
        f"%same = llvm.call {unchanged}({items}, %noted) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i64"
    )
    t.branch_unless(t.compare("ne", "%same", zero), "^fine")
    t.add("llvm.br ^known")
    t.block("^known")


def _set_constant(t: _Text, k: str) -> None:
    base, word = _row(t, t.field("constants", "!llvm.ptr"), k, 2)
    t.set_base(base, word)


def _set_tensor(t: _Text, k: str, words: TensorLayout, zero: str) -> None:
    base, *row = _row(t, t.field("tensors", "!llvm.ptr"), k, 1 + len(TENSOR_ROW))
    weights, two = t.field("weights"), t.constant(2)
    before, position = t.name(), t.name()
    t.add(
        f"{before} = llvm.add {weights}, {two} : i64", f"{position} = llvm.add {before}, {k} : i64"
    )
    tensor = t.item("%args", position, "!llvm.ptr")
    t.set_base(base, _address_of(t, tensor, words, row, zero))


def _address_of(t: _Text, tensor: str, words: TensorLayout, row: Sequence[str], zero: str) -> str:
    """The address of the first element. Unusual are other classes and dtypes, and storages that do
    not hold the whole tensor."""
    size, extent, dtype = row
    t.branch_unless(_is_plain_type(t, tensor), "^ordinary")
    inside = t.load(tensor, words.tensor, "!llvm.ptr")
    t.branch_unless(_is_dtype(t, t.load(inside, words.dtype, "i16"), dtype), "^typed")
    storage = t.load(inside, words.storage)
    t.branch_unless(t.compare("ne", storage, zero), "^stored")
    pointer = t.name()
    t.add(f"{pointer} = llvm.inttoptr {storage} : i64 to !llvm.ptr")
    memory = t.load(pointer, words.memory)
    t.branch_unless(t.compare("ne", memory, zero), "^there")
    needed = _extent_of(t, inside, words, size, extent, zero)
    first, behind, end, address = t.load(inside, words.first), t.name(), t.name(), t.name()
    t.add(
        f"{behind} = llvm.mul {first}, {size} : i64",
        f"{end} = llvm.add {behind}, {needed} : i64",
        f"{address} = llvm.add {memory}, {behind} : i64",
    )
    t.branch_unless(t.compare("sle", end, t.load(pointer, words.bytes)), "^whole")
    return address


def _is_dtype(t: _Text, number: str, wanted: str) -> str:
    wide, fits = t.name(), t.name()
    t.add(f"{wide} = llvm.zext {number} : i16 to i64")
    same, any_ = t.compare("eq", wide, wanted), t.compare("eq", wanted, t.constant(ANY))
    t.add(f"{fits} = llvm.or {same}, {any_} : i1")
    return fits


def _extent_of(
    t: _Text, inside: str, words: TensorLayout, size: str, extent: str, zero: str
) -> str:
    """`extent` if it is known, otherwise computed from the tensor's sizes and strides."""
    one, room = t.constant(1), t.constant(INLINE)
    t.add(
        f"llvm.cond_br {t.compare('ne', extent, zero)}, ^extent({extent} : i64), ^unknown",
    )
    t.block("^unknown")
    elements = t.load(inside, words.elements)
    t.add(f"llvm.cond_br {t.compare('eq', elements, zero)}, ^extent({zero} : i64), ^filled")
    t.block("^filled")
    rank, here = t.load(inside, words.geometry), _at(t, inside, words.sizes)
    few, elsewhere = t.compare("sle", rank, room), t.load(inside, words.sizes, "!llvm.ptr")
    t.add(
        f"%sizes = llvm.select {few}, {here}, {elsewhere} : i1, !llvm.ptr",
        f"%between = llvm.select {few}, {room}, {rank} : i1, i64",
        "%strides = llvm.getelementptr %sizes[%between] : (!llvm.ptr, i64) -> !llvm.ptr, i64",
        f"llvm.br ^dims({zero}, {one} : i64, i64)",
    )
    t.block("^dims(%dim: i64, %span: i64)")
    t.add(f"llvm.cond_br {t.compare('slt', '%dim', rank)}, ^dim, ^spanned")
    t.block("^dim")
    length, stride = t.item("%sizes", "%dim"), t.item("%strides", "%dim")
    t.add(
        f"%steps = llvm.sub {length}, {one} : i64",
        f"%reach = llvm.mul %steps, {stride} : i64",
        "%further = llvm.add %span, %reach : i64",
        f"%next_dim = llvm.add %dim, {one} : i64",
        "llvm.br ^dims(%next_dim, %further : i64, i64)",
    )
    t.block("^spanned")
    t.add(f"%spanned = llvm.mul %span, {size} : i64", "llvm.br ^extent(%spanned : i64)")
    t.block("^extent(%needed: i64)")
    return "%needed"


def _row(t: _Text, rows: str, k: str, length: int) -> list[str]:
    """The words of row `k` of a table."""
    width, start = t.constant(length), t.name()
    t.add(f"{start} = llvm.mul {k}, {width} : i64")
    items = []
    for place in range(length):
        at, behind = t.name(), t.constant(place)
        t.add(f"{at} = llvm.add {start}, {behind} : i64")
        items.append(t.item(rows, at))
    return items


def _answer(t: _Text, code: str) -> None:
    number = t.call("PyLong_FromLongLong", code, _PYTHON["PyLong_FromLongLong"])
    t.add(f"llvm.return {number} : !llvm.ptr")


def _present(words: TensorLayout) -> str:
    """present(*tensors): 0 if each has memory for its elements, according to its row (bytes of an
    element, extent); UNUSUAL if Python has to check."""
    t = _Text()
    t.add(f"%rows = llvm.load {_at(t, '%self', DATA)} {{alignment = 1 : i64}} : "
          "!llvm.ptr -> !llvm.ptr")  # fmt: skip
    zero = t.constant(0)

    def check(k: str) -> None:
        size, extent = _row(t, "%rows", k, 2)
        row = [size, extent, t.constant(ANY)]
        _address_of(t, t.item("%args", k, "!llvm.ptr"), words, row, zero)

    t.loop("tensor", "%count", check)
    _answer(t, zero)
    t.block("^unusual")
    _answer(t, t.constant(UNUSUAL))
    head = "  llvm.func internal @present(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64)"
    return "\n".join([f"{head} -> !llvm.ptr {{", *t.lines, "  }"])


def _state(words: TensorLayout) -> str | None:
    """state(*tensors): the bits of `thread_state`; None if they cannot be read natively."""
    found = state_lines()
    if found is None:
        return None
    t = _Text()
    lines, total = found
    t.add(*lines)

    def check(k: str) -> None:
        tensor = t.item("%args", k, "!llvm.ptr")
        t.branch_unless(_is_plain_type(t, tensor), "^known")
        keys = t.load(t.load(tensor, words.tensor, "!llvm.ptr"), words.keys)
        known = [t.constant(_signed(each)) for each in sorted(plain_keys())]
        t.branch_unless(_one_of(t, keys, known), "^plain")

    t.loop("tensor", "%count", check)
    _answer(t, total)
    t.block("^unusual")
    strange, both = t.constant(STRANGE), t.name()
    t.add(f"{both} = llvm.or {total}, {strange} : i64")
    _answer(t, both)
    head = "  llvm.func internal @state(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64)"
    return "\n".join([f"{head} -> !llvm.ptr {{", *t.lines, "  }"])


def _is_plain_type(t: _Text, tensor: str) -> str:
    return _one_of(t, t.load(tensor, KIND), [t.address(name) for name in PLAIN])


def _one_of(t: _Text, word: str, known: Sequence[str]) -> str:
    first, *rest = [t.compare("eq", word, each) for each in known]
    for each in rest:
        either = t.name()
        t.add(f"{either} = llvm.or {first}, {each} : i1")
        first = either
    return first


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _apart(words: TensorLayout) -> str:
    """apart(*tensors): 0 if none of the first ones, whose number is in `self`, shares memory with
    another; UNUSUAL if one does or has none."""
    t = _Text()
    t.add(f"%first = llvm.load {_at(t, '%self', DATA)} {{alignment = 1 : i64}} : "
          "!llvm.ptr -> i64")  # fmt: skip
    zero, one = t.constant(0), t.constant(1)

    def memory(k: str, onward: str) -> str:
        inside = t.load(t.item("%args", k, "!llvm.ptr"), words.tensor, "!llvm.ptr")
        storage, pointer = t.load(inside, words.storage), t.name()
        t.branch_unless(t.compare("ne", storage, zero), onward)
        t.add(f"{pointer} = llvm.inttoptr {storage} : i64 to !llvm.ptr")
        return t.load(pointer, words.memory)

    def against_the_rest(i: str) -> None:
        mine, start, rest = memory(i, "^mine"), t.name(), t.name()
        t.add(f"{start} = llvm.add {i}, {one} : i64", f"{rest} = llvm.sub %count, {start} : i64")

        def differs(j: str) -> None:
            place = t.name()
            t.add(f"{place} = llvm.add {start}, {j} : i64")
            t.branch_unless(t.compare("ne", mine, memory(place, "^other")), "^differs")

        t.loop("rest", rest, differs)

    t.loop("tensor", "%first", against_the_rest)
    _answer(t, zero)
    t.block("^unusual")
    _answer(t, t.constant(UNUSUAL))
    head = "  llvm.func internal @apart(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64)"
    return "\n".join([f"{head} -> !llvm.ptr {{", *t.lines, "  }"])


@Once
def native_code() -> Native | None:
    words = tensor_layout()
    if words is None or not _as_expected():
        return None
    functions = {"launch": _launch(words), "present": _present(words), "apart": _apart(words)}
    declarations = [*starmap(declared, _PYTHON.items()), *(declared(name, "()") for name in PLAIN)]
    for name, each in PLAIN.items():
        define(name, id(each))
    state = _state(words)
    if state is not None:
        functions["state"] = state
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
