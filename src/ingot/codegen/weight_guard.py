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

from ingot.codegen.jit import compile_module
from ingot.codegen.lazy import Once
from ingot.codegen.native import Native
from ingot.codegen.tensor_layout_probe import INLINE, TensorLayout, tensor_layout
from ingot.codegen.write_tracking import PAGEMAP_SCAN, SCAN_WORDS
from ingot.linkage import declared

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

_DIGEST = """
  llvm.func internal @digest(%ranges: !llvm.ptr, %count: i64) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %three = arith.constant 3 : i64
    %seven = arith.constant 7 : i64
    %eight = arith.constant 8 : i64
    %block = arith.constant 256 : i64
    %odd = arith.constant 6364136223846793005 : i64
    %odds = arith.constant dense<6364136223846793005> : vector<8xi64>
    %none = arith.constant dense<0> : vector<8xi64>
    %all = scf.for %k = %zero to %count step %one iter_args(%sum = %zero) -> i64 : i64 {
      %pair = llvm.getelementptr %ranges[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %start = llvm.load %pair : !llvm.ptr -> !llvm.ptr
      %sizeat = llvm.getelementptr %pair[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %size = llvm.load %sizeat : !llvm.ptr -> i64
      %rest = arith.remui %size, %block : i64
      %whole = arith.subi %size, %rest : i64
      %v:4 = scf.for %i = %zero to %whole step %block
          iter_args(%a = %none, %b = %none, %c = %none, %d = %none)
          -> (vector<8xi64>, vector<8xi64>, vector<8xi64>, vector<8xi64>) : i64 {
        %at = llvm.getelementptr %start[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %bt = llvm.getelementptr %at[64] : (!llvm.ptr) -> !llvm.ptr, i8
        %ct = llvm.getelementptr %at[128] : (!llvm.ptr) -> !llvm.ptr, i8
        %dt = llvm.getelementptr %at[192] : (!llvm.ptr) -> !llvm.ptr, i8
        %al = llvm.load %at {alignment = 1 : i64} : !llvm.ptr -> vector<8xi64>
        %bl = llvm.load %bt {alignment = 1 : i64} : !llvm.ptr -> vector<8xi64>
        %cl = llvm.load %ct {alignment = 1 : i64} : !llvm.ptr -> vector<8xi64>
        %dl = llvm.load %dt {alignment = 1 : i64} : !llvm.ptr -> vector<8xi64>
        %am = arith.muli %a, %odds : vector<8xi64>
        %bm = arith.muli %b, %odds : vector<8xi64>
        %cm = arith.muli %c, %odds : vector<8xi64>
        %dm = arith.muli %d, %odds : vector<8xi64>
        %an = arith.addi %am, %al : vector<8xi64>
        %bn = arith.addi %bm, %bl : vector<8xi64>
        %cn = arith.addi %cm, %cl : vector<8xi64>
        %dn = arith.addi %dm, %dl : vector<8xi64>
        scf.yield %an, %bn, %cn, %dn
          : vector<8xi64>, vector<8xi64>, vector<8xi64>, vector<8xi64>
      }
      %head = arith.addi %sum, %size : i64
      %s0 = llvm.call @fold(%head, %v#0) : (i64, vector<8xi64>) -> i64
      %s1 = llvm.call @fold(%s0, %v#1) : (i64, vector<8xi64>) -> i64
      %s2 = llvm.call @fold(%s1, %v#2) : (i64, vector<8xi64>) -> i64
      %s3 = llvm.call @fold(%s2, %v#3) : (i64, vector<8xi64>) -> i64
      %odd_bytes = arith.andi %size, %seven : i64
      %words = arith.subi %size, %odd_bytes : i64
      %s4 = scf.for %i = %whole to %words step %eight iter_args(%s = %s3) -> i64 : i64 {
        %at = llvm.getelementptr %start[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %word = llvm.load %at {alignment = 1 : i64} : !llvm.ptr -> i64
        %m = arith.muli %s, %odd : i64
        %n = arith.addi %m, %word : i64
        scf.yield %n : i64
      }
      %s5 = scf.for %i = %words to %size step %one iter_args(%s = %s4) -> i64 : i64 {
        %at = llvm.getelementptr %start[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %byte = llvm.load %at : !llvm.ptr -> i8
        %word = arith.extui %byte : i8 to i64
        %m = arith.muli %s, %odd : i64
        %n = arith.addi %m, %word : i64
        scf.yield %n : i64
      }
      scf.yield %s5 : i64
    }
    llvm.return %all : i64
  }
"""
"""Each of 32 lanes is a polynomial in an odd number, modulo 2^64: any single changed word changes
it, and so does any exchange of words; other changes are missed with a probability of 2^-64."""


