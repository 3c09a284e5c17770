"""Trace a candidate of a call under the constraint of its box, to a functional ATen graph over the
call's inputs and the assumptions made beyond the box. The graph's sizes are in the program's own
symbols; the program learns nothing of the assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import TracingContext, tracing
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from ingot.dispatch.candidates import Candidate, fitted
from ingot.dispatch.declaration import Declaration
from ingot.dispatch.narrow import Constraint, World, moved, symbolic_number, world_of
from ingot.dispatch.ranges import Box


class Untraceable(Exception):
    """Why a candidate cannot become part of a program."""


@dataclass(frozen=True)
class OperatorCall:
    """A call of a dispatched op, with its arguments as they are known while tracing."""

    dispatch: Declaration
    bound: Mapping[str, Any]
    """Arguments by name; those from the graph as fake values and symbols."""
    nodes: tuple[Node, ...] = ()
    """The nodes of `inputs`, in the same order."""

    @property
    def inputs(self) -> list[Any]:
        """The arguments that are not constants of the call."""
        return [v for v in self.bound.values() if _is_input(v)]

    def with_inputs(self, values: Sequence[Any]) -> dict[str, Any]:
        given = iter(values)
        return {n: next(given) if _is_input(v) else v for n, v in self.bound.items()}

    def sizes(self) -> list[Any]:
        return self.dispatch.sizes(self.dispatch.shapes(self.bound))

    def constraints(self, box: Box | None) -> list[Constraint]:
        return [] if box is None else list(zip(self.sizes(), box, strict=True))


def call_of(dispatch: Declaration, node: Node) -> OperatorCall:
    bound = dispatch.bind(node.args, node.kwargs)
    nodes = tuple(v for v in bound.values() if isinstance(v, Node))
    values = {n: v.meta["val"] if isinstance(v, Node) else v for n, v in bound.items()}
    for name, value in values.items():
        if isinstance(value, list | tuple) and any(isinstance(v, Node) for v in value):
            raise Untraceable(f"{name} is a list of symbols")
    return OperatorCall(dispatch, values, nodes)


@dataclass(frozen=True)
class Traced:
    module: GraphModule
    """Its placeholders are the inputs of the call."""
    assumed: tuple[sympy.Basic, ...]
    """Conditions on the symbols, besides the box, under which the graph equals the candidate."""


def trace(
    call: OperatorCall, candidate: Candidate, box: Box | None, table: Mapping[Any, Any]
) -> Traced:
    """Raises Untraceable."""
    try:
        world = World(call.inputs, call.constraints(box))
        module = _traced(call, candidate, world, table)
    except Exception as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise Untraceable(f"{candidate.name}: {first[0]}") from error
    assumed = tuple(world.assumed())
    for fact in assumed:
        if isinstance(fact, sympy.Eq) and any(a.is_Symbol for a in fact.args):
            raise Untraceable(f"{candidate.name}: it works for one size only: {fact}")
    _bring_home(module, call)
    return Traced(module, assumed)


def _traced(
    call: OperatorCall, candidate: Candidate, world: World, table: Mapping[Any, Any]
) -> GraphModule:
    def run(*values: Any) -> Any:
        bound = call.with_inputs(values)
        with torch.no_grad():
            return fitted(candidate.function(**bound), like, list(bound.values()))

    # The tracing context of the program that is being compiled has its own ShapeEnv.
    with (
        _disable_current_modes(),
        tracing(TracingContext(world.mode)),
        world.mode,
        enable_python_dispatcher(),
        torch._C._DisableAutocast(),  # as for the kernels of custom ops
        torch.no_grad(),
    ):
        like = call.dispatch.reference(**call.with_inputs(world.values))
        functional = torch.func.functionalize(run, remove="mutations")
        module: GraphModule = make_fx(functional, decomposition_table=dict(table))(*world.values)
    if any(_writes(node) for node in module.graph.nodes):
        raise Untraceable("it writes to its arguments, or to a tensor of its own")
    module.graph.eliminate_dead_code()
    return module


def _writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def _bring_home(module: GraphModule, call: OperatorCall) -> None:
    """Translate the sizes of all values to the program's ShapeEnv."""
    env = world_of(call.inputs)
    mode = next((v.fake_mode for v in call.inputs if hasattr(v, "fake_mode")), None)

    def number(value: Any) -> Any:
        if isinstance(value, torch.SymInt):
            return symbolic_number(value.node.expr, env)  # type: ignore[arg-type]
        if isinstance(value, torch.SymBool):
            return env.create_symboolnode(value.node.expr)  # type: ignore[union-attr]
        return value

    def home(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            return value
        return moved(value, mode, number)

    for inner in module.modules():
        if isinstance(inner, GraphModule):
            for node in inner.graph.nodes:
                if "val" in node.meta:
                    node.meta["val"] = pytree.tree_map(home, node.meta["val"])


def _is_input(value: Any) -> bool:
    return isinstance(value, torch.Tensor | torch.SymInt)
