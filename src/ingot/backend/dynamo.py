"""torch.compile(backend="ingot"). Dynamo's graph is traced once if that is enough, else it goes
through AOTAutograd; both produce functional ATen graphs (inference, forward, backward), and each
becomes a Compiled. Mutations of inputs are copies at the end of the graph, so the compiled code
performs them; random ops keep eager's order and generator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from ingot.backend.cache_artifacts import record_artifacts
from ingot.capture.foreach_writes import order_foreach_writes
from ingot.capture.operands_apart import separate_operands
from ingot.capture.plain_writes import write_plainly
from ingot.capture.sources import forgetting_sources
from ingot.collection import set_aside_while_compiling, with_the_rest_aside
from ingot.exclusive import exclusively
from ingot.options import Options, make_options, options_of_mode
from ingot.program.symbols import symbol_names
from ingot.stages import Compiled

# Dynamo has finished when it calls a backend, and no earlier hook names the backend.
set_aside_while_compiling()
record_artifacts()


def ingot(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str = "default",
) -> Callable[..., Any]:
    """The backend that the entry point `torch_dynamo_backends` names."""
    from ingot.machine_guard import protect_from_amx

    protect_from_amx()
    chosen = {**options_of_mode(mode), **(options or {})}
    return aot_compile(gm, example_inputs, make_options(chosen))


@exclusively()
@forgetting_sources()
@with_the_rest_aside
def aot_compile(
    gm: fx.GraphModule, example_inputs: Sequence[Any], options: Options
) -> Callable[..., Any]:
    """If capture fails, Dynamo's graph runs in eager."""
    from ingot.fallback.boundary import Boundary
    from ingot.fallback.reproducer import CapturedGraph

    if options.target:
        return _captured(gm, example_inputs, options)
    boundary = Boundary(CapturedGraph(gm, "dynamo", grad=torch.is_grad_enabled()), options)

    def eager(error: Exception) -> Callable[..., Any]:
        boundary.fell_back("the graph runs in eager", error)
        return gm.forward

    return boundary.attempt("capture", lambda: _captured(gm, example_inputs, options), eager)


def _captured(
    gm: fx.GraphModule, example_inputs: Sequence[Any], options: Options
) -> Callable[..., Any]:
    from torch._inductor import config as inductor_config

    from ingot.backend.direct import directly
    from ingot.capture.fakes import with_fakes
    from ingot.capture.hidden_aliases import reveal_calls
    from ingot.capture.recompiles import note_recompile
    from ingot.capture.scalar_indices import index_by_tensors
    from ingot.capture.single_trace import single_trace, static_inputs
    from ingot.kernels import precompile
    from ingot.passes.decompose import decomposition_table, early_table
    from ingot.passes.decompositions.dropout import inactive_dropout
    from ingot.passes.decompositions.random_ops import keeping_control_flow, order_random_ops
    from ingot.passes.decompositions.recurrent import dropout_between_layers, trained_layers
    from ingot.pipeline import compile_graph

    note_recompile()
    order_random_ops(gm)
    order_foreach_writes(gm)
    write_plainly(gm)
    separate_operands(gm)
    reveal_calls(gm)
    index_by_tensors(gm)
    precompile.begin(gm.graph)
    # Only under this setting does PyTorch's dead code elimination keep random ops, which advance
    # the generator.
    with (
        inductor_config.patch(fallback_random=True),
        trained_layers(),
        dropout_between_layers(),
        inactive_dropout(),
        keeping_control_flow(),
    ):
        if options.target or not _is_plain(gm):
            return _through_autograd(gm, example_inputs, options, decomposition_table())
        inputs = with_fakes(example_inputs)
        graph = single_trace(gm, inputs)
        if graph is None:
            return _through_autograd(gm, inputs, options, early_table())
        return directly(compile_graph(graph, options, static_inputs(gm, len(inputs))), gm)


def _through_autograd(
    gm: fx.GraphModule, inputs: Sequence[Any], options: Options, decompositions: Mapping[Any, Any]
) -> Callable[..., Any]:
    from ingot.backend.alias_guard import guard_aliases
    from ingot.backend.direct import shortened
    from ingot.backend.input_views import return_input_views
    from ingot.backend.result_objects import return_objects
    from ingot.capture.autograd import through_aot_autograd
    from ingot.capture.overlapping_writes import refuse_lost_writes
    from ingot.capture.partition import partition
    from ingot.capture.reshaped_inputs import refuse_exchanged_memory

    inference: list[Compiled] = []

    def compile_forward(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        refuse_exchanged_memory(graph.graph)
        refuse_lost_writes(graph.graph, gm.graph)
        return_input_views(graph)
        return compile_fx_forward(graph, inputs, options)

    def compile_inference(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        refuse_exchanged_memory(graph.graph)
        refuse_lost_writes(graph.graph, gm.graph)
        return_input_views(graph)
        boxed = compile_fx_forward(graph, inputs, options, _static_inputs())
        if hasattr(boxed, "compiled"):  # not if another target runs the graph
            inference.append(boxed.compiled)
        return boxed

    wrapped = through_aot_autograd(
        gm,
        inputs,
        fw_compiler=compile_forward,
        bw_compiler=lambda g, x: compile_fx_forward(g, x, options),
        inference_compiler=compile_inference,
        decompositions=decompositions,
        partition_fn=partition,
        keep_inference_input_mutations=True,
    )
    called = shortened(wrapped, inference[0] if inference else None, gm, len(inputs))
    return guard_aliases(return_objects(called, gm), gm, inputs)


def _is_plain(gm: fx.GraphModule) -> bool:
    """No gradients, no nested graphs, no symbols: each op can be handled by itself."""
    if torch.is_grad_enabled() or any(isinstance(m, fx.GraphModule) for m in gm.children()):
        return False
    return not any(_is_symbolic(node.meta.get("example_value")) for node in gm.graph.nodes)


def _is_symbolic(value: Any) -> bool:
    """Is it a symbolic number, even a specialised one, or does it contain symbols?"""
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) or bool(
        symbol_names(value)
    )


def _static_inputs() -> list[int]:
    """Inputs that are parameters and buffers of the compiled module, as recorded by AOTAutograd."""
    from torch._guards import TracingContext

    context = TracingContext.try_get()
    meta = context.fw_metadata if context is not None else None
    return list(meta.static_input_indices) if meta is not None else []


def compile_fx_forward(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options | None = None,
    static_inputs: Sequence[int] = (),
) -> Callable[..., Any]:
    """Compile a functional ATen graph to a callable in AOTAutograd's boxed convention."""
    from ingot import pipeline

    options = options or make_options()
    if options.target:
        from ingot.targets.backend import compile_for_target

        return compile_for_target(gm, options, static_inputs)
    compiled = pipeline.compile_graph(gm, options, static_inputs)
    run = compiled.run

    def boxed(inputs: list[Any]) -> Sequence[Any]:
        return run(inputs)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    boxed.compiled = compiled  # type: ignore[attr-defined]
    return boxed
