"""Compiling makes many objects that live, next to PyTorch's hundreds of thousands; the garbage
collector then spends more time looking through them than the compiler takes. While PyTorch traces
for us, from Dynamo's first step on, what was there before is set aside; while ingot itself
compiles, the collector is off. What holds: afterwards it is as it was.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def without_collection(function: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            if enabled:
                gc.enable()

    return wrapped


class Aside:
    """Objects made before `begin` are not looked through until `end`; pairs of them may be nested.
    A user who set some aside already is left alone."""

    def __init__(self) -> None:
        self._depth = 0

    def begin(self, *_: object) -> None:
        if self._depth or not gc.get_freeze_count():
            self._depth += 1
            gc.freeze()

    def end(self, *_: object) -> None:
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
