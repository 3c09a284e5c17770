"""Dynamo's graph to ATen in one trace. AOTAutograd runs a graph twice, first to learn what it
writes and which results alias an input; Dynamo's own fake tensors know that already. The result is
a functional ATen graph without writes, or None where AOTAutograd is needed: gradients, writes,
results that are views of inputs, subclasses, custom ops, tensors that the graph holds, nested
graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch._dispatch.python import enable_python_dispatcher
from torch._functorch._aot_autograd.frontend_utils import _try_get_metadata_from_dynamo
from torch._ops import OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

from ingot.passes.decompose import early_table
from ingot.program.graph import output_node, placeholders

OURS = ("aten", "prims")
FROM_PYTORCH = ("torch", "_operator", "math")
"""Modules whose functions Dynamo puts into a graph by itself."""


def single_trace(gm: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule | None:
    if torch.is_inference_mode_enabled() or torch._C._is_any_autocast_enabled():
        return None
    if not all(type(x) is FakeTensor for x in inputs) or not inputs:
        return None
    if not all(map(_is_ordinary, gm.graph.nodes)) or not _apart_and_unwritten(gm.graph):
        return None
    graph = _traced(gm, inputs)
    return graph if all(map(_is_functional, graph.graph.nodes)) else None


def static_inputs(gm: fx.GraphModule, count: int) -> list[int]:
    """The inputs that are parameters and buffers of the compiled module."""
    _, indices = _try_get_metadata_from_dynamo(gm, {}.keys(), count, [])
    return indices


def _is_ordinary(node: fx.Node) -> bool:
    """Whether tracing the node shows all of its effects."""
    target = node.target
    if node.op != "call_function":
        return node.op in ("placeholder", "call_method", "output")
    if isinstance(target, OpOverload):
        return target.namespace in OURS
    if isinstance(target, OpOverloadPacket):
        return target._qualified_op_name.partition("::")[0] in OURS
    if target is torch._C._set_grad_enabled or isinstance(target, torch._ops.OperatorBase):
        return False
    return (getattr(target, "__module__", None) or "torch").partition(".")[0] in FROM_PYTORCH


def _apart_and_unwritten(graph: fx.Graph) -> bool:
    """Whether Dynamo saw no write, and no result in the memory of an input."""
    values = [v for node in graph.nodes for v in _tensors(node)]
    if not all(type(v) is FakeTensor and not v.is_inference() for v in values):
        return False  # writes to inference tensors are not counted
    if any(v._version for v in values):
        return False
    given = {_memory(v) for node in placeholders(graph) for v in _tensors(node)}
    results = [v for node in output_node(graph).all_input_nodes for v in _tensors(node)]
    return not any(v.requires_grad or _memory(v) in given for v in results)


def _tensors(node: fx.Node) -> Iterator[Tensor]:
    for value in tree_leaves(node.meta.get("example_value")):
        if isinstance(value, Tensor):
            yield value


def _memory(value: Tensor) -> int:
    return value.untyped_storage()._cdata


def _traced(gm: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    mode = inputs[0].fake_mode

    def run(*values: Any) -> Any:
        with traceback.preserve_node_meta():
            mode.epoch += 1  # values read from tensors in an earlier trace are others
            return fx.Interpreter(gm).run(*values)

    trace = make_fx(run, decomposition_table=early_table(), _disable_torch_fn_metadata_mode=True)
    with torch.random.fork_rng(devices=()), mode, enable_python_dispatcher():
        graph: fx.GraphModule = trace(*inputs)
    graph.graph.eliminate_dead_code()
    return graph


def _is_functional(node: fx.Node) -> bool:
    """The fake of a lifted tensor is a copy; the tensor itself is not."""
    target = node.target
    return not isinstance(target, OpOverload) or not (
        target._schema.is_mutable or target is torch.ops.aten.lift.default
    )
