"""Inputs that the host's steps read have memory: PyTorch's own kernels would follow a null pointer
as well. Tensors that native segments read are checked where they are bound.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import torch
from torch import fx

from ingot.codegen.launcher import presence
from ingot.errors import InputError
from ingot.execute.lifetimes import uses
from ingot.fuse.fused import CallStep
from ingot.fuse.views import is_view
from ingot.plan.places import bytes_of
from ingot.program.graph import memory_root
from ingot.program.plain_tensor import memory_fault

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter


def known_extent(node: fx.Node) -> int:
    """Bytes from the first element to the end of the last; 0 where that depends on sizes."""
    size = bytes_of(node)
    return size if isinstance(size, int) else 0


def write_presence(writer: RunnerWriter) -> None:
    """Ask once, before anything runs."""
    inputs = _read_by_host(writer)
    if not inputs:
        return
    rows = array("q")
    for node in inputs:
        rows.extend((node.meta["val"].dtype.itemsize, known_extent(node)))
    writer.capture("rows", rows)
    present, names = presence(rows), ", ".join(writer.names[node] for node in inputs)
    look = writer.capture("look", _Look([node.name for node in inputs]))
    if present is None:
        writer.lines.append(f"{look}({names})")
    else:
        writer.lines.append(f"if {writer.capture('present', present)}({names}): {look}({names})")


class _Look:
    """The long way: tensors of other classes and devices are PyTorch's to judge."""

    def __init__(self, labels: list[str]):
        self._labels = labels

    def __call__(self, *tensors: torch.Tensor) -> None:
        for label, tensor in zip(self._labels, tensors, strict=True):
            plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
            if not plain or tensor.device.type != "cpu" or tensor._is_zerotensor():
                continue
            why = memory_fault(tensor)
            if why is not None:
                raise InputError(f"{label} {why}")


def _read_by_host(writer: RunnerWriter) -> list[fx.Node]:
    """Strided inputs that calls of PyTorch's operations read or write."""
    inputs = writer.roles.inputs
    found: dict[fx.Node, None] = {}
    for step in writer.fused.steps:
        if not writer.roles.is_host(step) or (isinstance(step, CallStep) and is_view(step.node)):
            continue
        found.update(dict.fromkeys(memory_root(node) for node in uses(writer, step)))
    in_place = set(writer.in_place.values())
    for spec in writer.fused.program.signature.outputs:
        target = (
            inputs[spec.target] if spec.kind == "mutation" and spec.target is not None else None
        )
        if target is not None and target not in in_place:
            found[target] = None
    return [node for node in inputs if node in found and _is_strided(node)]


def _is_strided(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.layout is torch.strided
