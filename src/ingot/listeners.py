"""Listeners for events. Without a listener an event costs nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Listeners(Generic[T]):
    """The listeners of one kind of event. Each receives the events of its own thread."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, Callable[[T], object]]] = []

    def tell(self, event: T) -> None:
        for thread, listener in list(self._entries):
            if thread == threading.get_ident():
                listener(event)

    def is_heard(self) -> bool:
        """Does anything listen to the events of this thread?"""
        return any(thread == threading.get_ident() for thread, _ in self._entries)

    @contextmanager
    def listening(self, listener: Callable[[T], object]) -> Iterator[None]:
        entry = (threading.get_ident(), listener)
        self._entries.append(entry)
        try:
            yield
        finally:
            self._entries.remove(entry)
