"""Steps that the host runs, as lines of the runner's text: calls of PyTorch's operations, control
flow with bodies that are plans of their own, regions that no kernel was made for.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import torch

from ingot.execute.control import steered
from ingot.execute.fallback import interpret, region_inputs
from ingot.execute.in_place import WRITING
from ingot.execute.outcome import check_text, is_check
from ingot.fallback.recovery import WRITES, may_run_twice
from ingot.fuse.fused import CallStep, KernelStep, Step
from ingot.program.higher_order import control_of
from ingot.program.shapes import strides_of

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter


def write_hosted(writer: RunnerWriter, step: Step) -> None:
    if isinstance(step, KernelStep):
        _fallback(writer, step)
    else:
        _call(writer, step)


def _call(writer: RunnerWriter, step: CallStep) -> None:
    node = step.node
    if step.bodies:
        _call_bodies(writer, step)
        return
    if is_check(node):
        writer.lines.append(f"if not {writer.argument(node.args[0])}: broken({check_text(node)!r})")
        return
    arguments = [writer.argument(a) for a in node.args]
    arguments += [f"{k}={writer.argument(v)}" for k, v in node.kwargs.items()]
    target = node.target
    if node in writer.in_place:
        writer.names[node] = writer.names[writer.in_place[node]]
        function = writer.capture("op", WRITING[target])
        writer.lines.append(f"{function}({', '.join(arguments)}){WRITES}")
        return
    if target is operator.getitem:
        writer.lines.append(f"{writer.name(node)} = {arguments[0]}[{arguments[1]}]")
    else:
        callee = (
            target._op if isinstance(target, torch._ops.OpOverload) and _plain(target) else target
        )
        function = writer.capture("op", callee)
        writes = "" if may_run_twice(node) else WRITES
        writer.lines.append(f"{writer.name(node)} = {function}({', '.join(arguments)}){writes}")
        if target is torch.ops.aten.convolution.default:
            name, strides = writer.names[node], writer.values(strides_of(node))
            writer.lines.append(f"{name} = laid_out({name}, {strides})")
    writer.learn_results(node)


def _call_bodies(writer: RunnerWriter, step: CallStep) -> None:
    """Control flow that the host steers: its bodies are plans of their own."""
    control = control_of(step.node)
    assert control is not None
    runs = [writer.run_of(body) for body in step.bodies]
    function = writer.capture("control", steered(control, runs))
    operands = writer.argument(control.operands())
    predicate = writer.argument(control.predicate)
    writer.lines.append(f"{writer.name(step.node)} = {function}({predicate}, {operands}){WRITES}")
    writer.learn_results(step.node)


def _fallback(writer: RunnerWriter, step: KernelStep) -> None:
    inputs = region_inputs(step.region)
    function = writer.capture("region", interpret(step.region, inputs))
    results = ", ".join(writer.name(n) for n in step.region.stored)
    writer.lines.append(f"{results}, = {function}({', '.join(writer.names[n] for n in inputs)})")


def _plain(target: torch._ops.OpOverload) -> bool:
    """Can the C++ op be called without the Python layers around it?"""
    return target.namespace == "aten" and not target._schema.is_mutable
