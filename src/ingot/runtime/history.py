"""Gradients of a call: the result is computed natively and given a history whose backward reruns
the model in eager and differentiates that. The program must only compute its results: no writes, no
random ops, no results in the memory of inputs, no control flow. Eager determines which results
require gradients; it is asked once for each combination of inputs that require some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.fx import Node
from torch.utils import _pytree as pytree

from ingot.program.call import call_spec
from ingot.program.graph import memory_root, output_values, placeholders
from ingot.program.program import Fixed, Program
from ingot.runtime.call_state import CallState

Run = Callable[[list[Any]], Sequence[Any]]


def why_no_history(program: Program) -> str | None:
    """The effect of the program besides computing its results; None if a rerun suffices to
    differentiate it."""
    outputs = program.signature.outputs
    if any(spec.kind == "mutation" for spec in outputs):
        return "it writes to inputs or buffers"
    for node in program.graph.nodes:
        target = node.target
        if node.op != "call_function" or target is torch.ops.aten._assert_scalar.default:
            continue
        if isinstance(target, torch._ops.HigherOrderOperator):
            return "it has control flow"
        if not isinstance(target, torch._ops.OpOverload):
            continue
        if torch.Tag.nondeterministic_seeded in target.tags:
            return "it draws random numbers"
        if target._schema.is_mutable:
            return "it writes to memory"
    roots = [memory_root(v) for v in output_values(program.graph) if isinstance(v, Node)]
    inputs = set(placeholders(program.graph))
    shares = len(set(roots)) < len(roots) or any(root in inputs for root in roots)
    if shares or any(spec.alias_of is not None for spec in outputs):
        return "results share memory with inputs or with each other"
    return None


class History:
    """Histories for the calls of one program."""

    def __init__(self, program: Program, model: Callable[..., Any], run: Run, state: CallState):
        self.program = program
        self.state = state
        self.model = model
        self.run = run
        self._known: dict[tuple[bool, ...], tuple[bool, ...]] = {}

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], values: list[Any]) -> list[Any]:
        """The flat results, each with a history if eager's has one."""
        pattern = tuple(isinstance(v, Tensor) and v.requires_grad for v in values)
        tracked = self._known.get(pattern)
        if tracked is None:
            tracked = self._known[pattern] = self._ask_eager(args, kwargs)
        if not any(tracked):
            with torch.no_grad():
                return list(self.run(list(values)))
        tensors = [value for value in values if isinstance(value, Tensor)]
        call = _Call(self, args, kwargs, values, tracked)
        return list(_Recompute.apply(call, *tensors))  # type: ignore[no-untyped-call]

    def _ask_eager(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[bool, ...]:
        """Asks eager which results require gradients. Nothing is saved for a backward."""
        nothing = torch.empty(0)
        with saved_tensors_hooks(lambda _: None, lambda _: nothing):
            results = pytree.tree_leaves(self.model(*args, **kwargs))
        return tuple(isinstance(r, Tensor) and r.requires_grad for r in results)

    def swapped(self, index: int) -> str | None:
        """The name under which the module can be called with another tensor for input `index`."""
        spec = self.program.signature.inputs[index]
        registered = spec.kind in ("parameter", "buffer") and isinstance(self.model, nn.Module)
        return spec.target if registered else None


class _Call:
    """One call, until its backward has run."""

    def __init__(
        self,
        history: History,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        values: list[Any],
        tracked: tuple[bool, ...],
    ):
        self.history = history
        self.tracked = tracked
        self.values: list[Any] | None = values
        self._places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        """Indices of the tensor inputs, in the order in which autograd has them."""
        leaves, self._spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
        arguments = call_spec(history.program).arguments
        self._leaves = [
            None if not isinstance(a, Fixed) and isinstance(leaf, Tensor) else leaf
            for a, leaf in zip(arguments, leaves, strict=True)
        ]
        """Without the tensors: autograd keeps those and detects writes to them."""

    def native(self) -> Sequence[Any]:
        values, self.values = self.values, None
        assert values is not None
        return self.history.run(values)

    def again(self, tensors: Sequence[Tensor]) -> list[Any]:
        """The model's results, recomputed from these tensors."""
        history, model = self.history, self.history.model
        given = dict(zip(self._places, tensors, strict=True))
        arguments = call_spec(history.program).arguments
        leaves = [
            given.get(a, leaf) if not isinstance(a, Fixed) else leaf
            for a, leaf in zip(arguments, self._leaves, strict=True)
        ]
        args, kwargs = pytree.tree_unflatten(leaves, self._spec)
        own = {name: t for i, t in given.items() if (name := history.swapped(i)) is not None}
        if isinstance(model, nn.Module):
            result = torch.func.functional_call(model, own, args, kwargs)
        else:
            result = model(*args, **kwargs)
        return list(pytree.tree_leaves(result))

    def is_replaced(self, number: int) -> bool:
        """Does the model use the tensor passed to `again`, rather than its own?"""
        index = self._places[number]
        return self.history.program.signature.inputs[index].target is None or (
            self.history.swapped(index) is not None
        )


class _Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Any, ...]:
        results = tuple(call.native())
        plain = [r for r, t in zip(results, call.tracked, strict=True) if not t]
        ctx.mark_non_differentiable(*(r for r in plain if isinstance(r, Tensor)))
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.call = call
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        call: _Call = ctx.call
        tensors, wanted = ctx.saved_tensors, ctx.needs_input_grad[1:]
        # Aliases: hooks of the tensors themselves run once, when their gradients arrive.
        with torch.enable_grad(), call.history.state.autocasting():
            sources = [
                t.view_as(t) if need and call.is_replaced(k) else t
                for k, (t, need) in enumerate(zip(tensors, wanted, strict=True))
            ]
            results = call.again(sources)
        pairs = [
            (r, g)
            for r, g, t in zip(results, gradients, call.tracked, strict=True)
            if t and g is not None
        ]
        if not pairs:
            return (None, *(None for _ in tensors))
        found = iter(
            torch.autograd.grad(
                [r for r, _ in pairs],
                [source for source, need in zip(sources, wanted, strict=True) if need],
                [g for _, g in pairs],
                allow_unused=True,
                create_graph=torch.is_grad_enabled(),
            )
        )
        return (None, *(next(found) if need else None for need in wanted))
