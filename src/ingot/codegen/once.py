"""Results that are made once a process, whoever asks: the caller who needs one, or a thread that
began earlier because it will be needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class Once(Generic[T]):
    """A function that remembers. Who asks for a result that is being made waits for it; a failure
    is not remembered."""

    def __init__(self, function: Callable[..., T]):
        self.function = function
        self.results: dict[tuple[Hashable, ...], Future[T]] = {}
        self.lock = threading.Lock()
        _all.add(self)

    def __call__(self, *args: Hashable) -> T:
        with self.lock:
            mine = args not in self.results
            result = self.results.setdefault(args, Future())
        if mine:
            self._make(args, result)
        return result.result()

    def begin(self, *args: Hashable) -> None:
        """Make it beside what the caller does next."""
        with self.lock:
            if args in self.results:
                return
            result = self.results[args] = Future()
        # Not a daemon: the process must not end inside LLVM.
        threading.Thread(target=self._make, args=(args, result)).start()

    def _make(self, args: tuple[Hashable, ...], result: Future[T]) -> None:
        try:
            result.set_result(self.function(*args))
        except BaseException as error:
            with self.lock:
                del self.results[args]
            result.set_exception(error)

    def forget_unfinished(self) -> None:
        self.lock = threading.Lock()
        self.results = {key: result for key, result in self.results.items() if result.done()}


_all: WeakSet[Once[Any]] = WeakSet()


def _after_fork() -> None:
    """The threads of the parent are not in the child."""
    for once in _all:
        once.forget_unfinished()


os.register_at_fork(after_in_child=_after_fork)
