"""Bypass AOTAutograd's runtime wrappers around a compiled inference graph, if its own metadata says
that they do nothing. The wrappers are left out only if no input is written or replaced, no output
is a view, and nothing is tracked or cast outside the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._functorch._aot_autograd.schemas import (
    OutputType,
    SubclassCreationMeta,
    ViewAndMutationMeta,
)
from torch._guards import TracingContext
from torch.autograd import forward_ad

from ingot.stages import Compiled


def shortened(
    wrapped: Callable[..., Any], inference: Compiled | None, gm: fx.GraphModule, arguments: int
) -> Callable[..., Any]:
    """`inference` is the graph's only program, or None in training; `arguments` is the number of
    arguments of a call."""
    context = TracingContext.try_get()
    if inference is None or context is None or context.fw_metadata is None:
        return _without_tangents(wrapped, gm)
    if inference.inputs != arguments or not _idle(context.fw_metadata):
        return _without_tangents(wrapped, gm)
    return directly(inference, gm)


def directly(inference: Compiled, gm: fx.GraphModule) -> Callable[..., Any]:
    """The program as Dynamo calls it, without wrappers. Dynamo does not guard on forward-mode AD:
    while a level of it is active, Dynamo's own graph runs in eager."""
    run = inference.run

    def direct(*inputs: Any) -> Sequence[Any]:
        if forward_ad._current_level >= 0:
            return gm(*inputs)
        return run(list(inputs))

    return direct


def _without_tangents(wrapped: Callable[..., Any], gm: fx.GraphModule) -> Callable[..., Any]:
    def call(*inputs: Any) -> Any:
        if forward_ad._current_level >= 0:
            return gm(*inputs)
        return wrapped(*inputs)

    return call


def _idle(meta: ViewAndMutationMeta) -> bool:
    """Do AOTAutograd's wrappers only pass values through?"""
    subclasses = (*meta.subclass_inp_meta, *meta.subclass_fw_graph_out_meta)
    return not (
        any(i.mutates_data or i.mutates_metadata for i in meta.input_info)
        or meta.num_outputs_aliased
        or meta.num_intermediate_bases
        or meta.tokens
        or meta.num_graphsafe_rng_states
        or torch._C._is_any_autocast_enabled()
        or any(o.output_type is not OutputType.non_alias for o in meta.output_info)
        or any(o.dynamic_dims for o in meta.output_info)
        or any(isinstance(m, SubclassCreationMeta) for m in subclasses)
    )
