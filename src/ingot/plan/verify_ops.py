"""Checks of eager ops against their schemas, and of the parts of a loop."""

from __future__ import annotations

from typing import Any

import sympy
import torch

from ingot.plan.ir import Check, Eager, Kind, Loop, Operand, Pointer
from ingot.plan.liveness import names_in
from ingot.plan.schemas import op_overload, verify_schema
from ingot.plan.verify_context import Fault, VerifyContext
from ingot.plan.verify_records import verify_target
from ingot.program.expressions import is_condition


def verify_eager(context: VerifyContext, op: Eager, at: int) -> None:
    """`writes` must be the buffers that the schema of the op mutates."""
    verify_target(op.call, at)
    verify_schema(op.call, at)
    target, roots = op_overload(op.call.target), context.roots
    if not roots(op.writes) <= roots(names_in((op.call.args, op.call.kwargs))):
        raise Fault(at, "it writes a buffer that is not among its arguments")
    if op.writes and op.pure:
        raise Fault(at, "an op that writes is not pure")
    if target is None:
        return
    changed = roots(names_in(written_arguments(target, op)))
    if changed != roots(op.writes):
        shown = ", ".join(f"%{name}" for name in sorted(changed)) or "nothing"
        raise Fault(at, f"{op.call.target} writes {shown}")
    if op.pure and torch.Tag.nondeterministic_seeded in target.tags:
        raise Fault(at, f"{op.call.target} generates random numbers and is not pure")


def verify_check(op: Check, at: int) -> None:
    number = isinstance(op.condition, sympy.Basic) and not is_condition(op.condition)
    if isinstance(op.condition, str | tuple | Operand | Pointer) or number:
        raise Fault(at, "the checked value is not a condition")


def verify_loop_parts(context: VerifyContext, op: Loop, at: int) -> None:
    if (op.count is None) != (op.flag is not None) or (op.flag is None) != (not op.test):
        raise Fault(at, "a loop has a count, or a test and its flag")
    if op.flag is not None and context.buffers[op.flag.buffer].dtype is not torch.bool:
        raise Fault(at, "its flag is not a boolean")
    for piece in op.sliced:
        if piece.access not in ("r", "w"):
            raise Fault(at, f"a slice has access 'r' or 'w', not {piece.access!r}")
    memory = [name for carried in op.carried for name in carried.memory]
    if len(set(memory)) < len(memory):
        raise Fault(at, "carried values share memory")
    if any(context.buffers[n].kind not in (Kind.ARENA, Kind.RESULT) for n in memory):
        raise Fault(at, "carried values must lie in memory that the plan allocates")


def written_arguments(target: Any, op: Eager) -> tuple[Any, ...]:
    """The arguments that the op's schema mutates."""
    keywords = dict(op.call.kwargs)
    found = []
    for k, argument in enumerate(target._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = op.call.args[k] if k < len(op.call.args) else keywords.get(argument.name)
            found.append(given)
    return tuple(found)
