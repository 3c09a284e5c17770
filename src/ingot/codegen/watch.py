"""Are tensors what they were? Asked of all weights of a network in every call, so it is one native
function. Comes in: the Python objects of the tensors and a frame with what was noted of them; goes
out: whether all of it is as it was, samples of their elements included. What holds: an address is
followed only where it was just read from an object that is alive; the interpreter's lock is held
meanwhile, so nobody frees what is looked at.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import torch

from ingot.codegen.jit import Native, compile_module
from ingot.codegen.once import Once
from ingot.codegen.tensor_words import TensorWords, tensor_words

ITEMS = tuple.__basicsize__
"""Where a tuple's items begin."""
ROW = 4
"""Words of a sample of sixteen bytes."""
NOTED = ("object", "tensor", "storage", "first", "counter", "version", "memory")
"""Words for each tensor."""
FRAME = ("tensors", "noted", "rows", "row_count", "words", "word_count", "digest")
"""How many tensors, where what was noted of them lies; where the addresses of samples of sixteen
bytes and of four lie and how many those are; what all samples gave."""

_DIGEST = """
  llvm.func internal @digest(%frame: !llvm.ptr) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %odd = arith.constant 6364136223846793005 : i64
    %other = arith.constant 3202034522624059733 : i64
    %rowsat = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %rows = llvm.load %rowsat : !llvm.ptr -> !llvm.ptr
    %rowcountat = llvm.getelementptr %frame[3] : (!llvm.ptr) -> !llvm.ptr, i64
    %rowcount = llvm.load %rowcountat : !llvm.ptr -> i64
    %first = scf.for %k = %zero to %rowcount step %one iter_args(%sum = %zero) -> i64 : i64 {
      %at = llvm.getelementptr %rows[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %place = llvm.load %at : !llvm.ptr -> !llvm.ptr
      %low = llvm.load %place {alignment = 4 : i64} : !llvm.ptr -> i64
      %highat = llvm.getelementptr %place[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %high = llvm.load %highat {alignment = 4 : i64} : !llvm.ptr -> i64
      %mixed = arith.muli %high, %other : i64
      %both = arith.addi %low, %mixed : i64
      %shift = arith.constant 29 : i64
      %folded = arith.shrui %both, %shift : i64
      %word = arith.xori %both, %folded : i64
      %moved = arith.muli %sum, %odd : i64
      %next = arith.addi %moved, %word : i64
      scf.yield %next : i64
    }
    %wordsat = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %words = llvm.load %wordsat : !llvm.ptr -> !llvm.ptr
    %wordcountat = llvm.getelementptr %frame[5] : (!llvm.ptr) -> !llvm.ptr, i64
    %wordcount = llvm.load %wordcountat : !llvm.ptr -> i64
    %second = scf.for %k = %zero to %wordcount step %one iter_args(%sum = %first) -> i64 : i64 {
      %at = llvm.getelementptr %words[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %place = llvm.load %at : !llvm.ptr -> !llvm.ptr
      %short = llvm.load %place : !llvm.ptr -> i32
      %word = arith.extui %short : i32 to i64
      %moved = arith.muli %sum, %odd : i64
      %next = arith.addi %moved, %word : i64
      scf.yield %next : i64
    }
    llvm.return %second : i64
  }"""


