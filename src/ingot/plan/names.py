"""What the names in a plan refer to: the targets of its calls, which any process finds by name, and
the tensors that it reads as constants. Resources hold both for a plan that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ingot.plan import host_ops
from ingot.plan.ir import (
    Buffer,
    Call,
    Eager,
    EagerControlFlow,
    Kernel,
    Kind,
    Opaque,
    Plan,
    Return,
    refs,
    walk,
)
from ingot.plan.resources import Resources
from ingot.program.operators import operator_named

_HOST = {
    f"ingot.plan.host_ops.{function.__name__}": function
    for function in (host_ops.plain, host_ops.laid_out)
}


def plans_in(plan: Plan) -> Iterator[Plan]:
    """The plan, and those of the bodies of control flow that PyTorch runs."""
    yield plan
    for op in walk(plan.ops):
        if isinstance(op, EagerControlFlow):
            for body in op.bodies:
                yield from plans_in(body)


def kernels_of(plan: Plan) -> Iterator[Kernel]:
    for each in plans_in(plan):
        yield from each.kernels


def called(plan: Plan) -> Iterator[str]:
    """The targets of the eager ops and recipes of a plan."""
    found: dict[str, None] = {}
    for each in plans_in(plan):
        found |= {op.call.target: None for op in walk(each.ops) if isinstance(op, Eager)}
        found |= {call.target: None for recipe in each.recipes for call in recipe.calls}
    yield from found


def target_named(name: str) -> Any:
    """Raises CallError for a name that leads to no op of this process."""
    return _HOST[name] if name in _HOST else operator_named(name)


def has_objects(plan: Plan) -> bool:
    """Does an eager op, also of a plan inside, take an object of this process?"""
    ops = (op for each in plans_in(plan) for op in walk(each.ops))
    return any(_takes_objects(op.call) for op in ops if isinstance(op, Eager))


def _takes_objects(call: Call) -> bool:
    def inside(value: Any) -> bool:
        if isinstance(value, tuple | list):
            return any(map(inside, value))
        return isinstance(value, Opaque)

    return inside(call.args) or inside(call.kwargs)


def constants_of(plan: Plan) -> Iterator[Buffer]:
    """The tensors that a plan and the plans inside it read as constants."""
    for each in plans_in(plan):
        yield from (b for b in each.buffers if b.kind is Kind.CONSTANT and b.dtype is not None)


def uses_of(plan: Plan) -> set[str]:
    """The names that eager ops and results refer to."""
    found: set[str] = set()
    for op in (op for each in plans_in(plan) for op in walk(each.ops)):
        match op:
            case Eager():
                found.update(refs((op.call.args, op.call.kwargs)))
            case EagerControlFlow():
                found.update(refs((op.predicate, op.operands)))
            case Return():
                found.update(refs(op.values))
    return found


def misfit(buffer: Buffer, tensor: torch.Tensor) -> str:
    """How a tensor differs from its description, which native code trusts; empty if it fits."""
    described = (buffer.dtype, tuple(buffer.shape), tuple(buffer.strides))
    found = (tensor.dtype, tuple(tensor.shape), tensor.stride())
    return "" if found == described else f"{buffer.name} is {found}, the plan says {described}"


def tensors_in(plan: Plan, resources: Resources) -> dict[str, torch.Tensor]:
    """The constants among the resources. Raises ValueError for one that is no tensor, unless it is
    the body of control flow that became part of the plan."""
    read = uses_of(plan)
    found = {}
    for name, value in resources.constants.items():
        if isinstance(value, torch.Tensor):
            found[name] = value
        elif name in read:
            raise ValueError(f"the constant {name} is a {type(value).__name__}, not a tensor")
    return found
