"""What the text of a plan calls beside kernels: tensors whose memory holds their values, and the
exceptions that eager raises.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx

from ingot.codegen.executor import STEP_SHIFT
from ingot.codegen.steering import INTERRUPTED, raise_interrupt
from ingot.fuse.elements import OUT_OF_BOUNDS, OUT_OF_RANGE, ZERO_DIVISION
from ingot.plan.segment import AnyStep
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
    """The exception that eager raises where a kernel stopped short."""
    code = error & ((1 << STEP_SHIFT) - 1)
    if code == INTERRUPTED:
        raise_interrupt()
    if code == ZERO_DIVISION:
        raise RuntimeError("ZeroDivisionError")
    if code == OUT_OF_BOUNDS:
        raise RuntimeError("index is out of bounds for the dimension that it is looked up in")
    assert code == OUT_OF_RANGE, f"step {steps[error >> STEP_SHIFT]} failed with code {code}"
    raise IndexError("index out of range in self")
