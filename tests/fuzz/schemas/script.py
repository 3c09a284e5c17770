"""A finding as a standalone script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .modes import MODES, Mode, as_called
from .program import Program

_TAIL = """
for call, sizes in enumerate({sizes}):
    print("call", call, sizes)
    for name, function in (("eager", program), ("compiled", compiled)):
        given = inputs(values=100 * call, **sizes)
        torch.manual_seed(77)
        try:
            with torch.set_grad_enabled({grad}):
                results = function(*given)
            print(name, results)
            for result in results:
                if isinstance(result, torch.Tensor):
                    print("   ", result.dtype, tuple(result.shape), result.stride())
            print("    inputs after:", given)
        except Exception as error:
            print(name, "raises", type(error).__name__, error)
"""


def script(program: Program, mode_name: str, options: Mapping[str, Any], header: str) -> str:
    """A script that runs the program in eager and compiled, and prints both."""
    mode = MODES[mode_name]
    program = as_called(program, mode)
    used = {size for each in program.inputs for size in each.shape if isinstance(size, str)}
    calls = [program.sizes[min(call, len(program.sizes) - 1)] for call in mode.calls]
    sizes = [{name: size for name, size in call if name in used} for call in calls]
    comment = "\n".join(f"# {line}" for line in header.splitlines())
    tail = _TAIL.format(sizes=sizes, grad=program.grad)
    compiled = _compile(mode, options, program.grad)
    return f"{comment}\n{program.preamble()}\n\n\n{compiled}\n{tail}"


def _compile(mode: Mode, options: Mapping[str, Any], grad: bool) -> str:
    if mode.step:
        return (
            "from tests.fuzz.schemas.training import differentiated, trained\n\n"
            "compiled = trained(program, inputs(), control=False)\n"
            "program = differentiated(program)"
        )
    if not mode.ahead:
        return (
            f'compiled = torch.compile(program, backend="ingot", dynamic={mode.dynamic}, '
            f"options={dict(options)!r})"
        )
    lines = ["import ingot", "", "example = inputs()"]
    shapes = "None"
    if mode.dynamic:
        lines += [
            "auto = torch.export.Dim.AUTO",
            "shapes = tuple(dict.fromkeys(range(x.dim()), auto) if isinstance(x, torch.Tensor) "
            "else None for x in example)",
        ]
        shapes = "shapes"
    lines += [
        f"with torch.set_grad_enabled({grad}):",
        f"    compiled = ingot.compile(program, example, dynamic_shapes={shapes}, "
        f"options={dict(options)!r})",
    ]
    return "\n".join(lines)
