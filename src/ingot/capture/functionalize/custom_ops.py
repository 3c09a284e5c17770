"""Custom ops that write. An op outside of ATen has no functional partner. It becomes PyTorch's
`auto_functionalized`, which calls the op on copies of the tensors it writes to and returns those
after its results.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch._higher_order_ops.auto_functionalize import auto_functionalized, can_auto_functionalize
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from ingot.capture.functionalize.cells import Value
from ingot.capture.functionalize.functional_forms import written_arguments
from ingot.capture.functionalize.interpreter import Functionalizer


def run_custom_write(
    run: Functionalizer, op: OpOverload, named: Mapping[str, Any], out: Any
) -> Any:
    if not can_auto_functionalize(op):
        raise run.error(f"{op} writes to its arguments and returns a view of one")
    call = run.emit(auto_functionalized, op, **run.nodes(dict(named)))
    values = [value for a in written_arguments(op) for value in _values(named[a.name])]
    start = len(call.meta["val"]) - len(values)
    for i, value in enumerate(values):
        run.write(value, run.emit(operator.getitem, call, start + i))
    if out is None:
        return None
    results = [
        run.memories.add_fresh(t, run.emit(operator.getitem, call, i), run.states.inference())
        for i, t in enumerate(pytree.tree_leaves(out))
        if isinstance(t, Tensor)
    ]
    return results if isinstance(out, tuple | list) else results[0]


def _values(argument: Any) -> list[Value]:
    return [leaf for leaf in pytree.tree_leaves(argument) if isinstance(leaf, Value)]
