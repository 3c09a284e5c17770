"""Run-time state of the range checks: one record per process with the buffers of the running step,
and checked versions of compiled functions, compiled on first request.

One checked segment runs at a time (`running`). Its table has an `enter` step before every other
step, which writes that step's buffers to the record. The executor resolves their addresses like all
others, so loops and teams of threads need no special handling.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary, WeakValueDictionary

from ingot.codegen.bounds import Checker
from ingot.codegen.jit import compile_module
from ingot.codegen.lazy import Once
from ingot.codegen.native import Native, Source, called_function, compiled_function
from ingot.errors import BoundsError
from ingot.linkage import declared, define

RECORD = (
    "failed", "site", "address", "bytes", "root", "failed_step", "step", "count", "stack_low",
    "stack_high", "nowhere", "turn", "ranges",
)  # fmt: skip
"""Words of the record. (start, end) pairs follow: blocks that functions allocated, then the step's
buffers."""
MOST_RANGES = 120
MOST_ALLOCATED = max(64, 2 * (os.cpu_count() or 1))
STOPPED = 77
"""The code that `enter` returns if an earlier step failed a check."""
NOWHERE = 4096
"""Bytes of spare memory that failed accesses are redirected to: more than any access takes."""
DEEP, HIGH = 1 << 22, 1 << 20
"""Bytes of stack below the executor's frame, and above a check's own, that count as the stack's."""

_record = (ctypes.c_int64 * (len(RECORD) + 2 * (MOST_ALLOCATED + MOST_RANGES)))()
_nowhere = (ctypes.c_int8 * (2 * NOWHERE))()
_record[RECORD.index("nowhere")] = ctypes.addressof(_nowhere)
_RECORD_SYMBOL = declared(define("ingot_bounds_record", ctypes.addressof(_record)), "()")
running = threading.RLock()
"""Held while a checked segment runs."""
_numbers = itertools.count(1)
_sites: dict[int, tuple[str, str]] = {}
"""Checked accesses: (function, op) by number."""
_twins: WeakKeyDictionary[Native, Native] = WeakKeyDictionary()
_making = threading.RLock()


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


# -- checked versions of functions -----------------------------------------------------------------


def checked_function(address: int) -> int:
    """The version of a compiled function with range checks. Other addresses stay as they are."""
    found = compiled_function(address)
    if found is None:
        return address
    native, name = found
    return _twin(native).addresses[name]


def _twin(native: Native) -> Native:
    with _making:
        twin = _twins.get(native)
        if twin is None:
            twin = _twins[native] = _checked(native.source)
    return twin


def _checked_symbol(symbol: str) -> str:
    found = called_function(symbol)
    assert found is not None, symbol
    native, name = found
    return _twin(native).symbol(name)


def _checked(source: Source) -> Native:
    checker = Checker(_site, _checked_symbol)
    functions = checker.checked(source.functions)
    helpers = {"bounds_check": _CHECK, "bounds_within": _WITHIN, "bounds_product": _PRODUCT}
    if any("@aligned_alloc(" in line for line in source.declarations):
        helpers |= {"bounds_alloc": _ALLOC, "bounds_free": _FREE}
    declarations = [*map(checker.renamed, source.declarations), _RECORD_SYMBOL]
    return compile_module(
        declarations, functions | {k: _filled(v) for k, v in helpers.items()}, source.inside
    )


def _site(function: str, op: str) -> int:
    number = len(_sites) + 1
    _sites[number] = (function, op)
    return number


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
    function, op = _sites[word["site"]]
    buffers = _steps.get(word["failed_step"])
    first = RECORD.index("ranges") + 2 * MOST_ALLOCATED
    ranges = [_record[first + k] for k in range(2 * word["count"])]
    pairs = list(zip(ranges[::2], ranges[1::2], strict=True))
    names = buffers.names if buffers else ()
    low, size = word["address"], word["bytes"]
    verb = "writes" if ".store" in op or "scatter" in op or "memset" in op else "reads"
    text = f"kernel `{function}` {verb} {size} bytes at {low:#x}, "
    owner = next((k for k, (a, b) in enumerate(pairs) if a <= word["root"] < b), None)
    if owner is None:
        text += f"derived from {word['root']:#x}, which is in none of its buffers"
    else:
        start, end = pairs[owner]
        name = names[owner] if owner < len(names) else f"buffer {owner}"
        text += f"byte {low - start} of `{name}`, which has {end - start}"
    hints = [f"the access: {op}"]
    if buffers is not None:
        hints.insert(0, f"the step: {buffers.step}")
    return BoundsError(text, hints=hints)


