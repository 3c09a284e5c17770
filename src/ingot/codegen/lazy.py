"""Memoised functions whose results can be computed ahead of time on another thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class Once(Generic[T]):
    """A memoised function. A caller waits for a result in progress and computes a queued one
    itself. Failures are not cached."""

    def __init__(self, function: Callable[..., T]):
        self.function = function
        self.results: dict[tuple[Hashable, ...], Future[T]] = {}
        self.in_line: set[tuple[Hashable, ...]] = set()
        self.lock = threading.Lock()
        _all.add(self)

    def __call__(self, *args: Hashable) -> T:
        with self.lock:
            mine = args not in self.results or args in self.in_line
            self.in_line.discard(args)
            result = self.results.setdefault(args, Future())
        if mine:
            self._make(args, result)
        return result.result()

    def begin(self, *args: Hashable) -> None:
        """Computes a result on another thread, after those begun earlier, so that the caller keeps
        a core."""
        with self.lock:
            if args in self.results:
                return
            self.results[args] = Future()
            self.in_line.add(args)
        # Not a daemon: the process must not end inside LLVM.
        threading.Thread(target=self._make_in_turn, args=(args,)).start()

    def _make_in_turn(self, args: tuple[Hashable, ...]) -> None:
        with _turn:
            with self.lock:
                if args not in self.in_line:
                    return
                self.in_line.remove(args)
                result = self.results[args]
            self._make(args, result)

    def _make(self, args: tuple[Hashable, ...], result: Future[T]) -> None:
        try:
            result.set_result(self.function(*args))
        except BaseException as error:
            with self.lock:
                del self.results[args]
            result.set_exception(error)

    def forget_unfinished(self) -> None:
        self.lock = threading.Lock()
        self.in_line = set()
        self.results = {key: result for key, result in self.results.items() if result.done()}


_all: WeakSet[Once[Any]] = WeakSet()
_turn = threading.Lock()


def _after_fork() -> None:
    """The parent's threads do not exist in the child."""
    global _turn
    _turn = threading.Lock()
    for once in _all:
        once.forget_unfinished()


os.register_at_fork(after_in_child=_after_fork)
