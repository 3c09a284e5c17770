"""Support for fork in a process that compiles. The child has one thread: a lock held by another
thread of the parent would never be released, and LLVM or PyTorch's tracer would be left in the
middle of their work. So fork waits for running captures and native compilations, for a few seconds
at most, and locks made here are free in the child.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakSet

PATIENCE = 5.0
"""Seconds that fork waits for other threads."""
_locks: WeakSet[threading.Lock] = WeakSet()
_before_fork: list[Callable[[], object]] = []


def before_fork(function: Callable[[], object]) -> Callable[[], object]:
    """Call the function before each fork, in the thread that forks."""
    _before_fork.append(function)
    return function


def fork_safe_lock() -> threading.Lock:
    """A lock for short critical sections whose data is consistent at every step."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


class _Busy:
    """Threads inside a native compiler."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.threads: list[int] = []

    def wait_for_others(self) -> None:
        me = threading.get_ident()
        with self.changed:
            self.changed.wait_for(lambda: not set(self.threads) - {me}, PATIENCE)


_busy = _Busy()


@contextmanager
def compiling() -> Iterator[None]:
    """Within, this thread runs native code that a fork must not interrupt."""
    me, busy = threading.get_ident(), _busy
    with busy.changed:
        busy.threads.append(me)
    try:
        yield
    finally:
        with busy.changed:
            busy.threads.remove(me)
            busy.changed.notify_all()


class _Capture:
    """Dynamo's lock, and whether fork holds it."""

    held = False

    @staticmethod
    def lock() -> threading.RLock | None:
        convert_frame = sys.modules.get("torch._dynamo.convert_frame")
        return getattr(convert_frame, "compile_lock", None)


def _before() -> None:
    lock = _Capture.lock()
    _Capture.held = lock is not None and lock.acquire(timeout=PATIENCE)
    _busy.wait_for_others()
    for function in _before_fork:
        function()


def _after_in_parent() -> None:
    lock = _Capture.lock()
    if _Capture.held and lock is not None:
        _Capture.held = False
        lock.release()


def _after_in_child() -> None:
    global _busy
    _busy = _Busy()
    for each in _locks:
        each._at_fork_reinit()  # type: ignore[attr-defined]
    lock = _Capture.lock()
    if lock is not None and not _Capture.held:
        lock._at_fork_reinit()  # type: ignore[attr-defined]
    _after_in_parent()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
