"""`options={"target": ...}`: compiles a graph from AOTAutograd, or the Program of `ingot.compile`,
to a callable in the boxed convention. Claimed ops run on the target, the rest natively; mutations
are written back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import fx

from ingot.errors import InputError
from ingot.fuse.fused import CallStep, Fused
from ingot.options import Options
from ingot.program.plain_tensor import memory_fault
from ingot.program.program import Program, program_from_fx
from ingot.stages import Compiled, not_planned
from ingot.targets.run import place
from ingot.targets.target import Target

Run = Callable[[list[Any]], list[Any]]


def _iree() -> Target:
    from ingot.targets.iree import Iree

    return Iree()


TARGETS: dict[str, Callable[[], Target]] = {"iree": _iree}


def compile_for_target(
    gm: fx.GraphModule, options: Options, static_inputs: Iterable[int] = ()
) -> Run:
    """Compile for `options.target`; `static_inputs` are the module's own tensors."""
    return _boxed(program_from_fx(gm, static_input_indices=static_inputs), options)


def compile_program_for_target(program: Program, options: Options) -> Compiled:
    """Compile a whole program for `options.target`."""
    run = _boxed(program, options)
    left: dict[str, str] = run.placed.left  # type: ignore[attr-defined]
    steps = tuple(
        CallStep(node, options.target if node.name not in left else "host", left.get(node.name, ""))
        for node in program.graph.nodes
        if node.op == "call_function"
    )
    run.seconds = [0.0] * len(steps)  # type: ignore[attr-defined]
    return not_planned(Fused(program, steps), run)


def _boxed(program: Program, options: Options) -> Run:
    placed = place(program, TARGETS[options.target](), options)
    signature = program.signature
    specs, count = signature.outputs, signature.user_outputs()
    names = [spec.name for spec in signature.inputs]

    def boxed(inputs: list[Any]) -> list[Any]:
        values = list(inputs)
        inputs.clear()
        for name, value in zip(names, values, strict=True):
            _require_memory(name, value)
        results = placed.run(values)
        with torch.no_grad():
            for spec, result in zip(specs[count:], results[count:]):
                assert spec.target is not None
                values[spec.target].copy_(result)
        return results[:count]

    boxed._boxed_call = True  # type: ignore[attr-defined]
    boxed.placed = placed  # type: ignore[attr-defined]
    return boxed


def _require_memory(name: str, value: Any) -> None:
    """A target dereferences the address of a tensor, as native code does."""
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        why = memory_fault(value)
        if why is not None:
            raise InputError(f"{name} {why}")
