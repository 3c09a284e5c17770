"""User-defined autograd functions. A traced call of `F.apply` becomes the ops of the forward under
no_grad, as eager runs them, and one `custom_gradient` with the graph of the backward. The backward
is traced once, for gradients of all inputs, and reads everything it needs from its context.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.utils import reenter_make_fx, unique_graph_id
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, track_tensor_tree
from torch.utils import _pytree as pytree

from ingot.errors import CaptureError
from ingot.exclusive import replaced
from ingot.program.custom_gradient import custom_gradient, is_tracing

_OWN = ("torch._", "ingot.")
"""Modules whose autograd functions belong to tracing; users' are defined elsewhere."""
_OF_DYNAMO = "AutogradFunctionApply"
"""The name that strict tracing gives to a user's function."""


class GradientContext:
    """Replaces the context that autograd passes to forward and backward."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.constant: set[int] = set()
        """The ids of results without a gradient."""

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """For forward-mode gradients, which are not traced."""

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self.constant = {id(tensor) for tensor in tensors}

    def mark_dirty(self, *tensors: Tensor) -> None:
        raise CaptureError("an autograd function writes to its input")

    def set_materialize_grads(self, value: bool) -> None:
        """Missing gradients are zeros here, which is equivalent."""

    def tensors(self) -> list[Tensor]:
        """All tensors that are kept for the backward."""
        leaves = pytree.tree_leaves(list(vars(self).values()))
        return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

    def holding(self, tensors: Sequence[Tensor]) -> GradientContext:
        """A copy of the context with `tensors` in place of its own."""
        made, new = copy.copy(self), iter(tensors)
        for name, value in vars(self).items():
            setattr(made, name, pytree.tree_map_only(Tensor, lambda _: next(new), value))
        return made


class Backward:
    """The backward as a function of the saved tensors and the gradients of the results."""

    def __init__(
        self, function: Any, context: GradientContext, outs: Sequence[Any], inputs: Any
    ) -> None:
        self.function, self.context = function, context
        self.outs, self.inputs = outs, inputs
        self.places: list[int] = []

    def __call__(self, *given: Tensor) -> tuple[Tensor, ...]:
        count = len(self.context.tensors())
        context, grads = self.context.holding(given[:count]), iter(given[count:])
        full = [
            next(grads) if has_gradient(out, self.context) else _zeros(out) for out in self.outs
        ]
        found = self.function.backward(context, *full)
        found = found if isinstance(found, tuple | list) else (found,)
        kept = [grad for grad, given in zip(found, self.inputs) if isinstance(given, Tensor)]
        numbers = iter(range(len(kept)))
        self.places = [next(numbers) if grad is not None else -1 for grad in kept]
        return tuple(grad for grad in kept if grad is not None)


def _zeros(out: Any) -> Any:
    return torch.zeros_like(out) if isinstance(out, Tensor) else None


def has_gradient(out: Any, context: GradientContext) -> bool:
    return isinstance(out, Tensor) and out.is_floating_point() and id(out) not in context.constant


def traced_apply(function: Any, *args: Any) -> Any:
    context = GradientContext(tuple(isinstance(arg, Tensor) for arg in args))
    with torch.no_grad():
        if function.setup_context is torch.autograd.function._SingleLevelFunction.setup_context:
            result = function.forward(context, *args)
        else:
            result = function.forward(*args)
            function.setup_context(context, args, result)
    if not torch.is_grad_enabled():
        return result
    outs = list(result) if isinstance(result, tuple | list) else [result]
    places = [i for i, out in enumerate(outs) if has_gradient(out, context)]
    backward = Backward(function, context, outs, args)
    inputs = [arg for arg in args if isinstance(arg, Tensor)]
    chosen = [outs[i] for i in places]
    for i, made in zip(places, custom_gradient(backward, [], inputs, chosen, context.tensors())):
        outs[i] = made
    return tuple(outs) if isinstance(result, tuple | list) else outs[0]


@custom_gradient.py_impl(ProxyTorchDispatchMode)
def _record(
    mode: Any, backward: Backward, _: Any, inputs: Any, outs: Any, saved: Any, captured: Any
) -> Any:
    examples = [tensor.detach() for tensor in (*saved, *outs)]
    enabled = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        graph: GraphModule = reenter_make_fx(backward)(*examples)
    finally:
        torch._C._set_grad_enabled(enabled)
    _, name = unique_graph_id(mode, prefix="backward")
    mode.tracer.root.register_module(name, graph)
    given: Any = (graph, backward.places, list(inputs), list(outs), list(saved), [])
    proxies = pytree.tree_map(mode.tracer.unwrap_proxy, given)
    call = mode.tracer.create_proxy("call_function", custom_gradient, proxies, {})
    results = [out.detach() for out in outs]
    return track_tensor_tree(results, call, constant=None, tracer=mode.tracer)


@contextmanager
def seeing_functions() -> Iterator[None]:
    plain = torch.autograd.Function.__dict__["apply"].__func__

    def apply(function: Any, *args: Any, **kwargs: Any) -> Any:
        own = function.__module__.startswith(_OWN) and _OF_DYNAMO not in function.__qualname__
        if own or not is_tracing():
            return plain(function, *args, **kwargs)
        if kwargs:
            raise CaptureError("an autograd function is called with keyword arguments")
        return traced_apply(function, *args)

    with replaced(torch.autograd.Function, "apply", apply):
        yield
