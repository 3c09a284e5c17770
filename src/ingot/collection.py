"""Keep Python's garbage collector out of compilation. Compiling allocates many live objects next to
PyTorch's hundreds of thousands, and traversing them takes longer than the compiler itself. While
PyTorch traces for ingot, from Dynamo's first step on, existing objects are frozen (`gc.freeze`);
while ingot itself compiles, the collector is off. Its previous state is restored afterwards.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ingot.forks import fork_safe_lock

P = ParamSpec("P")
T = TypeVar("T")


class Off:
    """Disables the collector from the first `begin` to the last `end` in any thread, then restores
    its state."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._threads: list[int] = []
        """The thread of each `begin` without its `end`."""
        self._was_on = False

    def begin(self) -> None:
        with self._lock:
            if not self._threads:
                self._was_on = gc.isenabled()
                gc.disable()
            self._threads.append(threading.get_ident())

    def end(self) -> None:
        with self._lock:
            self._threads.remove(threading.get_ident())
            self._restore()

    def forget_others(self) -> None:
        """Other threads do not exist in the child of a fork."""
        if self._threads:
            self._threads = [each for each in self._threads if each == threading.get_ident()]
            self._restore()

    def _restore(self) -> None:
        if not self._threads and self._was_on:
            gc.enable()


_off = Off()
os.register_at_fork(after_in_child=_off.forget_others)


def without_collection(function: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        _off.begin()
        try:
            return function(*args, **kwargs)
        finally:
            _off.end()

    return wrapped


class Aside:
    """Excludes objects made before `begin` from collection until `end`. Pairs may be nested. Does
    nothing if the user has frozen objects."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._depth = 0

    def begin(self, *_: object) -> None:
        with self._lock:
            if self._depth or not gc.get_freeze_count():
                self._depth += 1
                gc.freeze()

    def end(self, *_: object) -> None:
        with self._lock:
            if self._depth:
                self._depth -= 1
                if not self._depth:
                    gc.unfreeze()


_aside = Aside()


def with_the_rest_aside(function: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        _aside.begin()
        try:
            return function(*args, **kwargs)
        finally:
            _aside.end()

    return wrapped


def set_aside_while_compiling() -> None:
    """Freeze existing objects whenever Dynamo compiles, until Dynamo is reset."""
    from torch._dynamo.callback import callback_handler

    callback_handler.register_start_callback(_aside.begin)
    callback_handler.register_end_callback(_aside.end)
