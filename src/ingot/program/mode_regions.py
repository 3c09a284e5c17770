"""Regions: parts of a pre-dispatch program that run under another autograd or autocast state. A
region is a call whose body is a functional subgraph: `region(*state, body, *inputs) -> outputs`.
One table describes each kind: its op, the number of leading arguments that are the state, and the
printed form of the state.

The grad and autocast regions are PyTorch's own operators, so that its tools know them; the
inference region and `carry` are ours. `carry(old, new)` is the result of a write under no_grad: the
data of `new` with the history of `old`, as eager has it after `with no_grad(): old.copy_(new)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from torch._ops import HigherOrderOperator
from torch.fx import GraphModule, Node


class InferenceMode(HigherOrderOperator):
    """Runs its body under torch.inference_mode."""

    def __init__(self) -> None:
        super().__init__("ingot_inference_mode")  # type: ignore[no-untyped-call]

    def __call__(self, enabled: bool, body: Callable[..., Any], *args: Any) -> Any:
        with torch.inference_mode(enabled):
            return body(*args)


inference_mode = InferenceMode()


@dataclass(frozen=True)
class RegionKind:
    op: HigherOrderOperator
    state: int
    """The number of leading arguments that are the state; the body is the next."""
    words: Callable[..., str]
    """The state as the printer shows it."""


def _grad_words(enabled: bool) -> str:
    return "enable_grad" if enabled else "no_grad"


def _inference_words(enabled: bool) -> str:
    return "inference_mode" if enabled else "inference_mode(False)"


def _autocast_words(
    device: str, dtype: torch.dtype | None, enabled: bool, cache: bool | None
) -> str:
    parts = [repr(device)]
    if not enabled:
        parts.append("enabled=False")
    elif dtype is not None:
        parts.append(str(dtype).removeprefix("torch."))
    if enabled and cache is False:
        parts.append("cache_enabled=False")
    return f"autocast({', '.join(parts)})"


region_kinds: dict[Any, RegionKind] = {
    kind.op: kind
    for kind in (
        RegionKind(wrap_with_set_grad_enabled, 1, _grad_words),
        RegionKind(wrap_with_autocast, 4, _autocast_words),
        RegionKind(inference_mode, 1, _inference_words),
    )
}


def is_region(node: Node) -> bool:
    return node.op == "call_function" and node.target in region_kinds


def region_parts(node: Node) -> tuple[tuple[Any, ...], Node, tuple[Any, ...]]:
    """State, body and inputs of a region."""
    count = region_kinds[node.target].state
    body = node.args[count]
    assert isinstance(body, Node)
    return node.args[:count], body, node.args[count + 1 :]


def region_body(node: Node) -> GraphModule:
    owner = node.graph.owning_module
    _, reference, _ = region_parts(node)
    assert owner is not None
    body = owner.get_submodule(str(reference.target))
    assert isinstance(body, GraphModule)
    return body


class _Carry(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        result = new.clone()
        if not ctx.needs_input_grad[0]:  # having no history is preserved too
            ctx.mark_non_differentiable(result)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0], None


_library = torch.library.Library("ingot", "FRAGMENT")
_library.define("carry(Tensor old, Tensor new) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))


def _carry_data(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return new.clone()


def _carry_history(old: torch.Tensor, new: torch.Tensor) -> Any:
    return _Carry.apply(old, new)  # type: ignore[no-untyped-call]


_library.impl("carry", _carry_data, "CompositeExplicitAutograd")
_library.impl("carry", _carry_history, "Autograd")

carry = torch.ops.ingot.carry.default
