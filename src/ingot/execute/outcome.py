"""What the text of a plan calls beside kernels: tensors whose memory holds their values, and the
exceptions that eager raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

from ingot.codegen.executor import STEP_SHIFT
from ingot.codegen.steering import INTERRUPTED, raise_interrupt
from ingot.fuse.elements import OUT_OF_BOUNDS, OUT_OF_RANGE, ZERO_DIVISION, looks_up
from ingot.fuse.region import Region
from ingot.ops.rules import pointwise_rules
from ingot.plan.segment import AnyStep, NativeStep
from ingot.program.source import node_place


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or where it is lazily negated the same values in memory of the same layout."""
    if not tensor.is_neg():
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)


def is_check(node: fx.Node) -> bool:
    return node.target is torch.ops.aten._assert_scalar.default


def check_text(check: fx.Node) -> str:
    """What a check that fails says: its own text, and the user's line."""
    message, place = str(check.args[1]), node_place(check)
    return message if place is None or "\n  at " in message else f"{message}\n  at {place}"


def broken(text: str) -> None:
    raise RuntimeError(text)


def failed(error: int, steps: Sequence[AnyStep]) -> None:
    """The exception that eager raises where a kernel stopped short, with the user's lines."""
    code = error & ((1 << STEP_SHIFT) - 1)
    if code == INTERRUPTED:
        raise_interrupt()
    step = steps[error >> STEP_SHIFT]
    if code == ZERO_DIVISION:
        raise RuntimeError(f"ZeroDivisionError{_places(step, _divides)}")
    if code == OUT_OF_BOUNDS:
        text = "index is out of bounds for the dimension that it is looked up in"
        raise RuntimeError(f"{text}{_places(step, looks_up)}")
    assert code == OUT_OF_RANGE, f"step {step} failed with code {code}"
    raise IndexError(f"index out of range in self{_places(step, looks_up)}")


def _divides(node: fx.Node) -> bool:
    target: Any = node.target
    return target in pointwise_rules and pointwise_rules[target].checks is not None


def _places(step: AnyStep, can_fail: Callable[[fx.Node], bool]) -> str:
    """The lines of a step's ops that can have failed so."""
    found = {str(node_place(n)): None for n in _nodes(step) if can_fail(n) and node_place(n)}
    return "".join(f"\n  {'or at' if k else 'at'} {place}" for k, place in enumerate(found))


def _nodes(step: AnyStep) -> Iterator[fx.Node]:
    source = step.source
    if isinstance(source, Region):
        yield from source.members
        yield from (node for node, _ in source.inlined)
    for table in step.tables if isinstance(step, NativeStep) else ():
        for inner in table:
            yield from _nodes(inner)