@Once
def _enter() -> Native:
    return compile_module([_RECORD_SYMBOL], {"enter": _filled(_ENTER)})


def enter_function() -> int:
    """enter(step number, number of ranges, (start, end) of each)"""
    return _enter().addresses["enter"]


# -- text ------------------------------------------------------------------------------------------


def _filled(text: str) -> str:
    words = {name: str(8 * k) for k, name in enumerate(RECORD)}
    for name in sorted(words, key=len, reverse=True):
        text = text.replace(f"${name}", words[name])
    return text


_STATE = """
    %state = llvm.mlir.addressof @ingot_bounds_record : !llvm.ptr"""


def _word(name: str, value: str) -> str:
    return f"""
    %{value}at = llvm.getelementptr %state[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
    %{value} = llvm.load %{value}at : !llvm.ptr -> i64"""


_FAIL = f"""
    %turn = llvm.load %state : !llvm.ptr -> i64
    %first_failure = arith.cmpi eq, %turn, %zero : i64
    %bad = arith.andi %first_failure, %outside : i1
    scf.if %bad {{{_word("step", "now")}
      llvm.store %one, %state : i64, !llvm.ptr
      %siteat = llvm.getelementptr %state[$site] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %site, %siteat : i64, !llvm.ptr
      %addressat = llvm.getelementptr %state[$address] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %low, %addressat : i64, !llvm.ptr
      %bytesat = llvm.getelementptr %state[$bytes] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %bytes, %bytesat : i64, !llvm.ptr
      %rootat = llvm.getelementptr %state[$root] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %from, %rootat : i64, !llvm.ptr
      %failedat = llvm.getelementptr %state[$failed_step] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %now, %failedat : i64, !llvm.ptr
    }}{_word("nowhere", "elsewhere")}
    %other = llvm.inttoptr %elsewhere : i64 to !llvm.ptr
    %result = arith.select %outside, %other, %pointer : !llvm.ptr
    llvm.return %result : !llvm.ptr
  }}"""

_ENDS = """
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %start = llvm.ptrtoint %pointer : !llvm.ptr to i64
    %from = llvm.ptrtoint %root : !llvm.ptr to i64
    %low = arith.addi %start, %first : i64
    %high = arith.addi %low, %bytes : i64
    %nothing = arith.cmpi sle, %bytes, %zero : i64"""

