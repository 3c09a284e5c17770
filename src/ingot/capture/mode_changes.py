"""Tracing that keeps every change of the autograd and autocast state. Within `keeping_toggles`
torch.export leaves each change of state in the graph as the call that made it, in program order.
Its own passes, which turn some changes into regions and lose others, are disabled. inference_mode,
of which it records nothing, leaves a marker; `x.data` is a detach; control flow may write to
captured tensors. functionalize/ turns all of this into regions.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar
from unittest import mock

import torch
import torch._dynamo.variables.higher_order_ops as dynamo_operators
import torch._export.passes.replace_autocast_with_hop_pass as autocast_pass
import torch._export.passes.replace_set_grad_with_hop_pass as grad_pass
from torch.fx.experimental.proxy_tensor import PreDispatchTorchFunctionMode
from torch.overrides import _get_current_function_mode_stack

from ingot.capture.custom_gradients import seeing_functions
from ingot.capture.unseen import seeing_autograd
from ingot.exclusive import only_here, replaced

# The package hides these modules behind functions of the same names.
conds, maps, loops = (
    importlib.import_module(f"torch._higher_order_ops.{name}")
    for name in ("cond", "map", "while_loop")
)
_tokens = itertools.count()


@contextmanager
def keeping_toggles() -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, new in _FUNCTIONS:
            stack.enter_context(replaced(owner, name, new))
        for owner, name, run in _OPERATORS:
            below = _BelowAutograd(run, getattr(owner, name))
            stack.enter_context(mock.patch.object(owner, name, below))
        for operator in (conds.cond_op, maps.map_impl, loops.while_loop_op):
            allowed = mock.patch.object(operator, "_supports_training_input_mutation", True)
            stack.enter_context(allowed)
        stack.enter_context(_autocast_as_written(torch.is_autocast_cache_enabled()))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(seeing_autograd())
        stack.enter_context(seeing_functions())
        yield


@contextmanager
def _autocast_as_written(cached: bool) -> Iterator[None]:
    """PyTorch disables autocast's cache while it traces, and records that. A region keeps the
    user's setting, or the one in effect before."""
    start, enter = torch.autocast.__init__, torch.autocast.__enter__

    def noting_start(self: Any, *args: Any, **kwargs: Any) -> None:
        start(self, *args, **kwargs)
        given = (*args[3:4], kwargs.get("cache_enabled"))
        self._asked_cache = next((flag for flag in given if flag is not None), cached)

    def noting_enter(self: Any) -> Any:
        result = enter(self)  # type: ignore[no-untyped-call]
        for mode in _get_current_function_mode_stack():
            if isinstance(mode, PreDispatchTorchFunctionMode):
                node = mode.enter_autocast_nodes[-1]
                node.args = (*node.args[:3], getattr(self, "_asked_cache", cached))
        return result

    with (
        replaced(torch.autocast, "__init__", noting_start),
        replaced(torch.autocast, "__enter__", noting_enter),
    ):
        yield


def _unchanged(module: Any, signature: Any) -> tuple[Any, Any]:
    return module, signature


def _allowed(*_: Any, **__: Any) -> None:
    """Writes to and aliases of captured tensors are checked by functionalize."""


class _BelowAutograd:
    """Replaces the autograd function of a control-flow op while tracing, when autograd needs the
    types of the results only: its own computation of them refuses bodies that write."""

    def __init__(self, run: Callable[..., Any], usual: Any) -> None:
        self.run = run
        self.apply = only_here(self._below, usual.apply)

    def _below(self, *args: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return self.run(*args)


def _run_cond(chosen: Any, yes: Any, no: Any, *operands: Any) -> Any:
    return conds.cond_op(chosen, yes, no, operands)


def _run_map(body: Any, rows: int, *values: Any) -> Any:
    return maps.map_impl(body, values[:rows], values[rows:])


def _run_while_loop(goes_on: Any, body: Any, carried: int, fixed: int, *values: Any) -> Any:
    return loops.while_loop_op(goes_on, body, values[:carried], values[carried:])


class _InferenceMarks:
    """inference_mode while a program is traced: autograd records nothing, not even under an inner
    enable_grad, and the graph marks its start and end."""

    modes: ClassVar[list[bool]] = []
    """Of the open blocks, innermost last."""

    @staticmethod
    def enter(self: Any) -> None:
        self._token = next(_tokens)
        self._before = torch.is_grad_enabled()
        _mark("enter", self._token, self.mode)
        _set_grad_silently(not self.mode)
        _InferenceMarks.modes.append(self.mode)

    @staticmethod
    def leave(self: Any, *_: Any) -> None:
        _InferenceMarks.modes.pop()
        _mark("leave", self._token, self.mode)
        _set_grad_silently(self._before)


def _noted(mode: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    result = _note(mode, function, types, args, kwargs)
    if function is torch._C._set_grad_enabled and _InferenceMarks.modes[-1:] == [True]:
        _set_grad_silently(False)
    return result


_note = PreDispatchTorchFunctionMode.__torch_function__


def _mark(kind: str, token: int, enabled: bool) -> None:
    for mode in _get_current_function_mode_stack():
        if isinstance(mode, PreDispatchTorchFunctionMode):
            toggle: Callable[..., Any] = torch._C._set_grad_enabled
            node = mode.tracer.create_node("call_function", toggle, (not enabled,), {})
            node.meta["val"] = None
            node.meta["inference_mode"] = (kind, token, enabled)


def _set_grad_silently(enabled: bool) -> None:
    with torch._C.DisableTorchFunction():
        torch._C._set_grad_enabled(enabled)


_OPERATORS: tuple[tuple[Any, str, Any], ...] = (
    (conds, "CondAutogradOp", _run_cond),
    (maps, "MapAutogradOp", _run_map),
    (loops, "WhileLoopAutogradOp", _run_while_loop),
)
_FUNCTIONS: tuple[tuple[Any, str, Any], ...] = (
    (autocast_pass, "replace_autocast_with_hop_pass", _unchanged),
    (grad_pass, "replace_set_grad_with_hop_pass", _unchanged),
    (dynamo_operators, "check_aliasing_and_input_mutation", _allowed),
    (PreDispatchTorchFunctionMode, "__torch_function__", _noted),
    (torch.inference_mode, "__enter__", _InferenceMarks.enter),
    (torch.inference_mode, "__exit__", _InferenceMarks.leave),
)
