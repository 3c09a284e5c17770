"""`ingot.compile`: a model to native code ahead of time, as one graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingot.capture.export import export_to_run
from ingot.capture.sizes import ordinary_sizes
from ingot.execute.executable import Executable
from ingot.machine_guard import protect_from_amx
from ingot.options import make_options
from ingot.pipeline import compile_program


def compile(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Executable:
    """The model as native code for arguments like these: same signature, same structure of the
    result. `dynamic_shapes` is torch.export's own form."""
    checked = make_options(options)
    protect_from_amx()
    with ordinary_sizes():
        program = export_to_run(model, args, kwargs, dynamic_shapes)
    return Executable(program, compile_program(program, checked), model)
