"""The thread state under which a program was made. Eager would compute something else under another
state, so each call compares."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.utils._device import DeviceContext

from ingot.codegen.support.launcher import thread_state
from ingot.codegen.support.thread_state import (
    AUTOCAST,
    DISPATCH_MODE,
    FUNCTION_MODE,
    OTHER_DTYPE,
    STRANGE,
    TRANSFORM,
)

CHANGES_MEANING = AUTOCAST | TRANSFORM | DISPATCH_MODE | FUNCTION_MODE | OTHER_DTYPE | STRANGE
"""Properties of the thread's state and of the tensors that a call checks; grad mode matters only if
something requires gradients."""
KEPT = AUTOCAST | OTHER_DTYPE
"""State that becomes part of a program during capture."""


@dataclass(frozen=True)
class CallState:
    bits: int
    """The bits of `codegen.thread_state` that are part of the program."""
    autocast: torch.dtype
    default: torch.dtype

    @staticmethod
    def now() -> CallState:
        return CallState(
            thread_state()() & KEPT, torch.get_autocast_dtype("cpu"), torch.get_default_dtype()
        )

    def same_dtypes(self) -> bool:
        """Are the default dtype and, under autocast, the autocast dtype those of the program?"""
        if self.bits & AUTOCAST and torch.get_autocast_dtype("cpu") is not self.autocast:
            return False
        return torch.get_default_dtype() is self.default

    def autocasting(self) -> torch.autocast:
        """The program's own autocast state, to run the model in."""
        return torch.autocast("cpu", enabled=bool(self.bits & AUTOCAST), dtype=self.autocast)

    @staticmethod
    def is_traced() -> bool:
        """Is a mode or transform active that must see each operation?"""
        return bool(thread_state()() & (TRANSFORM | DISPATCH_MODE))

    def difference(self) -> str | None:
        """The current state that makes eager compute something else, if any."""
        bits = thread_state()()
        if (bits ^ self.bits) & AUTOCAST:
            return "autocast is enabled" if bits & AUTOCAST else "autocast is not enabled"
        if not self.same_dtypes():
            return "the dtype of autocast or the default dtype is another"
        if bits & FUNCTION_MODE and not _only_cpu():
            return "a TorchFunctionMode is active"
        return None


def _only_cpu() -> bool:
    """Do the function modes only make the CPU the default device?"""
    stack = torch.overrides._get_current_function_mode_stack()
    return all(type(mode) is DeviceContext and mode.device.type == "cpu" for mode in stack)
