"""Ops that write, as ops that compute the written content. Returns the op's results and records the
new content at every Value that shares the memory. Writes without a functional form are errors that
name the rule. Eager runs the op first, so whatever eager forbids is refused with eager's own
message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.wrap import wrap_with_autocast
from torch._ops import OpOverload
from torch.fx import Node

from ingot.capture.functionalize.cells import Value
from ingot.capture.functionalize.custom_ops import run_custom_write
from ingot.capture.functionalize.functional_forms import (
    FunctionalForm,
    functional_form,
    written_arguments,
)
from ingot.capture.functionalize.interpreter import Functionalizer, is_composite
from ingot.capture.functionalize.states import autocast_state, frame_for
from ingot.capture.functionalize.view_steps import shape_of, step_for
from ingot.passes.decompositions.layouts import dimension_order
from ingot.program.graph import same_numbers
from ingot.program.overlap import has_known_place, overlap, overlaps_itself, same_place
from ingot.program.schema_violations import named_arguments

aten = torch.ops.aten

_FORBIDDEN: dict[OpOverload, str] = {
    op: rule
    for rule, packets in {
        "the memory of a tensor is exchanged": [aten.set_, aten.set_data],
        "a tensor is given another size": [
            aten.resize_,
            aten.resize_as_,
            aten.resize_as_sparse_,
            aten.sparse_resize_,
        ],
        "a tensor is given another layout by hand": [aten.as_strided_],
    }.items()
    for packet in packets
    for op in (getattr(packet, name) for name in packet.overloads())
}

_RESTYLES: dict[OpOverload, OpOverload] = {
    aten.t_.default: aten.t.default,
    aten.transpose_.default: aten.transpose.int,
    aten.swapaxes_.default: aten.swapaxes.default,
    aten.swapdims_.default: aten.swapdims.default,
    aten.squeeze_.default: aten.squeeze.default,
    aten.squeeze_.dim: aten.squeeze.dim,
    aten.squeeze_.dims: aten.squeeze.dims,
    aten.unsqueeze_.default: aten.unsqueeze.default,
}
"""Ops that change how a tensor object views its memory, and the view that each applies."""


def run_write(run: Functionalizer, op: OpOverload, args: Any, kwargs: Any) -> Any:
    if op in _FORBIDDEN and not _keeps_size(op, run.eager(args)):
        raise run.error(f"{op}: {_FORBIDDEN[op]}, which has no functional form")
    if op in _RESTYLES:
        return _restyle(run, op, args, kwargs)
    if op is aten.detach_.default:
        return _detach_in_place(run, args[0])
    if op is aten.zero_.default:  # unlike zeros_like, fill keeps a history
        return run_write(run, aten.fill_.Scalar, (*args, 0), {})
    named = named_arguments(op, args, kwargs)
    sizes = {a.name: _shapes(run.eager(named[a.name])) for a in written_arguments(op)}
    out = run.run_eager(op, args, kwargs)
    if op in _FORBIDDEN:
        return args[0]
    _check_overlap(run, op, named)
    for argument in written_arguments(op):
        if _shapes(run.eager(named[argument.name])) != sizes[argument.name]:
            raise run.error(
                f"{op}: {_FORBIDDEN[aten.resize_.default]}, which has no functional form"
            )
    if op is aten.copy_.default:
        run.write(args[0], _copied(run, args[0], args[1]), over=True)
        return args[0]
    form = functional_form(op)
    if form is None and is_composite(op):
        return run.take_apart(op, args, kwargs)
    if form is None:
        return run_custom_write(run, op, named, out)
    for argument in written_arguments(op):
        _save_inputs(run, named[argument.name])
    contents, rest = _compute(run, op, form, args, kwargs)
    for argument, content in zip(written_arguments(op), contents):
        _store(run, named[argument.name], content)
    return _results(run, out, rest)


def _keeps_size(op: OpOverload, eager: Any) -> bool:
    return op is aten.resize_.default and list(eager[0].shape) == list(eager[1])


def _tensors(eager: Any) -> list[Tensor]:
    tensors = eager if isinstance(eager, tuple | list) else [eager]
    return [t for t in tensors if isinstance(t, Tensor)]


def _shapes(eager: Any) -> list[Any]:
    return [tuple(t.shape) for t in _tensors(eager)]


def _check_overlap(run: Functionalizer, op: OpOverload, named: Mapping[str, Any]) -> None:
    """Where elements share memory, the result of a write depends on its order. Eager refuses the
    cases that it detects."""
    written = {a.name for a in written_arguments(op)}
    rows = [
        (name, i, tensor)
        for name, value in named.items()
        for i, tensor in enumerate(_tensors(run.eager(value)))
        if has_known_place(tensor)
    ]
    for name, i, target in rows:
        if name not in written:
            continue
        if overlaps_itself(target):
            raise run.error(
                "more than one element of the written-to tensor refers to a single memory location",
                "write to a copy: y = y.clone()",
            )
        for other, j, tensor in rows:
            read_alike = other not in written and i == j and same_place(target, tensor)
            itself = (other, j) == (name, i)
            if not itself and not read_alike and overlap(target, tensor):
                raise run.error(
                    "some elements of the input tensor and the written-to tensor refer to a single "
                    "memory location",
                    "read from a copy: y.clone()",
                )


def _restyle(run: Functionalizer, op: OpOverload, args: Any, kwargs: Any) -> Value:
    value: Value = args[0]
    if value in run.inputs:
        raise run.error(f"{op}: an input is given another shape in place; use a view of it")
    step = step_for(run, _RESTYLES[op], run.nodes(tuple(args[1:])), run.nodes(kwargs), None)
    node = step.forward(run.read(value))
    run.run_eager(op, args, kwargs)
    value.steps = (*value.steps, step)
    value.seen, value.seen_version, value.seen_untracked = node, value.cell.version, False
    return value


def _detach_in_place(run: Functionalizer, value: Value) -> Value:
    node = run.emit(aten.detach.default, run.read(value))
    run.run_eager(aten.detach_.default, (value,), {})
    value.cell, value.steps = run.memories.add_cell(value.cell, value.steps, node), ()
    return value


def _copied(run: Functionalizer, target: Value, source: Any) -> Node:
    """The source, as the target would hold it."""
    node = run.read(source) if isinstance(source, Value) else None
    if node is None:
        return run.emit(aten.full_like.default, run.read(target), source)
    if not same_numbers(node.meta["val"].shape, target.eager.shape):
        node = run.emit(aten.expand.default, node, shape_of(run, run.read(target)))
    if node.meta["val"].dtype != target.eager.dtype:
        return run.emit(aten._to_copy.default, node, dtype=target.eager.dtype)
    return run.emit(aten.clone.default, node)


def _save_inputs(run: Functionalizer, target: Any) -> None:
    """Autograd may save its inputs, and an input whose write autograd sees is written back at the
    end of the program. Values are therefore computed from a copy of it."""
    for value in target if isinstance(target, list | tuple) else [target]:
        cell = value.cell if isinstance(value, Value) else None
        if cell is None or cell.version > 0 or cell.data not in run.inputs.values():
            continue
        if run.states.grad_enabled() and cell.data.meta["val"].requires_grad:
            cell.data = cell.history = run.emit(aten.clone.default, cell.data)


def _compute(
    run: Functionalizer, op: OpOverload, form: FunctionalForm, args: Any, kwargs: Any
) -> tuple[list[Any], list[Any]]:
    """New contents of the written arguments, and the op's other results."""
    given = _given(op, form, args, kwargs)
    if form.fresh:
        content: Any = _random(run, form, given)
        return [content], []
    results = _call_by_name(run, op, form.op, given)
    flat = list(results) if isinstance(results, list) else [results]
    if form.results:
        contents = [flat[i] for _, i in form.results]
        return contents, flat[: len(flat) - form.drop]
    lists = [a for a in written_arguments(op) if "List" in str(a.type) or "[]" in str(a.type)]
    return ([flat] if lists else flat), []


