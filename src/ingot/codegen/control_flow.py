"""Control-flow ops as native functions over the frame and the base pointers of a call: `point` sets
a base pointer, `copy` copies memory, `branch` compares two sizes or reads a flag and runs one of
two tables, `loop` runs a table while the flag of another is set, `scan` a table a number of times.

Between two iterations the base pointers of carried values are swapped, so that the body reads what
it last wrote, and those of scanned values advance. A loop checks for signals every few hundredths
of a second; an exception from a handler stops it with the code INTERRUPTED.
"""

from __future__ import annotations

import ctypes

from ingot.linkage import declared, define

INTERRUPTED = 255
LOOK_AFTER = 50_000_000
"""Cycles that a loop runs between checks for signals."""
_raised = (ctypes.c_void_p * 3)()
"""Type, value and traceback of a handler's exception. Only the main thread runs handlers."""
RAISED = define("ingot_raised", ctypes.addressof(_raised))

_WORD = """
  llvm.func internal @word(%words: !llvm.ptr, %k: i64) -> i64 {
    %at = llvm.getelementptr %words[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %word = llvm.load %at : !llvm.ptr -> i64
    llvm.return %word : i64
  }"""

_POINTER = """
  llvm.func internal @pointer(%words: !llvm.ptr, %k: i64) -> !llvm.ptr {
    %word = llvm.call @word(%words, %k) : (!llvm.ptr, i64) -> i64
    %pointer = llvm.inttoptr %word : i64 to !llvm.ptr
    llvm.return %pointer : !llvm.ptr
  }"""

_POINT = """
  llvm.func internal @point(%frame: !llvm.ptr, %bases: !llvm.ptr) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %base = llvm.call @word(%frame, %zero) : (!llvm.ptr, i64) -> i64
    %address = llvm.call @word(%frame, %one) : (!llvm.ptr, i64) -> i64
    %at = llvm.getelementptr %bases[%base] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %address, %at : i64, !llvm.ptr
    llvm.return %zero : i64
  }"""

_COPY = """
  llvm.func internal @copy(%frame: !llvm.ptr, %bases: !llvm.ptr) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %to = llvm.call @pointer(%frame, %zero) : (!llvm.ptr, i64) -> !llvm.ptr
    %from = llvm.call @pointer(%frame, %one) : (!llvm.ptr, i64) -> !llvm.ptr
    %bytes = llvm.call @word(%frame, %two) : (!llvm.ptr, i64) -> i64
    "llvm.intr.memcpy"(%to, %from, %bytes) <{isVolatile = false}>
        : (!llvm.ptr, !llvm.ptr, i64) -> ()
    llvm.return %zero : i64
  }"""

_BRANCH = """
  llvm.func internal @branch(%frame: !llvm.ptr, %bases: !llvm.ptr) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %four = arith.constant 4 : i64
    %left = llvm.call @word(%frame, %two) : (!llvm.ptr, i64) -> i64
    %right = llvm.call @word(%frame, %three) : (!llvm.ptr, i64) -> i64
    %address = llvm.call @word(%frame, %four) : (!llvm.ptr, i64) -> i64
    %stored = arith.cmpi ne, %address, %zero : i64
    %yes = scf.if %stored -> i1 {
      %at = llvm.inttoptr %address : i64 to !llvm.ptr
      %byte = llvm.load %at : !llvm.ptr -> i8
      %off = arith.constant 0 : i8
      %on = arith.cmpi ne, %byte, %off : i8
      scf.yield %on : i1
    } else {
      %atmost = arith.cmpi sle, %left, %right : i64
      scf.yield %atmost : i1
    }
    %which = arith.select %yes, %zero, %one : i64
    %table = llvm.call @pointer(%frame, %which) : (!llvm.ptr, i64) -> !llvm.ptr
    %code = llvm.call @execute(%table, %bases) : (!llvm.ptr, !llvm.ptr) -> i64
    llvm.return %code : i64
  }"""

