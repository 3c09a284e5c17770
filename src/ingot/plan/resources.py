"""Bindings of the names in a plan to objects of this process: machine code, constant tensors,
Python objects, ops. A plan and its resources together can be run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from ingot.codegen.jit.native import Native, compiled_function
from ingot.machine import Machine, this_machine


@dataclass(frozen=True)
class KernelEntry:
    """The machine code of a kernel."""

    address: int
    share: int = 0
    """Address of the function that does one thread's share of the work; 0 if threads cannot share
    it."""
    owner: Any = None
    """Keeps the code alive."""


@dataclass
class Resources:
    weight_guard: str = "exact"
    machine: Machine = field(default_factory=this_machine)
    """Attributes of launches and packings are evaluated for it: it determines layouts."""
    kernels: dict[str, KernelEntry] = field(default_factory=dict)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    """By name of the buffer."""
    objects: dict[str, Any] = field(default_factory=dict)
    """By name of the Opaque argument."""
    targets: dict[str, Any] = field(default_factory=dict)
    """Targets of calls, by name."""

    def target(self, name: str) -> Any:
        return self.targets[name]

    def target_name(self, target: Any) -> str:
        """A name for the target of a call; ops are named as PyTorch prints them."""
        name = _op_name(target)
        if self.targets.setdefault(name, target) is not target:
            name = f"{name}.{len(self.targets)}"
            self.targets[name] = target
        return name

    def object_name(self, value: Any) -> str:
        for name, known in self.objects.items():
            if known is value:
                return name
        name = f"object{len(self.objects)}"
        self.objects[name] = value
        return name


def _op_name(target: Any) -> str:
    if isinstance(target, torch._ops.OpOverload):
        return f"{target.namespace}.{target._opname}.{target._overloadname}"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    module = getattr(target, "__module__", "") or "python"
    return f"{module.lstrip('_')}.{getattr(target, '__name__', type(target).__name__)}"


def content(address: int) -> tuple[str, str, Native | None]:
    """(function, digest of its module, owner that keeps it alive) of compiled code."""
    found = compiled_function(address)
    if found is None:
        return "", "", None
    native, name = found
    return name, native.key[:16], native
