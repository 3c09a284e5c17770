"""Compiling makes many objects that live, next to PyTorch's hundreds of thousands; the garbage
collector then spends more time looking through them than the compiler takes. While PyTorch traces
for us, what was there before is set aside; while ingot itself compiles, the collector is off. What
holds: afterwards it is as it was.
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


def with_the_rest_aside(function: Callable[P, T]) -> Callable[P, T]:
    """Objects made before the call are not looked through; a user who set some aside already is
    left alone."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        if gc.get_freeze_count():
            return function(*args, **kwargs)
        gc.freeze()
        try:
            return function(*args, **kwargs)
        finally:
            gc.unfreeze()

    return wrapped
