"""Recovery from a failure while a compiled program runs, such as in planning for new sizes or
packing weights. The runner passes its local variables; if nothing was written yet and every input
still exists, the same call runs through PyTorch's kernels. Errors that eager raises as well (ops
that PyTorch runs, checks, indices out of range) are not ingot's and propagate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator

from ingot.fallback.boundary import Boundary
from ingot.program.program import Program
from ingot.program.spec import is_pure

RUNNER = "<ingot runner>"
_PACKAGE = str(Path(__file__).parent.parent)
_EAGER = (str(Path("runtime", "outcome.py")), str(Path("plan", "host_ops.py")))
"""Files whose errors are eager's: they raise on its behalf, or run its ops."""

Run = Callable[[list[Any]], Sequence[Any]]
Recover = Callable[[Exception, Mapping[str, Any], int], "Sequence[Any] | None"]
"""Gets the failure, the runner's local variables, and the line of its first write: up to there
nothing was written. A failure in that line occurs before its write, since native code raises no
exceptions."""


def no_recovery(
    error: Exception, names: Mapping[str, Any], first_write: int
) -> Sequence[Any] | None:
    return None


def recovery(
    boundary: Boundary, program: Callable[[], Program], reference: Callable[[], Run]
) -> Recover:
    """`reference` makes the eager equivalent of the program."""

    def recover(
        error: Exception, names: Mapping[str, Any], first_write: int
    ) -> Sequence[Any] | None:
        line = _own_line(error)
        if line is None or not boundary.catches(error):
            return None
        if line > first_write and not _is_pure(program()):
            return None
        count = len(program().signature.inputs)
        inputs = [names[f"in{i}"] for i in range(count) if f"in{i}" in names]
        if len(inputs) != count:
            return None
        error.__dict__.setdefault("ingot_stage", "planning a call")
        boundary.fell_back("the call runs through PyTorch's kernels", error)
        return reference()(inputs)

    return recover


def _own_line(error: Exception) -> int | None:
    """The line of the runner that failed, if the failure is the compiler's own."""
    frames = list(_frames(error.__traceback__))
    runners = [k for k, (file, _) in enumerate(frames) if file == RUNNER]
    if not runners:
        return None
    called = frames[runners[-1] + 1 :]
    line = frames[runners[0]][1]
    if not called:
        return line if isinstance(error, NameError) else None
    file = called[0][0]
    ours = file.startswith(_PACKAGE) and not file.endswith(_EAGER)
    return line if ours else None


def _frames(trace: TracebackType | None) -> Iterator[tuple[str, int]]:
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next


def _is_pure(program: Program) -> bool:
    """May it run twice? It writes to nothing, samples no random numbers and calls nothing that
    could do so undetected."""
    if any(spec.kind != "user" for spec in program.signature.outputs):
        return False
    modules = [m for m in program.graph_module.modules() if isinstance(m, fx.GraphModule)]
    nodes = (node for module in modules for node in module.graph.nodes)
    return all(may_run_twice(node) for node in nodes if node.op == "call_function")


def may_run_twice(node: fx.Node) -> bool:
    check = node.target is torch.ops.aten._assert_scalar.default
    return is_pure(node) or check or isinstance(node.target, HigherOrderOperator)
