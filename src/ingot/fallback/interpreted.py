"""Run a graph op by op through PyTorch's kernels, in place of a compiled one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from torch import fx

from ingot.fuse.fused import CallStep, Fused
from ingot.program.call import write_mutations
from ingot.program.eager_run import run_graph
from ingot.program.graph import copy_module, output_values, placeholders
from ingot.program.program import InputSpec, Level, OutputSpec, Program, Signature

Run = Callable[[list[Any]], Sequence[Any]]


def interpreted_graph(gm: fx.GraphModule, reason: str) -> tuple[Fused, Run]:
    """The steps of a graph from AOTAutograd, all left to PyTorch, and the function that runs them.
    AOTAutograd performs the graph's writes: no functional Program is needed."""
    inputs = tuple(InputSpec(node.name, "user") for node in placeholders(gm.graph))
    outputs = tuple(OutputSpec("user") for _ in output_values(gm.graph))
    program = Program(
        gm, Signature(inputs, outputs), MappingProxyType({}), MappingProxyType({}), Level.ATEN
    )
    return _interpreted(program, graph_run(gm), reason)


def interpreted_program(program: Program, reason: str) -> tuple[Fused, Run]:
    return _interpreted(program, program_run(program), reason)


def graph_run(gm: fx.GraphModule) -> Run:
    """Runs a copy of the graph: later edits have no effect."""
    module = copy_module(gm)

    def run(inputs: list[Any]) -> Sequence[Any]:
        values = list(inputs)
        inputs.clear()
        return list(run_graph(module, values))

    return run


def program_run(program: Program) -> Run:
    def run(inputs: list[Any]) -> Sequence[Any]:
        values = list(inputs)
        inputs.clear()
        return write_mutations(program, values, run_graph(program.graph_module, values))

    return run


def _interpreted(program: Program, run: Run, reason: str) -> tuple[Fused, Run]:
    steps = tuple(
        CallStep(node, "fallback", reason)
        for node in program.graph.nodes
        if node.op == "call_function"
    )
    run.seconds = [0.0] * len(steps)  # type: ignore[attr-defined]
    return Fused(program, steps), run
