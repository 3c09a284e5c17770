"""The dispatched op as a custom op of PyTorch. Eager calls run the implementation chosen for their
sizes; fake results, gradients and batched calls are the reference's. A reference that inspects its
sizes adds no guards on them as long as its result has the same form in every range.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._library.custom_ops import CustomOpDef
from torch._library.infer_schema import infer_schema
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from ingot.dispatch.candidates import REFERENCE, Candidate, Unlike, fitted, own
from ingot.dispatch.declaration import Declaration
from ingot.dispatch.narrow import (
    Narrow,
    World,
    bounds_of,
    description,
    free_symbols,
    moved,
    symbolic_number,
    world_of,
)
from ingot.dispatch.ranges import Range
from ingot.foreign_rules import note_registration

NAMESPACE = "ingot_dispatch"
MOST_REMEMBERED = 4096
known: dict[OpOverload, Declaration] = {}
"""The declared ops, by the overload that represents them in a graph."""
_numbers = itertools.count()
_taken: dict[str, tuple[str, int]] = {}


def make_operator(dispatch: Declaration) -> CustomOpDef:
    name = _fresh_name(dispatch)

    def serve(*args: Any, **kwargs: Any) -> Any:
        return call(dispatch, args, kwargs)

    op = torch.library.custom_op(
        f"{NAMESPACE}::{name}",
        serve,
        mutates_args=(),
        schema=infer_schema(dispatch.reference, mutates_args=()),
    )
    op.register_fake(lambda *args, **kwargs: imagine(dispatch, args, kwargs))
    _register_gradient(dispatch, op)
    op._lib.impl(name, dispatch.reference, "FuncTorchBatched")
    note_registration(op._opoverload, dispatch.reference)
    known[op._opoverload] = dispatch
    return op


def _fresh_name(dispatch: Declaration) -> str:
    """The function's name, with a number if a function on another line has the same name."""
    place = dispatch.place
    where = (os.path.basename(place.file), place.line) if place else ("", 0)
    if _taken.setdefault(dispatch.name, where) == where:
        return dispatch.name
    return f"{dispatch.name}_{next(_numbers)}"


def call(dispatch: Declaration, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run the op on real arguments."""
    bound = dispatch.bind(args, kwargs)
    key = tuple(_key(value) for value in bound.values())
    found = dispatch.chosen.get(key)
    if found is None:
        found = _choose(dispatch, bound)
        if len(dispatch.chosen) >= MOST_REMEMBERED:
            dispatch.chosen.clear()
        dispatch.chosen[key] = found
    candidate, like = found
    values = list(bound.values())
    result = candidate.function(**bound)
    if like is None:
        return pytree.tree_map_only(torch.Tensor, lambda t: own(t, values), result)
    return fitted(result, like, values)


def _key(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype
    return type(value), repr(value) if isinstance(value, list) else value


def _choose(dispatch: Declaration, bound: dict[str, Any]) -> tuple[Candidate, Any]:
    """The candidate for these arguments, and the form that its result must have; None for the
    reference."""
    from ingot.dispatch.records import known_record

    shapes = dispatch.shapes(bound)
    sizes = dispatch.sizes(shapes)
    reference = dispatch.candidates[REFERENCE]
    table = dispatch.pinned
    if table is None:
        record = known_record(dispatch, bound)
        table = None if record is None else record.table
    row = None if table is None else table.row(sizes)
    candidate = reference if row is None else dispatch.candidates.get(row.serves, reference)
    if candidate is reference or not candidate.serves(shapes):
        return reference, None
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = {
            name: mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
            for name, value in bound.items()
        }
        return candidate, dispatch.reference(**fakes)


# -- fake results ----------------------------------------------------------------------------------


def imagine(dispatch: Declaration, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The fake result, which is the reference's."""
    bound = dispatch.bind(args, kwargs)
    dispatch.sizes(dispatch.shapes(bound))
    values = list(bound.values())
    if free_symbols(values):
        form = _form_in_all_ranges(dispatch, bound)
        if form is not None:
            return form
    with _own_tensors_allowed(values):
        result = dispatch.reference(**bound)
        return pytree.tree_map_only(torch.Tensor, lambda t: own(t, values), result)


@contextmanager
def _own_tensors_allowed(values: Sequence[Any]) -> Iterator[None]:
    """Allow a reference to use real tensors of its own."""
    mode = next((v.fake_mode for v in values if hasattr(v, "fake_mode")), None)
    before = mode is not None and mode.allow_non_fake_inputs
    if mode is not None:
        mode.allow_non_fake_inputs = True
    try:
        yield
    finally:
        if mode is not None:
            mode.allow_non_fake_inputs = before


def _form_in_all_ranges(dispatch: Declaration, bound: dict[str, Any]) -> Any:
    """The form of the result if it is the same in each range and follows from the range alone, else
    None."""
    sizes = dispatch.sizes(dispatch.shapes(bound))
    world = world_of(bound.values())
    declared = dispatch.boxes() or [tuple(Range(0, None) for _ in sizes)]
    forms = []
    for box in declared:
        if not all(_meet(size, part, world) for size, part in zip(sizes, box, strict=True)):
            continue
        try:
            inside = World(list(bound.values()), list(zip(sizes, box, strict=True)))
            with inside.mode:
                forms.append(dispatch.reference(**dict(zip(bound, inside.values))))
        except (Narrow, Unlike):
            return None
        if inside.assumed():
            return None
    if not forms or any(description(form) != description(forms[0]) for form in forms):
        return None
    assert world is not None
    mode = next(v.fake_mode for v in bound.values() if hasattr(v, "fake_mode"))

    def home(tensor: torch.Tensor) -> Any:
        return moved(tensor, mode, lambda n: _home_number(n, world))

    return pytree.tree_map_only(torch.Tensor, home, forms[0])


def _meet(size: Any, part: Range, world: Any) -> bool:
    low, high = bounds_of(size, world)
    return Range(low, high).meets(part)


def _home_number(number: Any, world: Any) -> Any:
    return symbolic_number(number.node.expr, world) if isinstance(number, torch.SymInt) else number


# -- gradients -------------------------------------------------------------------------------------


def _register_gradient(dispatch: Declaration, op: CustomOpDef) -> None:
    """Register the reference's gradient, recomputed from the arguments."""
    names = list(dispatch.signature.parameters)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*tensors)
        ctx.rest = [None if isinstance(v, torch.Tensor) else v for v in inputs]
        ctx.where = [isinstance(v, torch.Tensor) for v in inputs]

    def backward(ctx: Any, *gradients: Any) -> Any:
        saved = iter(ctx.saved_tensors)
        inputs = [next(saved) if is_tensor else v for v, is_tensor in zip(ctx.rest, ctx.where)]
        wanted = [i for i, (v, needed) in enumerate(zip(inputs, ctx.needs_input_grad)) if needed]

        def function(*tensors: torch.Tensor) -> Any:
            given = list(inputs)
            for i, tensor in zip(wanted, tensors):
                given[i] = tensor
            return dispatch.reference(**dict(zip(names, given)))

        result, pull, *_ = torch.func.vjp(function, *(inputs[i] for i in wanted))
        one = isinstance(result, torch.Tensor)
        found = pull(gradients[0] if one else type(result)(gradients))
        all_gradients: list[Any] = [None] * len(inputs)
        for i, gradient in zip(wanted, found):
            all_gradients[i] = gradient
        return tuple(all_gradients)

    op.register_autograd(backward, setup_context=setup_context)
