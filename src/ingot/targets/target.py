"""The protocol of an accelerator: a claim for each op, a lowering for a graph of claimed ops, and
the transfer of a tensor to the device and back. ingot does the rest: the placement of ops, the
copies and the report.

    class Mine:
        name = "mine"
        def claim(self, node): return "" if node.target in TABLE else "no kernel for it"
        def lower(self, program): return a function from device values to device values
        def upload(self, tensor): return Moved(the tensor as a device value)
        def download(self, value): return Moved(the device value as a tensor)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.fx import Node

from ingot.program.program import Program

Runner = Callable[[Sequence[Any]], Sequence[Any]]
"""From the device values of a program's inputs to those of its outputs, in order."""


@dataclass(frozen=True)
class Moved:
    """A tensor after its transfer from host to device, or back."""

    value: Any
    copied: bool = True
    """False: both sides see the same memory."""


class Target(Protocol):
    name: str

    def claim(self, node: Node) -> str:
        """The reason against running this op on the device; empty if it can."""

    def lower(self, program: Program) -> Runner:
        """Code for a graph whose every op was claimed."""

    def upload(self, tensor: torch.Tensor) -> Moved:
        """The tensor as a value of the device."""

    def download(self, value: Any) -> Moved:
        """The device's value as a tensor."""
