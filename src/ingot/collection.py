"""Compiling makes many objects that live, next to PyTorch's hundreds of thousands; the garbage
collector then spends more time looking through them than the compiler takes. While PyTorch traces
for us, from Dynamo's first step on, what was there before is set aside; while ingot itself
compiles, the collector is off. What holds: afterwards it is as it was.
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
    """The collector, off from the first `begin` to the last `end`, in whatever threads; then as it
    was."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._threads: list[int] = []
        """Who began, once for each time."""
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
        """In the child of a fork the other threads are gone."""
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
    """Objects made before `begin` are not looked through until `end`; pairs of them may be nested.
    A user who set some aside already is left alone."""

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
    """Whenever Dynamo compiles, until it is reset."""
    from torch._dynamo.callback import callback_handler

    callback_handler.register_start_callback(_aside.begin)
    callback_handler.register_end_callback(_aside.end)
