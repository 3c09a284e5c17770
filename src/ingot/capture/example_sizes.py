"""Dynamic sizes that are one in the example. The tracer treats such a size like any other and
answers "is it one?" with no, without a guard. An op's meaning may depend on the answer: `squeeze`
drops the dimension, a broadcast expands it. Each op is therefore run again on fakes of the
example's own sizes; if a shape differs, the program is not the model's.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ingot.errors import CaptureError
from ingot.program.source import node_place


def check_example(exported: ExportedProgram) -> None:
    """Raise CaptureError at the first op whose result's shape differs from the traced one."""
    if not _has_dynamic_one(exported.graph):
        return
    values: dict[fx.Node, Any] = {}
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        for node in exported.graph.nodes:
            traced = _at_example(node.meta.get("val"), mode)
            values[node] = traced
            if isinstance(node.target, OpOverload):
                args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
                found = _run(node.target, args, kwargs)
                if found is not None and _shapes(found) != _shapes(traced):
                    raise CaptureError(
                        f"{node.target} depends on a dynamic size that is one in the example",
                        place=node_place(node),
                        hints=["trace it with an example whose dynamic sizes are two or more"],
                    )


def _has_dynamic_one(graph: fx.Graph) -> bool:
    values = [node.meta.get("val") for node in graph.nodes if node.op == "placeholder"]
    sizes = [s for v in values if isinstance(v, torch.Tensor) for s in v.shape]
    return any(
        isinstance(s, torch.SymInt) and s.node.has_hint() and s.node.hint == 1 for s in sizes
    )


def _run(op: OpOverload, args: Any, kwargs: Any) -> Any:
    """None if undecidable: data-dependent sizes, ops without a fake implementation."""
    try:
        return op(*args, **kwargs)
    except Exception:
        return None


def _at_example(value: Any, mode: FakeTensorMode) -> Any:
    """The value with the example's sizes in place of symbols."""
    return pytree.tree_map(lambda leaf: _leaf_at_example(leaf, mode), value)


def _leaf_at_example(leaf: Any, mode: FakeTensorMode) -> Any:
    if isinstance(leaf, torch.SymInt | torch.SymFloat | torch.SymBool):
        return leaf.node.hint
    if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.strided:
        return leaf
    numbers = [_leaf_at_example(n, mode) for n in (*leaf.shape, *leaf.stride())]
    if any(number is None for number in numbers):
        return None
    shape, strides = numbers[: leaf.dim()], numbers[leaf.dim() :]
    with mode:
        return torch.empty_strided(shape, strides, dtype=leaf.dtype, device=leaf.device)


def _shapes(value: Any) -> list[Any]:
    leaves = pytree.tree_leaves(value)
    return [tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
