"""Memoised functions whose results can be computed ahead of time on another thread. Results are
machine code or depend on it, so each machine that code is generated for has its own, and modules
are recorded as used.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from ingot.codegen.jit.jit import keep_named, named_module
from ingot.codegen.jit.native import Native, used
from ingot.machine import this_machine

T = TypeVar("T")
Key = tuple[Hashable, ...]
"""The machine, then the arguments."""


class Once(Generic[T]):
    """A memoised function. A caller waits for a result in progress and computes a queued one
    itself. Failures are not cached."""

    def __init__(self, function: Callable[..., T]):
        self.function = function
        self.results: dict[Key, Future[T]] = {}
        self.in_line: set[Key] = set()
        self.lock = threading.Lock()
        _all.add(self)

    def __call__(self, *args: Hashable) -> T:
        key = (this_machine(), *args)
        with self.lock:
            mine = key not in self.results or key in self.in_line
            self.in_line.discard(key)
            result = self.results.setdefault(key, Future())
        if mine:
            self._make(key, result)
        found = result.result()
        if isinstance(found, Native):
            used(found)
        return found

    def begin(self, *args: Hashable) -> None:
        """Computes a result on another thread, after those begun earlier, so that the caller keeps
        a core."""
        key = (this_machine(), *args)
        with self.lock:
            if key in self.results:
                return
            self.results[key] = Future()
            self.in_line.add(key)
        run = contextvars.copy_context().run  # carries the machine to the thread
        # Not a daemon: the process must not end inside LLVM.
        threading.Thread(target=run, args=(self._make_in_turn, key)).start()

    def _make_in_turn(self, key: Key) -> None:
        with _turn:
            with self.lock:
                if key not in self.in_line:
                    return
                self.in_line.remove(key)
                result = self.results[key]
            self._make(key, result)

    def _make(self, key: Key, result: Future[T]) -> None:
        try:
            result.set_result(self.function(*key[1:]))
        except BaseException as error:
            with self.lock:
                del self.results[key]
            result.set_exception(error)

    def forget_unfinished(self) -> None:
        self.lock = threading.Lock()
        self.in_line = set()
        self.results = {key: result for key, result in self.results.items() if result.done()}


class OnceStored(Once[Native]):
    """Of a function whose module follows from its arguments and the machine alone: a module of an
    earlier process is found without writing its text."""

    def __init__(self, function: Callable[..., Native]):
        super().__init__(self._found_or_made)
        self.made = function

    def _found_or_made(self, *args: Hashable) -> Native:
        name = f"{self.made.__module__}.{self.made.__qualname__}{args!r}"
        known = named_module(name)
        if known is None:
            known = self.made(*args)
            keep_named(name, known)
        return known


_all: WeakSet[Once[Any]] = WeakSet()
_turn = threading.Lock()


def _after_fork() -> None:
    """The parent's threads do not exist in the child."""
    global _turn
    _turn = threading.Lock()
    for once in _all:
        once.forget_unfinished()


os.register_at_fork(after_in_child=_after_fork)
