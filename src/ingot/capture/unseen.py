"""Effects on tensors that no op shows, which the tracer would run and forget. `x.data` becomes a
detach and `torch.autograd.grad` a region; everything else raises, because the program would
silently differ. Active only while a program is traced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._ops import _get_dispatch_mode_pre_dispatch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, track_tensor_tree
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from ingot.errors import CaptureError
from ingot.exclusive import replaced
from ingot.program.custom_gradient import is_tracing

UNTOLD = "autograd is not told of writes"
"""Marks the detach node of `x.data`."""
_REFUSED: dict[Any, tuple[str, str]] = {
    Tensor.data.__set__: (  # type: ignore[attr-defined]
        "the memory of a tensor is exchanged, which has no functional form",
        "write into it: with torch.no_grad(): p.copy_(t)",
    ),
    Tensor.register_hook: (
        "a hook on a tensor changes gradients outside of the graph",
        "put the hook on an input or output tensor",
    ),
    Tensor.retain_grad: (
        "retain_grad leaves a gradient behind outside of the graph",
        "return the tensor and call retain_grad on the result",
    ),
    **{
        setter: (
            "a tensor is made to require grad inside of the program",
            "do it before the call, and pass the tensor as an argument",
        )
        for setter in (Tensor.requires_grad_, Tensor.requires_grad.__set__)  # type: ignore[attr-defined]
    },
}


class UnseenCalls(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func == Tensor.data.__get__ and is_tracing():  # type: ignore[attr-defined]
            return _data(args[0])
        if func in _REFUSED and is_tracing():
            why, hint = _REFUSED[func]
            raise CaptureError(why, hints=[hint])
        return func(*args, **kwargs)


def _data(tensor: Tensor) -> Tensor:
    """A detach whose writes are hidden from autograd."""
    mode: Any = _get_dispatch_mode_pre_dispatch(torch._C._TorchDispatchModeKey.PROXY)
    if not isinstance(tensor, FakeTensor):
        return tensor.detach()
    given = mode.tracer.unwrap_proxy(tensor)
    proxy = mode.tracer.create_proxy("call_function", torch.ops.aten.detach.default, (given,), {})
    proxy.node.meta[UNTOLD] = True
    with disable_proxy_modes_tracing():  # the fake's storage size has no proxy
        plain = tensor.data
    return track_tensor_tree(plain, proxy, constant=None, tracer=mode.tracer)


class _DataIsDetached(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func == Tensor.data.__get__:  # type: ignore[attr-defined]
            return args[0].detach()
        if func == Tensor.data.__set__ and isinstance(args[0], FakeTensor):  # type: ignore[attr-defined]
            why, hint = _REFUSED[func]
            raise CaptureError(why, hints=[hint])
        return func(*args, **(kwargs or {}))


def data_is_detached() -> AbstractContextManager[Any]:
    """For levels below autograd, where it does not matter which writes autograd sees: the tracer
    records a detach, but not the attribute `data`."""
    told_apart = any(isinstance(m, UnseenCalls) for m in _get_current_function_mode_stack())
    return nullcontext() if told_apart else _DataIsDetached()


@contextmanager
def seeing_autograd() -> Iterator[None]:
    """Intercept calls of autograd itself."""
    gradients, backward = torch.autograd.grad, torch.autograd.backward

    def in_region(*args: Any, **kwargs: Any) -> Any:
        """Autograd records its own work only if create_graph asks for it."""
        if not is_tracing() or kwargs.get("create_graph"):
            return gradients(*args, **kwargs)
        with torch.no_grad():
            return gradients(*args, **kwargs)

    def refused(*args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            raise CaptureError(
                "backward leaves gradients behind outside of the graph",
                hints=["use torch.autograd.grad, which returns them"],
            )
        return backward(*args, **kwargs)

    with (
        replaced(torch.autograd, "grad", in_region),
        replaced(torch.autograd, "backward", refused),
        UnseenCalls(),
    ):
        yield