_CHECK = f"""
  llvm.func internal @bounds_check(
      %root: !llvm.ptr, %pointer: !llvm.ptr, %first: i64, %bytes: i64, %site: i64) -> !llvm.ptr
      attributes {{passthrough = ["noinline"]}} {{{_STATE}{_ENDS}
    %no = arith.constant false{_word("count", "ours")}
    %others = arith.constant {MOST_ALLOCATED} : i64
    %count = arith.addi %ours, %others : i64
    %pairs = llvm.getelementptr %state[$ranges] : (!llvm.ptr) -> !llvm.ptr, i8
    %found:3 = scf.for %k = %zero to %count step %one
        iter_args(%owned = %no, %good = %no, %any = %no) -> (i1, i1, i1) : i64 {{
      %pair = llvm.getelementptr %pairs[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %s = llvm.load %pair : !llvm.ptr -> i64
      %eat = llvm.getelementptr %pair[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %e = llvm.load %eat : !llvm.ptr -> i64
      %a = arith.cmpi sge, %low, %s : i64
      %b = arith.cmpi sle, %high, %e : i64
      %fits = arith.andi %a, %b : i1
      %c = arith.cmpi sge, %from, %s : i64
      %d = arith.cmpi slt, %from, %e : i64
      %owns = arith.andi %c, %d : i1
      %both = arith.andi %fits, %owns : i1
      %o = arith.ori %owned, %owns : i1
      %g = arith.ori %good, %both : i1
      %f = arith.ori %any, %fits : i1
      scf.yield %o, %g, %f : i1, i1, i1
    }}{_word("stack_low", "deep")}{_word("stack_high", "top")}
    %here = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
    %mine = llvm.ptrtoint %here : !llvm.ptr to i64
    %room = arith.constant {HIGH} : i64
    %mine_end = arith.addi %mine, %room : i64
    %q = arith.cmpi sge, %low, %mine : i64
    %r = arith.cmpi sle, %high, %mine_end : i64
    %on_mine = arith.andi %q, %r : i1
    %t = arith.cmpi sge, %low, %deep : i64
    %u = arith.cmpi sle, %high, %top : i64
    %on_stack = arith.andi %t, %u : i1
    %either = arith.ori %on_mine, %on_stack : i1
    %free = arith.ori %either, %found#2 : i1
    %known = arith.select %found#0, %found#1, %free : i1
    %fine = arith.ori %known, %nothing : i1
    %yes = arith.constant true
    %outside = arith.xori %fine, %yes : i1{_FAIL}"""

_WITHIN = f"""
  llvm.func internal @bounds_within(
      %root: !llvm.ptr, %size: i64, %pointer: !llvm.ptr, %first: i64, %bytes: i64, %site: i64)
      -> !llvm.ptr attributes {{passthrough = ["noinline"]}} {{{_STATE}{_ENDS}
    %end = arith.addi %from, %size : i64
    %a = arith.cmpi sge, %low, %from : i64
    %b = arith.cmpi sle, %high, %end : i64
    %c = arith.andi %a, %b : i1
    %fine = arith.ori %c, %nothing : i1
    %yes = arith.constant true
    %outside = arith.xori %fine, %yes : i1{_FAIL}"""


def _operand(name: str, rows: str, step: str, columns: str) -> str:
    """The check of one matrix of a matmul, from its first element to its last."""
    return f"""
    %{name}less = arith.subi {rows}, %one : i64
    %{name}last = arith.muli %{name}less, {step} : i64
    %{name}count = arith.addi %{name}last, {columns} : i64
    %{name}bytes = arith.muli %{name}count, %size : i64
    %{name}safe = llvm.call @bounds_check(%{name}root, %{name}, %zero, %{name}bytes, %site)
        : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> !llvm.ptr
    %{name}fine = llvm.icmp "eq" %{name}safe, %{name} : !llvm.ptr"""


def _loaded(name: str) -> str:
    return f"""
    %{name}short = llvm.load %{name}at : !llvm.ptr -> i32
    %{name} = arith.extsi %{name}short : i32 to i64"""


_PRODUCT = f"""
  llvm.func internal @bounds_product(
      %turnat: !llvm.ptr, %nat: !llvm.ptr, %mat: !llvm.ptr, %kat: !llvm.ptr, %ldbat: !llvm.ptr,
      %ldaat: !llvm.ptr, %ldcat: !llvm.ptr, %b: !llvm.ptr, %a: !llvm.ptr, %c: !llvm.ptr,
      %broot: !llvm.ptr, %aroot: !llvm.ptr, %croot: !llvm.ptr, %size: i64, %site: i64) -> i1 {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64{"".join(map(_loaded, ("n", "m", "k", "ldb", "lda", "ldc")))}
    %turn = llvm.load %turnat : !llvm.ptr -> i8
    %letter = arith.constant {ord("N")} : i8
    %plain = arith.cmpi eq, %turn, %letter : i8
    %brows = arith.select %plain, %k, %n : i64
    %bcolumns = arith.select %plain, %n, %k : i64{_operand("b", "%brows", "%ldb", "%bcolumns")}{
    _operand("a", "%m", "%lda", "%k")
}{_operand("c", "%m", "%ldc", "%n")}
    %both = arith.andi %bfine, %afine : i1
    %all = arith.andi %both, %cfine : i1
    llvm.return %all : i1
  }}"""

