"""Memoised results: computed by the caller, by a thread ahead of time, after a failure, after a
fork."""

from __future__ import annotations

import ctypes
import os
import threading
import time

import pytest

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import Once
from ingot.errors import CompileError


def test_many_callers_make_one() -> None:
    made: list[int] = []

    def slow(key: int) -> int:
        time.sleep(0.05)
        made.append(key)
        return key * 10

    once = Once(slow)
    once.begin(1)
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(once(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [10] * 8
    assert made == [1]


def test_a_failure_is_told_and_not_remembered() -> None:
    failures = [ValueError("no room"), None]

    def sometimes() -> str:
        error = failures.pop(0)
        if error is not None:
            raise error
        return "done"

    once = Once(sometimes)
    with pytest.raises(ValueError, match="no room"):
        once()
    assert once() == "done"


def test_a_failure_beside_is_met_by_who_asks() -> None:
    once = Once(lambda: 1 // 0)
    once.begin()
    with pytest.raises(ZeroDivisionError):
        once()


def test_a_child_does_not_wait_for_the_parents_thread() -> None:
    go = threading.Event()

    def held(key: int) -> int:
        go.wait(10)
        return key

    once = Once(held)
    once.begin(3)
    child = os.fork()
    if child == 0:
        go.set()
        os._exit(0 if once(3) == 3 else 1)
    deadline = time.monotonic() + 5
    status = None
    while status is None and time.monotonic() < deadline:
        pid, code = os.waitpid(child, os.WNOHANG)
        status = code if pid else None
        time.sleep(0.01)
    go.set()
    if status is None:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert status == 0


ADD = """
  llvm.func internal @{name}(%x: i64) -> i64 {{
    %c = llvm.mlir.constant({number} : i64) : i64
    %r = llvm.add %x, %c : i64
    llvm.return %r : i64
  }}"""


def test_threads_compile_at_once() -> None:
    results: dict[int, int] = {}

    def work(number: int) -> None:
        text = ADD.format(name="f", number=number)
        native = compile_module([], {"f": text})
        function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(native.addresses["f"])
        results[number] = function(1)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: n + 1 for n in range(12)}


def test_what_mlir_refuses_is_in_the_error() -> None:
    text = "  llvm.func internal @f(%x: i64) -> i64 {\n    llvm.return %y : i64\n  }"
    with pytest.raises(CompileError, match="undeclared SSA value"):
        compile_module([], {"f": text})


def test_python_goes_on_while_llvm_works() -> None:
    """A counter advances in Python during a long compilation."""
    lines = "\n".join(f"    %r{i + 1} = llvm.mul %r{i}, %x : i64" for i in range(3000))
    head = "  llvm.func internal @f(%x: i64, %r0: i64) -> i64 {"
    text = "\n".join([head, lines, "    llvm.return %r3000 : i64", "  }"])
    ended = threading.Event()

    def work() -> None:
        compile_module([], {"f": text})
        ended.set()

    thread = threading.Thread(target=work)
    longest, last = 0.0, time.perf_counter()
    start = last
    thread.start()
    while not ended.is_set():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    thread.join()
    assert longest < 0.5 * (last - start), "nothing else ran while LLVM compiled"