_SWAP = """
  llvm.func internal @swap(%pairs: !llvm.ptr, %count: i64, %bases: !llvm.ptr) {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    scf.for %k = %zero to %count step %one : i64 {
      %pair = llvm.getelementptr %pairs[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %old = llvm.call @word(%pair, %zero) : (!llvm.ptr, i64) -> i64
      %new = llvm.call @word(%pair, %one) : (!llvm.ptr, i64) -> i64
      %oldat = llvm.getelementptr %bases[%old] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %newat = llvm.getelementptr %bases[%new] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %a = llvm.load %oldat : !llvm.ptr -> i64
      %b = llvm.load %newat : !llvm.ptr -> i64
      llvm.store %b, %oldat : i64, !llvm.ptr
      llvm.store %a, %newat : i64, !llvm.ptr
    }
    llvm.return
  }"""

_ADVANCE = """
  llvm.func internal @advance(%pairs: !llvm.ptr, %count: i64, %bases: !llvm.ptr) {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    scf.for %k = %zero to %count step %one : i64 {
      %pair = llvm.getelementptr %pairs[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
      %base = llvm.call @word(%pair, %zero) : (!llvm.ptr, i64) -> i64
      %bytes = llvm.call @word(%pair, %one) : (!llvm.ptr, i64) -> i64
      %at = llvm.getelementptr %bases[%base] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %old = llvm.load %at : !llvm.ptr -> i64
      %new = arith.addi %old, %bytes : i64
      llvm.store %new, %at : i64, !llvm.ptr
    }
    llvm.return
  }"""

_LOOP = """
  llvm.func internal @loop(%frame: !llvm.ptr, %bases: !llvm.ptr) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %test = llvm.call @pointer(%frame, %zero) : (!llvm.ptr, i64) -> !llvm.ptr
    %body = llvm.call @pointer(%frame, %one) : (!llvm.ptr, i64) -> !llvm.ptr
    %flagat = llvm.call @pointer(%frame, %two) : (!llvm.ptr, i64) -> !llvm.ptr
    %count = llvm.call @word(%frame, %three) : (!llvm.ptr, i64) -> i64
    %pairs = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %start = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
    %looked = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
    llvm.store %start, %looked : i64, !llvm.ptr
    %end = scf.while (%failed = %zero) : (i64) -> i64 {
      %fine = arith.cmpi eq, %failed, %zero : i64
      %tested = scf.if %fine -> i64 {
        %code = llvm.call @execute(%test, %bases) : (!llvm.ptr, !llvm.ptr) -> i64
        scf.yield %code : i64
      } else {
        scf.yield %failed : i64
      }
      %still = arith.cmpi eq, %tested, %zero : i64
      %go = scf.if %still -> i1 {
        %flag = llvm.load %flagat : !llvm.ptr -> i8
        %off = arith.constant 0 : i8
        %on = arith.cmpi ne, %flag, %off : i8
        scf.yield %on : i1
      } else {
        scf.yield %still : i1
      }
      scf.condition(%go) %tested : i64
    } do {
    ^bb0(%failed: i64):
      %code = llvm.call @execute(%body, %bases) : (!llvm.ptr, !llvm.ptr) -> i64
      llvm.call @swap(%pairs, %count, %bases) : (!llvm.ptr, i64, !llvm.ptr) -> ()
      %seen = llvm.call @watched(%code, %looked) : (i64, !llvm.ptr) -> i64
      scf.yield %seen : i64
    }
    llvm.return %end : i64
  }"""