def _fold() -> str:
    lines = [
        "  llvm.func internal @fold(%sum: i64, %lanes: vector<8xi64>) -> i64 {",
        "    %odd = arith.constant 3202034522624059733 : i64",
    ]
    total = "%sum"
    for lane in range(8):
        lines += [
            f"    %x{lane} = vector.extract %lanes[{lane}] : i64 from vector<8xi64>",
            f"    %m{lane} = arith.muli {total}, %odd : i64",
            f"    %s{lane} = arith.addi %m{lane}, %x{lane} : i64",
        ]
        total = f"%s{lane}"
    return "\n".join([*lines, f"    llvm.return {total} : i64", "  }"])


def _unchanged(words: TensorLayout) -> str:
    """Epochs, tensor by tensor every word of its note, written pages, bytes: the first thing that
    differs ends it."""
    note_words = len(_HEAD) + words.geometry_words
    return "\n".join(
        [
            "  llvm.func internal @unchanged(%items: !llvm.ptr, %frame: !llvm.ptr) -> i64 {",
            "    %zero = llvm.mlir.constant(0 : i64) : i64",
            "    %zero32 = llvm.mlir.constant(0 : i32) : i32",
            "    %one = llvm.mlir.constant(1 : i64) : i64",
            f"    %noversion = llvm.mlir.constant({NO_VERSION} : i64) : i64",
            *_field("tensors", "i64"),
            *_field("noted"),
            *_field("epochs"),
            *_field("epoch_count", "i64"),
            *_field("scans"),
            *_field("scan_count", "i64"),
            *_field("pagemap", "i64"),
            *_field("ranges"),
            *_field("range_count", "i64"),
            *_field("digest", "i64"),
            *_loop("epoch", "%epoch_count", "tensor", _EPOCH),
            *_loop("tensor", "%tensors", "scan", _tensor(words, note_words)),
            *_loop("scan", "%scan_count", "bytes", _SCAN),
            "  ^bytes:",
            "    %found = llvm.call @digest(%ranges, %range_count) : (!llvm.ptr, i64) -> i64",
            '    %equal = llvm.icmp "eq" %found, %digest : i64',
            "    %answer = llvm.zext %equal : i1 to i64",
            "    llvm.return %answer : i64",
            "  ^other:",
            "    llvm.return %zero : i64",
            "  }",
        ]
    )


def _field(name: str, kind: str = "!llvm.ptr") -> list[str]:
    number = FRAME.index(name)
    return [
        f"    %{name}_at = llvm.getelementptr %frame[{number}] : (!llvm.ptr) -> !llvm.ptr, i64",
        f"    %{name} = llvm.load %{name}_at : !llvm.ptr -> {kind}",
    ]


def _loop(name: str, count: str, following: str, body: Sequence[str]) -> list[str]:
    """`body` for %k = 0 … count - 1, then on to the loop or block `following`; it begins in a block
    of its own and ends in front of the branch to the next round."""
    after = f"^{following}" if following == "bytes" else f"^{following}(%zero : i64)"
    enter = [f"    llvm.br ^{name}(%zero : i64)"] if name == "epoch" else []
    k = f"%{name}_k"
    return [
        *enter,
        f"  ^{name}({k}: i64):",
        f'    %{name}_more = llvm.icmp "slt" {k}, {count} : i64',
        f"    llvm.cond_br %{name}_more, ^{name}_body, {after}",
        f"  ^{name}_body:",
        *(f"    {line}" if not line.startswith("^") else f"  {line}" for line in body),
        f"    %{name}_next = llvm.add {k}, %one : i64",
        f"    llvm.br ^{name}(%{name}_next : i64)",
    ]


def _same(name: str, value: str, wanted: str) -> list[str]:
    return [
        f'%{name}_same = llvm.icmp "eq" {value}, {wanted} : i64',
        f"llvm.cond_br %{name}_same, ^{name}_on, ^other",
        f"^{name}_on:",
    ]