def _unchanged(words: TensorWords) -> str:
    """Tensor by tensor, word by word: whatever is another one ends it."""
    # (what it is read from, where in that, bits, the name of the address that it is)
    steps = [
        ("object", words.tensor, 64, "tensor"),
        ("tensor", words.storage, 64, "storage"),
        ("tensor", words.first, 64, ""),
        ("tensor", words.counter, 64, "counter"),
        ("counter", words.version, 32, ""),
        ("storage", words.memory, 64, ""),
    ]
    lines = [
        "  llvm.func internal @unchanged(%items: !llvm.ptr, %frame: !llvm.ptr) -> i64 {",
        "    %zero = llvm.mlir.constant(0 : i64) : i64",
        "    %one = llvm.mlir.constant(1 : i64) : i64",
        "    %count = llvm.load %frame : !llvm.ptr -> i64",
        "    %notedat = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64",
        "    %noted = llvm.load %notedat : !llvm.ptr -> !llvm.ptr",
        "    llvm.br ^next(%zero : i64)",
        "  ^next(%k: i64):",
        '    %more = llvm.icmp "slt" %k, %count : i64',
        "    llvm.cond_br %more, ^step0, ^same",
        "  ^step0:",
        f"    %row = llvm.getelementptr %noted[%k] : (!llvm.ptr, i64) -> !llvm.ptr, "
        f"!llvm.array<{len(NOTED)} x i64>",
        "    %item = llvm.getelementptr %items[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64",
        "    %object = llvm.load %item : !llvm.ptr -> !llvm.ptr",
        "    %number = llvm.ptrtoint %object : !llvm.ptr to i64",
        "    %wanted = llvm.load %row : !llvm.ptr -> i64",
        '    %known = llvm.icmp "eq" %number, %wanted : i64',
        "    llvm.cond_br %known, ^step1, ^other",
    ]
    for k, (source, offset, bits, name) in enumerate(steps, 1):
        following = f"^step{k + 1}" if k < len(steps) else "^last"
        lines += [
            f"  ^step{k}:",
            f"    %at{k} = llvm.getelementptr %{source}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"    %wantedat{k} = llvm.getelementptr %row[{k}] : (!llvm.ptr) -> !llvm.ptr, i64",
            f"    %wanted{k} = llvm.load %wantedat{k} : !llvm.ptr -> i64",
            f"    %word{k} = llvm.load %at{k} : !llvm.ptr -> i{bits}",
        ]
        if bits < 64:
            lines.append(f"    %wide{k} = llvm.zext %word{k} : i{bits} to i64")
        if name:
            lines.append(f"    %{name} = llvm.inttoptr %word{k} : i64 to !llvm.ptr")
        value = f"%wide{k}" if bits < 64 else f"%word{k}"
        lines += [
            f'    %same{k} = llvm.icmp "eq" {value}, %wanted{k} : i64',
            f"    llvm.cond_br %same{k}, {following}, ^other",
        ]
    lines += [
        "  ^last:",
        "    %after = llvm.add %k, %one : i64",
        "    llvm.br ^next(%after : i64)",
        "  ^same:",
        "    %digest = llvm.call @digest(%frame) : (!llvm.ptr) -> i64",
        f"    %oldat = llvm.getelementptr %frame[{FRAME.index('digest')}] "
        ": (!llvm.ptr) -> !llvm.ptr, i64",
        "    %old = llvm.load %oldat : !llvm.ptr -> i64",
        '    %equal = llvm.icmp "eq" %digest, %old : i64',
        "    %answer = llvm.zext %equal : i1 to i64",
        "    llvm.return %answer : i64",
        "  ^other:",
        "    llvm.return %zero : i64",
        "  }",
    ]
    return "\n".join(lines)


@Once
def _native() -> Native:
    words = tensor_words()
    functions = {"digest": _DIGEST}
    if words is not None:
        functions["unchanged"] = _unchanged(words)
    return compile_module([], functions)


def begin() -> None:
    """Weights will be watched."""
    _native.begin()


@cache
def digester() -> Callable[[int], int]:
    """digest(address of a frame): a number that tells the samples from others."""
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
    return kind(_native().addresses["digest"])


def watcher_address() -> int:
    """Of `unchanged`; 0 where there is none."""
    return _native().addresses.get("unchanged", 0)


@cache
def watcher() -> Callable[[int, int], int] | None:
    """unchanged(address of the tensors' objects, address of a frame), where it can be asked so."""
    address = _native().addresses.get("unchanged")
    sample = (object(),)
    if address is None or ctypes.c_void_p.from_address(id(sample) + ITEMS).value != id(sample[0]):
        return None
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)


def noted(tensor: torch.Tensor) -> tuple[int, ...]:
    """What is noted of a tensor that counts its writes, but for its count: that was read before."""
    storage = tensor.untyped_storage()
    words = tensor_words()
    assert words is not None
    counter = ctypes.c_int64.from_address(tensor._cdata + words.counter).value
    return (
        id(tensor), tensor._cdata, storage._cdata, int(tensor.storage_offset()), counter,
        tensor._version, storage.data_ptr(),
    )  # fmt: skip