def _given(op: OpOverload, form: FunctionalForm, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments of the functional op: those given explicitly, and those without a default."""
    explicit = {*(a.name for a, _ in zip(op._schema.arguments, args)), *kwargs}
    needed = {a.name for a in form.op._schema.arguments if not a.has_default_value()}
    named = named_arguments(op, args, kwargs)
    kept = (explicit | needed) - set(form.outs)
    return {name: value for name, value in named.items() if name in kept}


def _random(run: Functionalizer, form: FunctionalForm, given: Mapping[str, Any]) -> Node:
    first, *others = given.items()
    source = run.emit(aten.detach.default, run.read(first[1]))
    kwargs = {k: v for k, v in run.nodes(dict(others)).items()}
    names = [a.name for a in form.op._schema.arguments if not a.kwarg_only][1:]
    positional = [kwargs.pop(n) for n in names if n in kwargs]
    shape = source.meta["val"]
    order = dimension_order([shape], shape.dim()) if form.along_memory else []
    if order == sorted(order):
        return run.emit(form.op, source, *positional, **kwargs)
    turned = run.emit(aten.permute.default, source, order)
    drawn = run.emit(form.op, turned, *positional, **kwargs)
    return run.emit(aten.permute.default, drawn, [order.index(dim) for dim in range(shape.dim())])


def _call_by_name(
    run: Functionalizer, op: OpOverload, functional: OpOverload, given: Mapping[str, Any]
) -> Any:
    """Ops that write are not autocast; where their functional partner would be, autocast is
    disabled."""
    arguments = functional._schema.arguments
    args = [given[a.name] for a in arguments if not a.kwarg_only and a.name in given]
    kwargs = {a.name: given[a.name] for a in arguments if a.kwarg_only and a.name in given}
    device = _device(run, given)
    if not torch.is_autocast_enabled(device):
        if _may_be_autocast(functional, device) and not run.states.casts():
            run.assumes.add("autocast")
        return run.call(functional, tuple(args), kwargs)
    if not _is_autocast(run, functional, args, kwargs):
        return run.call(functional, tuple(args), kwargs)
    token = object()
    run.states.enter(
        token, frame_for(wrap_with_autocast, autocast_state(device, None, False, None))
    )
    result = run.call(functional, tuple(args), kwargs)
    run.states.leave(token)
    return result


def _device(run: Functionalizer, given: Mapping[str, Any]) -> str:
    for value in given.values():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, Value):
            return first.eager.device.type
    return "cpu"


def _may_be_autocast(op: OpOverload, device: str) -> bool:
    key = f"Autocast{device.upper()}"
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key)


def _is_autocast(run: Functionalizer, op: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Whether autocast changes the dtype of the op's result."""
    with torch.no_grad():
        changed = run.run_eager(op, tuple(args), kwargs)
        with torch.autocast("cpu", enabled=False):
            plain = run.run_eager(op, tuple(args), kwargs)
    first = [t[0] if isinstance(t, tuple | list) else t for t in (changed, plain)]
    return isinstance(first[0], Tensor) and first[0].dtype != first[1].dtype


def _store(run: Functionalizer, target: Any, content: Any) -> None:
    if isinstance(target, list | tuple):
        for one, new in zip(target, content):
            _store(run, one, new)
        return
    if target is None:
        return
    node = run.read(content) if isinstance(content, Value) else content
    run.write(target, _conformed(run, target, node))


def _conformed(run: Functionalizer, target: Value, node: Node) -> Node:
    """The node with exactly the dtype and shape of the target."""
    if node.meta["val"].dtype != target.eager.dtype:
        node = run.emit(aten._to_copy.default, node, dtype=target.eager.dtype)
    if not same_numbers(node.meta["val"].shape, target.eager.shape):
        node = run.emit(aten.expand.default, node, shape_of(run, run.read(target)))
    return node


def _results(run: Functionalizer, out: Any, rest: list[Any]) -> Any:
    """Results that are written arguments stay those Values; others come from the functional op."""
    others = iter(rest)
    if isinstance(out, tuple | list):
        return [_result(run, item, others) for item in out]
    return _result(run, out, others)


def _result(run: Functionalizer, out: Any, others: Any) -> Any:
    if not isinstance(out, Tensor):
        return out
    same = run.memories.value_of(out)
    return same if same is not None else next(others)


def run_silent_write(run: Functionalizer, op: OpOverload, args: Any, kwargs: Any) -> Any:
    """An op that writes to an argument its schema does not mark."""
    if op in _BATCH_NORMS:
        return _batch_norm(run, op, args, kwargs)
    if is_composite(op):
        return run.take_apart(op, args, kwargs)
    raise run.error(f"{op} writes to an argument without saying so, and has no functional form")


def _cloned(run: Functionalizer, value: Value) -> Any:
    return run.call(aten.clone.default, (value,), {})


_BATCH_NORMS = {aten.batch_norm.default: 1, aten.native_batch_norm.default: 3}
"""The number of results of each."""


def _batch_norm(run: Functionalizer, op: OpOverload, args: Any, kwargs: Any) -> Any:
    run.note(f"{op}: replaced by _native_batch_norm_legit_functional, which returns its statistics")
    named = named_arguments(op, args, kwargs)
    wanted = ("input", "weight", "bias", "running_mean", "running_var", "training")
    given = (*(named[name] for name in wanted), named["momentum"], named["eps"])
    # Autograd saves the statistics it is given; those written back must be others.
    given = (*given[:3], *(_cloned(run, value) for value in given[3:5]), *given[5:])
    results = run.call(aten._native_batch_norm_legit_functional.default, given, {})
    run.write(named["running_mean"], run.read(results[3]))
    run.write(named["running_var"], run.read(results[4]))
    return results[0] if _BATCH_NORMS[op] == 1 else results[:3]