_ALLOC = f"""
  llvm.func internal @bounds_alloc(%align: i64, %bytes: i64) -> !llvm.ptr {{{_STATE}
    %block = llvm.call @aligned_alloc(%align, %bytes) : (i64, i64) -> !llvm.ptr
    %turnat = llvm.getelementptr %state[$turn] : (!llvm.ptr) -> !llvm.ptr, i8
    %one = arith.constant 1 : i64
    %turn = llvm.atomicrmw add %turnat, %one acq_rel : !llvm.ptr, i64
    %most = arith.constant {MOST_ALLOCATED} : i64
    %place = arith.remui %turn, %most : i64
    %pairs = llvm.getelementptr %state[$ranges] : (!llvm.ptr) -> !llvm.ptr, i8
    %pair = llvm.getelementptr %pairs[%place] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
    %start = llvm.ptrtoint %block : !llvm.ptr to i64
    %end = arith.addi %start, %bytes : i64
    llvm.store %start, %pair : i64, !llvm.ptr
    %endat = llvm.getelementptr %pair[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %end, %endat : i64, !llvm.ptr
    llvm.return %block : !llvm.ptr
  }}"""

_FREE = f"""
  llvm.func internal @bounds_free(%block: !llvm.ptr) {{{_STATE}
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %most = arith.constant {MOST_ALLOCATED} : i64
    %start = llvm.ptrtoint %block : !llvm.ptr to i64
    %pairs = llvm.getelementptr %state[$ranges] : (!llvm.ptr) -> !llvm.ptr, i8
    scf.for %k = %zero to %most step %one : i64 {{
      %pair = llvm.getelementptr %pairs[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %s = llvm.load %pair : !llvm.ptr -> i64
      %same = arith.cmpi eq, %s, %start : i64
      scf.if %same {{
        llvm.store %zero, %pair : i64, !llvm.ptr
        %endat = llvm.getelementptr %pair[1] : (!llvm.ptr) -> !llvm.ptr, i64
        llvm.store %zero, %endat : i64, !llvm.ptr
      }}
    }}
    llvm.call @free(%block) : (!llvm.ptr) -> ()
    llvm.return
  }}"""

_ENTER = f"""
  llvm.func internal @enter(%frame: !llvm.ptr, %bases: !llvm.ptr) -> i64 {{{_STATE}
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %number = llvm.load %frame : !llvm.ptr -> i64
    %stepat = llvm.getelementptr %state[$step] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %number, %stepat : i64, !llvm.ptr
    %manyat = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %many = llvm.load %manyat : !llvm.ptr -> i64
    %countat = llvm.getelementptr %state[$count] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %many, %countat : i64, !llvm.ptr
    %here = llvm.ptrtoint %frame : !llvm.ptr to i64
    %depth = arith.constant {DEEP} : i64
    %room = arith.constant 4096 : i64
    %low = arith.subi %here, %depth : i64
    %high = arith.addi %here, %room : i64
    %lowat = llvm.getelementptr %state[$stack_low] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %low, %lowat : i64, !llvm.ptr
    %highat = llvm.getelementptr %state[$stack_high] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %high, %highat : i64, !llvm.ptr
    %words = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %all = llvm.getelementptr %state[$ranges] : (!llvm.ptr) -> !llvm.ptr, i8
    %pairs = llvm.getelementptr %all[{2 * MOST_ALLOCATED}] : (!llvm.ptr) -> !llvm.ptr, i64
    %twice = arith.addi %many, %many : i64
    scf.for %k = %zero to %twice step %one : i64 {{
      %from = llvm.getelementptr %words[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %word = llvm.load %from : !llvm.ptr -> i64
      %to = llvm.getelementptr %pairs[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %word, %to : i64, !llvm.ptr
    }}
    %failed = llvm.load %state : !llvm.ptr -> i64
    %bad = arith.cmpi ne, %failed, %zero : i64
    %code = arith.constant {STOPPED} : i64
    %result = arith.select %bad, %code, %zero : i64
    llvm.return %result : i64
  }}"""
