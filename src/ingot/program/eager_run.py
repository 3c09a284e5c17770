"""Run a program's graph op by op, as eager would, and return the flat outputs. Regions run under
their state and control flow runs in Python, so autograd sees through both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.while_loop import while_loop_op
from torch.fx import GraphModule, Interpreter


def run_graph(module: GraphModule, values: Sequence[Any]) -> Sequence[Any]:
    results: Sequence[Any] = _Runner(module).run(*values, enable_io_processing=False)
    return results


class _Runner(Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        control = _CONTROL.get(target)
        if control is not None:
            return control(*args)
        return super().call_function(target, args, kwargs)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        found = super().get_attr(target, args, kwargs)
        if isinstance(found, GraphModule):
            return lambda *values: run_graph(found, values)
        return found


Body = Callable[..., Sequence[Any]]


def _cond(chosen: Any, yes: Body, no: Body, operands: Sequence[Any]) -> Sequence[Any]:
    return yes(*operands) if bool(chosen) else no(*operands)


def _while_loop(
    goes_on: Body, body: Body, carried: Sequence[Any], fixed: Sequence[Any], *_: Any
) -> Sequence[Any]:
    values = tuple(carried)
    while bool(_only(goes_on(*values, *fixed))):
        values = tuple(body(*values, *fixed))
    return values


def _map(body: Body, rows: Sequence[Any], fixed: Sequence[Any]) -> Sequence[Any]:
    made = [body(*row, *fixed) for row in zip(*rows)]
    return [torch.stack(column) for column in zip(*made)]


def _scan(
    body: Body, start: Sequence[Any], rows: Sequence[Any], fixed: Sequence[Any]
) -> Sequence[Any]:
    values, made = list(start), []
    for row in zip(*rows):
        results = body(*values, *row, *fixed)
        values = list(results[: len(start)])
        made.append(results[len(start) :])
    return [*values, *(torch.stack(column) for column in zip(*made))]


def _only(results: Any) -> Any:
    return results[0] if isinstance(results, tuple | list) else results


_CONTROL: dict[Any, Callable[..., Sequence[Any]]] = {
    cond_op: _cond,
    while_loop_op: _while_loop,
    map_impl: _map,
    scan_op: _scan,
}
