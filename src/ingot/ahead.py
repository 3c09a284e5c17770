"""`ingot.compile`: a model to native code ahead of time, as one graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ingot.capture.export import NotLowered, export_to_run
from ingot.capture.sizes import ordinary_sizes
from ingot.capture.sources import forgetting_sources
from ingot.errors import CaptureError
from ingot.exclusive import exclusively
from ingot.execute.executable import EagerExecutable, Executable
from ingot.fallback.boundary import Boundary
from ingot.fallback.reproducer import Source
from ingot.machine_guard import protect_from_amx
from ingot.options import Options, make_options
from ingot.pipeline import compile_program
from ingot.program.program import Program


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
    with forgetting_sources():
        try:
            with exclusively():
                program = _captured(model, args, kwargs, dynamic_shapes, checked)
        except NotLowered as error:
            source = Source(error.exported.graph_module, "aten")
            Boundary(source, checked).fell_back("the model runs in eager", error.failure)
            return EagerExecutable(model)
        compiled = compile_program(program, checked)
    boundary = Boundary(Source(program.graph_module, program.level.value), checked)

    def eager(error: Exception) -> Executable:
        boundary.fell_back("the graph runs through PyTorch's kernels", error)
        return EagerExecutable(model, program)

    return boundary.attempt("binding", lambda: Executable(program, compiled, model, boundary), eager)


def refresh(model: nn.Module) -> None:
    """Pack the model's weights anew in the next call of anything that was compiled of it. Needed
    only with options={"weight_guard": "sampled"} or "off", after writes that they do not see."""
    from ingot.plan.prepared import refresh as refresh_weights

    refresh_weights([*model.parameters(), *model.buffers()])


def _captured(
    model: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    options: Options,
) -> Program:
    """Where the tracer cannot tell whether a dynamic size that is one is broadcast, it is traced
    again with that size fixed: eager runs the model with these arguments."""
    try:
        with ordinary_sizes():
            return export_to_run(model, args, kwargs, dynamic_shapes, options)
    except CaptureError as first:
        if not dynamic_shapes or not any(1 in t.shape for t in _tensors(args, kwargs)):
            raise
        try:
            return export_to_run(model, args, kwargs, dynamic_shapes, options)
        except CaptureError:
            raise first from None


def _tensors(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves((tuple(args), dict(kwargs or {})))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
