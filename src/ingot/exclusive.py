"""One capture at a time, and patches of PyTorch that only the capturing thread sees. PyTorch keeps
much of the state of tracing in the process (mode stacks, decomposition tables, flags), so whatever
traces takes one lock. It is Dynamo's own: torch.compile holds it while it calls the backend, and a
second lock would be taken in the other order by ingot.compile.
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
    """No other thread captures meanwhile; may be nested, and decorate a function."""
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
    """Within, the function `owner.name` is `new` for this thread. Others may run models meanwhile
    and must not meet the tracer's hooks."""
    usual = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
    if isinstance(usual, classmethod):
        made: Any = classmethod(only_here(new, usual.__func__))
    else:
        made = only_here(new, usual)
    with mock.patch.object(owner, name, made):
        yield


@contextmanager
def exporting_here() -> Iterator[None]:
    """Within, torch.export's flag holds for this thread: for others, torch.compile would return
    their function as it is."""
    import torch

    shown = only_here(torch.compiler.is_exporting, lambda: False)
    with mock.patch.object(torch.compiler, "is_exporting", shown):
        yield
