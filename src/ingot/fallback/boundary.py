"""The stage boundary: the only place that catches failures of the compiler itself. It decides
whether PyTorch may run the program in place of the failed part, warns once per kind of failure,
with a reproducer, and notifies the listeners of events.py every time.

Not caught: errors that eager would raise as well or that the user has to fix (options, dispatch,
capture, arguments), running out of memory, interrupts, and Dynamo's control-flow exceptions.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch

from ingot.errors import (
    BoundsError,
    CaptureError,
    DispatchError,
    FallbackWarning,
    InputError,
    MismatchError,
    OptionError,
    PlanError,
)
from ingot.fallback import events
from ingot.fallback.reproducer import CapturedGraph, write_reproducer
from ingot.options import Options

T = TypeVar("T")
NOT_OURS = (OptionError, DispatchError, CaptureError, InputError, MismatchError, BoundsError)
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
_log = logging.getLogger("ingot")
_announced: dict[tuple[str, ...], str] = {}
"""The reproducer of each kind of failure."""
_lock = threading.Lock()


def may_fall_back(error: BaseException) -> bool:
    if not isinstance(error, Exception) or isinstance(error, (*NOT_OURS, MemoryError, Warning)):
        return False
    if isinstance(error, torch.OutOfMemoryError):
        return False
    if isinstance(error, RuntimeError) and any(text in str(error) for text in OUT_OF_MEMORY):
        return False
    dynamo = sys.modules.get("torch._dynamo.exc")
    return dynamo is None or not isinstance(error, dynamo.TorchDynamoException)


@contextmanager
def blaming(stage: str = "", step: object = None) -> Iterator[None]:
    """Attach the innermost stage and step to a failure inside."""
    try:
        yield
    except Exception as error:
        if stage:
            error.__dict__.setdefault("ingot_stage", stage)
        if step is not None:
            error.__dict__.setdefault("ingot_step", step)
        raise


def blamed_step(error: BaseException) -> Any:
    return error.__dict__.get("ingot_step")


class Boundary:
    """The boundary of one compilation."""

    def __init__(self, source: CapturedGraph, options: Options):
        self.source = source
        self.options = options
        self.remedies = 0
        """The number of failures that were announced."""

    def attempt(self, stage: str, run: Callable[[], T], otherwise: Callable[[Exception], T]) -> T:
        """The result of `run`; if it fails and may fall back, that of `otherwise`, which has to
        announce what it did about the failure (`fell_back`)."""
        try:
            with blaming(stage):
                return run()
        except Exception as error:
            if not self.catches(error):
                self._leave_files(error)
                raise
            failure = error
        return otherwise(failure)

    def catches(self, error: BaseException) -> bool:
        return not self.options.strict and may_fall_back(error)

    def fell_back(self, scope: str, error: Exception) -> str:
        """Announce the remedy for a failure; returns the reason, in one line."""
        self.remedies += 1
        stage = str(error.__dict__.get("ingot_stage", "the compiler"))
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        kind = (type(error).__name__, *_origin(error))
        with _lock:
            known = _announced.get(kind)
            if known is None:
                path, trouble = self._reproducer(stage, error)
                _announced[kind] = path
        if known is None:
            told = ". ".join(_told(error, path, trouble))
            warnings.warn(
                f"ingot failed in {stage} ({reason[:500]}); {scope}. "
                f'options={{"strict": True}} raises the error. {told}',
                FallbackWarning,
                stacklevel=2,
            )
        _log.debug("%s, because %s failed", scope, stage, exc_info=error)
        events.fell_back(events.Fallback(stage, scope, reason, known or _announced[kind]))
        return reason

    def _leave_files(self, error: Exception) -> None:
        """Write the reproducer of an internal error that is raised, once, and name its files."""
        if isinstance(error, PlanError) and "ingot_stage" in error.__dict__ and not error.hints:
            error.add_hints(*_told(error, *self._reproducer(error.__dict__["ingot_stage"], error)))

    def _reproducer(self, stage: str, error: Exception) -> tuple[str, str]:
        """Its path, or why there is none."""
        try:
            return str(write_reproducer(self.source, self.options, stage, error)), ""
        except Exception as trouble:  # a read-only disk, a graph without a text
            return "", f"{type(trouble).__name__}: {trouble}"


def _told(error: Exception, path: str, trouble: str) -> Iterator[str]:
    """Names the files that a failure left: the stages as text, then the command that repeats it."""
    if not path:
        yield f"No reproducer: {trouble}"
        return
    for name in error.__dict__.get("ingot_files", {}):
        yield f"{name}: {Path(path).with_name(name)}"
    yield f"Reproducer: python {path}"


def _origin(error: BaseException) -> tuple[str, ...]:
    """The innermost line of ingot's own code."""
    root = str(Path(__file__).parent.parent)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(root)]
    return (f"{frames[-1].filename}:{frames[-1].lineno}",) if frames else ()


def forget_announcements() -> None:
    """Warn again of every kind of failure."""
    with _lock:
        _announced.clear()
