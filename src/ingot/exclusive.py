"""Serialise captures, and patch PyTorch for the capturing thread only. PyTorch keeps much of its
tracing state in globals (mode stacks, decomposition tables, flags), so everything that traces takes
one lock. It is Dynamo's own: torch.compile holds it while it calls the backend, and ingot.compile
would acquire a second lock in the opposite order.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock


@contextmanager
def exclusively() -> Iterator[None]:
    """No other thread captures within. Reentrant; also usable as a decorator."""
    from torch._dynamo.convert_frame import compile_lock

    with compile_lock:
        yield


def is_here(thread: int) -> bool:
    return threading.get_ident() == thread


def only_here(new: Callable[..., Any], usual: Callable[..., Any]) -> Callable[..., Any]:
    """`new` in this thread, `usual` in all others."""
    thread = threading.get_ident()

    @functools.wraps(usual)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        return (new if is_here(thread) else usual)(*args, **kwargs)

    return chosen


@contextmanager
def replaced(owner: Any, name: str, new: Callable[..., Any]) -> Iterator[None]:
    """Replace the function `owner.name` by `new` for this thread. Other threads may run models
    meanwhile and must not see the tracer's hooks."""
    usual = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
    if isinstance(usual, classmethod):
        made: Any = classmethod(only_here(new, usual.__func__))
    else:
        made = only_here(new, usual)
    with mock.patch.object(owner, name, made):
        yield


@contextmanager
def exporting_here() -> Iterator[None]:
    """Set torch.export's flag for this thread only: in other threads, torch.compile would return
    functions uncompiled."""
    import torch

    shown = only_here(torch.compiler.is_exporting, lambda: False)
    with mock.patch.object(torch.compiler, "is_exporting", shown):
        yield
