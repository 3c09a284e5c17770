"""The autograd and autocast states of a program, from the toggles its tracer left: `set_grad`,
`enter` and `leave`, in program order and not always well nested. The result is a stack of frames,
each the state of one region. A frame always changes something. The states are in effect while their
frames are on the stack, so that ops that run in between run under them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled

from ingot.capture.functionalize.scopes import ModeFrame
from ingot.program.mode_regions import inference_mode, region_kinds


class States:
    def __init__(self) -> None:
        self.frames: list[ModeFrame] = []
        self.entered: dict[Any, ModeFrame | None] = {}
        """By the token of the call that entered it; None for a state that changed nothing."""
        self.notes: list[str] = []
        self.folded_outside: set[Any] = set()
        """Kinds of region that were folded away because of the state outside of the program."""

    def grad_enabled(self) -> bool:
        """Whether autograd records ops here."""
        return torch.is_grad_enabled() and not self.inference()

    def inference(self) -> bool:
        modes = [f.state[0] for f in self.frames if f.op is inference_mode]
        return bool(modes and modes[-1])

    def casts(self) -> bool:
        """Whether the program itself sets autocast here."""
        return any(frame.op is wrap_with_autocast for frame in self.frames)

    def set_grad(self, enabled: bool) -> None:
        if torch.is_grad_enabled() == enabled:
            self._fold(wrap_with_set_grad_enabled, (enabled,))
            return
        if self.frames and self.frames[-1].op is wrap_with_set_grad_enabled:
            self.pop()
            if torch.is_grad_enabled() == enabled:
                return
        self._push(grad_frame(enabled))

    def enter(self, token: Any, frame: ModeFrame) -> None:
        if self._changes(frame):
            self._push(frame)
            self.entered[token] = frame
        else:
            self._fold(frame.op, frame.state)
            self.entered[token] = None

    def leave(self, token: Any) -> None:
        """Leave a frame that may lie below others, which stay."""
        frame = self.entered.pop(token)
        if frame is None:
            return
        if frame not in self.frames:  # an outer one was left before it
            return
        above = []
        while self.frames[-1] is not frame:
            above.append(self.pop())
        self.pop()
        for kept in reversed(above):
            if kept.op is wrap_with_set_grad_enabled:
                if torch.is_grad_enabled() != kept.state[0]:
                    self._push(grad_frame(kept.state[0]))
                continue
            fresh = frame_for(kept.op, kept.state)
            self._push(fresh)
            for name, known in self.entered.items():
                if known is kept:
                    self.entered[name] = fresh

    def close(self) -> None:
        while self.frames:
            self.pop()

    def _push(self, frame: ModeFrame) -> None:
        frame.context.__enter__()
        self.frames.append(frame)

    def pop(self) -> ModeFrame:
        frame = self.frames.pop()
        frame.context.__exit__(None, None, None)
        return frame

    def _changes(self, frame: ModeFrame) -> bool:
        if frame.op is wrap_with_set_grad_enabled:
            return bool(frame.state[0] != torch.is_grad_enabled())
        if frame.op is inference_mode:
            return bool(frame.state[0] != self.inference())
        device, dtype, enabled, cache = frame.state
        now = torch.is_autocast_enabled(device)
        if not enabled:
            return now
        known = torch.get_autocast_dtype(device), torch.is_autocast_cache_enabled()
        return not now or (dtype, cache) != known

    def _fold(self, op: Any, state: tuple[Any, ...]) -> None:
        if not any(frame.op is op for frame in self.frames):
            self.folded_outside.add(op)
        words = region_kinds[op].words(*state)
        self.notes.append(f"{words}: folded away, the state was the same already")


def grad_frame(enabled: bool) -> ModeFrame:
    return frame_for(wrap_with_set_grad_enabled, (enabled,))


def frame_for(op: Any, state: tuple[Any, ...]) -> ModeFrame:
    return ModeFrame(op, state, _CONTEXTS[op](*state))


class _Grad:
    """A set_grad_enabled that takes effect on __enter__."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(torch.is_grad_enabled())
        torch._C._set_grad_enabled(self.enabled)

    def __exit__(self, *_: Any) -> None:
        torch._C._set_grad_enabled(self.before.pop())


_CONTEXTS: dict[Any, Any] = {
    wrap_with_set_grad_enabled: _Grad,
    wrap_with_autocast: torch.autocast,
    # Fake tensors ignore inference mode; nothing is recorded under it, as under no_grad.
    inference_mode: lambda enabled: _Grad(not enabled),
}


def autocast_state(
    device: str, dtype: torch.dtype | None, enabled: bool, cache: bool | None
) -> tuple[Any, ...]:
    """The state of an autocast region with all defaults filled in."""
    dtype = torch.get_autocast_dtype(device) if dtype is None else dtype
    cache = torch.is_autocast_cache_enabled() if cache is None else cache
    return device, dtype, enabled, cache
