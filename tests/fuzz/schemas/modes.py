"""The ways to compile a program, each with its control: the same capture run by eager kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.export import Dim

import ingot

from .program import Program
from .training import trained


@dataclass(frozen=True)
class Mode:
    name: str
    ahead: bool
    """`ingot.compile` instead of torch.compile."""
    dynamic: bool | None
    """As in torch.compile; with `ahead`, true means Dim.AUTO everywhere."""
    step: bool = False
    """`ingot.export(..., train=True)`; see `training`."""

    @property
    def calls(self) -> tuple[int, ...]:
        """Static modes call one shape twice with other values; dynamic modes call three shapes."""
        return (0, 1, 2)


STATIC = Mode("compile-static", False, False)
DYNAMIC = Mode("compile-dynamic", False, True)
AUTOMATIC = Mode("compile-automatic", False, None)
AHEAD = Mode("ahead-static", True, False)
AHEAD_AUTO = Mode("ahead-auto", True, True)
TRAINING = Mode("training-step", True, False, step=True)
MODES = {mode.name: mode for mode in (STATIC, DYNAMIC, AUTOMATIC, AHEAD, AHEAD_AUTO, TRAINING)}


def runs(program: Program, mode: Mode) -> bool:
    """Whether a mode can express the program: parameters require gradients and alias no input."""
    if not mode.step:
        return True
    leaves = {each.name for each in program.inputs if each.grad}
    return program.grad and bool(leaves) and not any(i.alias_of in leaves for i in program.inputs)


def as_called(program: Program, mode: Mode) -> Program:
    """The program as a mode calls it: static modes keep the sizes of the first call."""
    sizes = program.sizes[:1] if mode.dynamic is False else program.sizes
    return program.without(sizes=sizes, step=mode.step)


def compiled(
    program: Program, mode: Mode, options: Mapping[str, Any], *, control: bool = False
) -> Callable[..., Any]:
    """The program compiled by ingot, or by the control."""
    function = program.without(step=False).function()
    if mode.step:
        return trained(function, program.make_inputs(0), control)
    if not mode.ahead:
        if control:
            return torch.compile(function, backend="aot_eager", dynamic=mode.dynamic)
        return torch.compile(
            function, backend="ingot", dynamic=mode.dynamic, options=dict(options)
        )  # fmt: skip
    inputs = program.make_inputs(0)
    shapes = dynamic_shapes(inputs) if mode.dynamic else None
    with torch.set_grad_enabled(program.grad):
        if control:
            return exported(function, inputs, shapes)
        return ingot.compile(function, inputs, dynamic_shapes=shapes, options=options)


def dynamic_shapes(inputs: list[Any]) -> Any:
    return tuple(
        dict.fromkeys(range(each.dim()), Dim.AUTO) if isinstance(each, Tensor) else None
        for each in inputs
    )


def exported(function: Callable[..., Any], inputs: list[Any], shapes: Any) -> Callable[..., Any]:
    class Holder(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*args)

    wrapped = (shapes,) if shapes is not None else None
    return torch.export.export(Holder(), tuple(inputs), dynamic_shapes=wrapped).module()