_EPOCH = [
    "%pair = llvm.getelementptr %epochs[%epoch_k] : (!llvm.ptr, i64) -> !llvm.ptr, "
    "!llvm.array<2 x i64>",
    "%epoch_at = llvm.load %pair : !llvm.ptr -> !llvm.ptr",
    "%epoch_now = llvm.load %epoch_at : !llvm.ptr -> i64",
    "%epoch_wanted_at = llvm.getelementptr %pair[1] : (!llvm.ptr) -> !llvm.ptr, i64",
    "%epoch_wanted = llvm.load %epoch_wanted_at : !llvm.ptr -> i64",
    *_same("epoch", "%epoch_now", "%epoch_wanted"),
]
_SCAN = [
    "%scan_at = llvm.getelementptr %scans[%scan_k] : (!llvm.ptr, i64) -> !llvm.ptr, "
    f"!llvm.array<{SCAN_WORDS} x i64>",
    "%file = llvm.trunc %pagemap : i64 to i32",
    f"%request = llvm.mlir.constant({PAGEMAP_SCAN} : i64) : i64",
    "%written32 = llvm.call @ioctl(%file, %request, %scan_at) "
    "vararg(!llvm.func<i32 (i32, i64, ...)>) : (i32, i64, !llvm.ptr) -> i32",
    "%written = llvm.sext %written32 : i32 to i64",
    *_same("scan", "%written", "%zero"),
]


def _tensor(words: TensorLayout, note_words: int) -> list[str]:
    def note(number: int, name: str) -> list[str]:
        return [
            f"%{name}_noted_at = llvm.getelementptr %row[{number}] : (!llvm.ptr) -> !llvm.ptr, i64",
            f"%{name}_noted = llvm.load %{name}_noted_at : !llvm.ptr -> i64",
        ]

    def read(source: str, offset: int, name: str, kind: str = "i64") -> list[str]:
        return [
            f"%{name}_at = llvm.getelementptr %{source}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"%{name} = llvm.load %{name}_at : !llvm.ptr -> {kind}",
        ]

    lines = [
        f"%row = llvm.getelementptr %noted[%tensor_k] : (!llvm.ptr, i64) -> !llvm.ptr, "
        f"!llvm.array<{note_words} x i64>",
        "%item = llvm.getelementptr %items[%tensor_k] : (!llvm.ptr, i64) -> !llvm.ptr, i64",
        "%object = llvm.load %item : !llvm.ptr -> !llvm.ptr",
        *read("object", words.tensor, "inside", "!llvm.ptr"),
        *read("inside", words.storage, "storage"),
        *note(0, "storage"),
        *_same("storage", "%storage", "%storage_noted"),
        "%held = llvm.inttoptr %storage : i64 to !llvm.ptr",
        *read("held", words.memory, "memory"),
        *note(1, "memory"),
        *_same("memory", "%memory", "%memory_noted"),
        *read("held", words.bytes, "bytes"),
        *note(2, "bytes"),
        *_same("bytes", "%bytes", "%bytes_noted"),
    ]
    for k in range(words.geometry_words):
        lines += read("inside", words.geometry + 8 * k, f"word{k}")
        lines += note(len(_HEAD) + k, f"word{k}")
        lines += _same(f"word{k}", f"%word{k}", f"%word{k}_noted")
    lines += [
        *note(3, "version"),
        '%uncounted = llvm.icmp "eq" %version_noted, %noversion : i64',
        "llvm.cond_br %uncounted, ^version_on, ^count",
        "^count:",
        *read("inside", words.counter, "counter"),
        '%inference = llvm.icmp "eq" %counter, %zero : i64',
        "llvm.cond_br %inference, ^other, ^counted",
        "^counted:",
        "%counts = llvm.inttoptr %counter : i64 to !llvm.ptr",
        *read("counts", words.version, "version32", "i32"),
        "%version = llvm.zext %version32 : i32 to i64",
        *_same("version", "%version", "%version_noted"),
    ]
    return lines


@Once
def native_code() -> Native:
    words = tensor_layout()
    functions = {"fold": _fold(), "digest": _DIGEST}
    if words is not None:
        functions["unchanged"] = _unchanged(words)
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