_SCAN = """
  llvm.func internal @scan(%frame: !llvm.ptr, %bases: !llvm.ptr) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %body = llvm.call @pointer(%frame, %zero) : (!llvm.ptr, i64) -> !llvm.ptr
    %times = llvm.call @word(%frame, %one) : (!llvm.ptr, i64) -> i64
    %carried = llvm.call @word(%frame, %two) : (!llvm.ptr, i64) -> i64
    %moving = llvm.call @word(%frame, %three) : (!llvm.ptr, i64) -> i64
    %pairs = llvm.getelementptr %frame[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %steps = llvm.getelementptr %pairs[%carried]
        : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
    %start = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
    %looked = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
    llvm.store %start, %looked : i64, !llvm.ptr
    %end:2 = scf.while (%k = %zero, %failed = %zero) : (i64, i64) -> (i64, i64) {
      %fine = arith.cmpi eq, %failed, %zero : i64
      %more = arith.cmpi slt, %k, %times : i64
      %go = arith.andi %fine, %more : i1
      scf.condition(%go) %k, %failed : i64, i64
    } do {
    ^bb0(%k: i64, %failed: i64):
      %code = llvm.call @execute(%body, %bases) : (!llvm.ptr, !llvm.ptr) -> i64
      llvm.call @swap(%pairs, %carried, %bases) : (!llvm.ptr, i64, !llvm.ptr) -> ()
      llvm.call @advance(%steps, %moving, %bases) : (!llvm.ptr, i64, !llvm.ptr) -> ()
      %seen = llvm.call @watched(%code, %looked) : (i64, !llvm.ptr) -> i64
      %next = arith.addi %k, %one : i64
      scf.yield %next, %seen : i64, i64
    }
    llvm.return %end#1 : i64
  }"""

_WATCHED = f"""
  llvm.func internal @watched(%code: i64, %looked: !llvm.ptr) -> i64 {{
    %zero = arith.constant 0 : i64
    %now = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
    %then = llvm.load %looked : !llvm.ptr -> i64
    %past = arith.subi %now, %then : i64
    %long = arith.constant {LOOK_AFTER} : i64
    %due = arith.cmpi ugt, %past, %long : i64
    %fine = arith.cmpi eq, %code, %zero : i64
    %look = arith.andi %due, %fine : i1
    %result = scf.if %look -> i64 {{
      llvm.store %now, %looked : i64, !llvm.ptr
      %seen = llvm.call @signals() : () -> i64
      scf.yield %seen : i64
    }} else {{
      scf.yield %code : i64
    }}
    llvm.return %result : i64
  }}"""


_SIGNALS = f"""
  llvm.func internal @signals() -> i64 {{
    %raised = llvm.mlir.addressof @{RAISED} : !llvm.ptr
    %value = llvm.getelementptr %raised[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %trace = llvm.getelementptr %raised[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %state = llvm.call @PyGILState_Ensure() : () -> i32
    %found = llvm.call @PyErr_CheckSignals() : () -> i32
    %none = arith.constant 0 : i32
    %some = arith.cmpi ne, %found, %none : i32
    %code = scf.if %some -> i64 {{
      llvm.call @PyErr_Fetch(%raised, %value, %trace) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
      %stop = arith.constant {INTERRUPTED} : i64
      scf.yield %stop : i64
    }} else {{
      %zero = arith.constant 0 : i64
      scf.yield %zero : i64
    }}
    llvm.call @PyGILState_Release(%state) : (i32) -> ()
    llvm.return %code : i64
  }}"""


def raise_interrupt() -> None:
    """Re-raises the exception of the signal handler."""
    restore = ctypes.pythonapi.PyErr_Restore
    restore.argtypes = [ctypes.c_void_p] * 3
    restore.restype = None
    restore(*_raised)


def control_flow_functions() -> dict[str, str]:
    """Function texts by name; they call @execute."""
    return {
        "word": _WORD,
        "pointer": _POINTER,
        "point": _POINT,
        "copy": _COPY,
        "branch": _BRANCH,
        "swap": _SWAP,
        "advance": _ADVANCE,
        "signals": _SIGNALS,
        "watched": _WATCHED,
        "loop": _LOOP,
        "scan": _SCAN,
    }


def control_flow_declarations() -> list[str]:
    return [
        declared(RAISED, "()"),
        declared("PyGILState_Ensure", "()", " -> i32"),
        declared("PyGILState_Release", "(i32)"),
        declared("PyErr_CheckSignals", "()", " -> i32"),
        declared("PyErr_Fetch", "(!llvm.ptr, !llvm.ptr, !llvm.ptr)"),
    ]
