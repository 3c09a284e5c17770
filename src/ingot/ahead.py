"""`ingot.compile`: compile a model to native code ahead of time, as one graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ingot.capture.sources import forgetting_sources
from ingot.capture.specialization import ordinary_sizes
from ingot.errors import CaptureError
from ingot.exclusive import exclusively
from ingot.fallback.boundary import Boundary
from ingot.fallback.reproducer import CapturedGraph
from ingot.frontend import NotLowered, export_to_run
from ingot.machine_guard import protect_from_amx
from ingot.options import Options, make_options
from ingot.pipeline import compile_program
from ingot.program.call import call_spec
from ingot.program.program import Program
from ingot.runtime.executable import EagerExecutable, Executable


def compile(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Executable:
    """Compile a module or function ahead of time, as one graph specialised to these example
    arguments, or a Program, which needs none.

    Returns a callable with the model's signature and result structure. `dynamic_shapes` declares
    sizes that vary, in torch.export's form. Arguments of another structure, dtype, rank or static
    size raise an InputError."""
    checked = make_options(options)
    protect_from_amx()
    if isinstance(model, Program):
        return _compiled_program(model, checked)
    with forgetting_sources():
        try:
            with exclusively():
                program = _captured(model, args, kwargs, dynamic_shapes, checked)
        except NotLowered as error:
            source = CapturedGraph(error.exported.graph_module, "aten")
            Boundary(source, checked).fell_back("the model runs in eager", error.failure)
            return EagerExecutable(model)
        if checked.target:
            from ingot.targets.backend import compile_program_for_target

            compiled = compile_program_for_target(program, checked)
        else:
            compiled = compile_program(program, checked)
    boundary = Boundary(CapturedGraph(program.graph_module, program.level.value), checked)

    def eager(error: Exception) -> Executable:
        boundary.fell_back("the graph runs through PyTorch's kernels", error)
        return EagerExecutable(model, program)

    return boundary.attempt(
        "binding", lambda: Executable(program, compiled, model, boundary), eager
    )


def _compiled_program(program: Program, options: Options) -> Executable:
    call_spec(program)
    boundary = Boundary(CapturedGraph(program.graph_module, program.level.value), options)
    return Executable(program, compile_program(program, options), program, boundary)


def refresh(model: nn.Module) -> None:
    """Repack the weights of everything compiled from this model, on its next call.

    Needed only with `weight_guard="sampled"` or `"off"`, after a write that the guard misses."""
    from ingot.plan.prepared import refresh as refresh_weights

    refresh_weights([*model.parameters(), *model.buffers()])


def _captured(
    model: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    options: Options,
) -> Program:
    """Retry with sizes of 0 and 1 specialised if the tracer cannot decide whether a dynamic size of
    1 is broadcast, or divides by a size of 0: eager runs the model with these arguments."""
    try:
        with ordinary_sizes():
            return export_to_run(model, args, kwargs, dynamic_shapes, options)
    except CaptureError as first:
        if not dynamic_shapes or not any({0, 1} & {*t.shape} for t in _tensors(args, kwargs)):
            raise
        try:
            return export_to_run(model, args, kwargs, dynamic_shapes, options)
        except CaptureError:
            raise first from None


def _tensors(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves((tuple(args), dict(kwargs or {})))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
