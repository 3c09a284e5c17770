"""`torch.compile(..., options={"target": ...})`. Comes in: the graph AOTAutograd hands over; goes
out: a callable in its boxed convention that runs on the target what it takes, the rest natively,
and writes mutations back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import fx

from ingot.options import Options
from ingot.program.program import program_from_fx
from ingot.targets.run import place
from ingot.targets.target import Target


def _iree() -> Target:
    from ingot.targets.iree import Iree

    return Iree()


TARGETS: dict[str, Callable[[], Target]] = {"iree": _iree}


def compile_for_target(
    gm: fx.GraphModule, options: Options, static_inputs: Iterable[int] = ()
) -> Callable[[list[Any]], list[Any]]:
    """For `options.target`; `static_inputs` are the module's own."""
    program = program_from_fx(gm, static_input_indices=static_inputs)
    placed = place(program, TARGETS[options.target](), options)
    specs = program.signature.outputs
    count = program.signature.user_outputs()

    def boxed(inputs: list[Any]) -> list[Any]:
        values = list(inputs)
        inputs.clear()
        results = placed.run(values)
        with torch.no_grad():
            for spec, result in zip(specs[count:], results[count:]):
                assert spec.target is not None
                values[spec.target].copy_(result)
        return results[:count]

    boxed._boxed_call = True  # type: ignore[attr-defined]
    boxed.placed = placed  # type: ignore[attr-defined]
    return boxed
