"""The verifier of plans. Raises PlanError, which shows the lines of the plan around the fault.

    verify_records    names, types of fields, symbols, recipes: each record by itself
    verify_flow       written before read, no use after `free`, one `return` on each path
    verify_launches   arguments against the kernel's parameters and against the computation
    verify_memory     operands inside their buffers, lifetimes, overlap in the arena

Informational fields are not checked: `step`, `covers`, `faults`, places and subjects of
requirements, the family and digest of a kernel, the number of threads that find work. Values that
only machine code reads (sizes among the arguments of a launch, attribute records) and the ops of a
computation are checked by execution: `plan.interpret` against eager, native code against the
interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.errors import PlanError
from ingot.plan.ir import Plan, Steered, walk
from ingot.plan.text import Line, plan_lines
from ingot.plan.verify_context import Context, Fault
from ingot.plan.verify_flow import verify_flow
from ingot.plan.verify_launches import verify_launches
from ingot.plan.verify_memory import verify_memory
from ingot.plan.verify_records import verify_records

_AROUND = 3


def verify(plan: Plan, sizes: Mapping[str, int] | None = None) -> None:
    """Raises PlanError at the first violation. `sizes`: values of symbols, by name; with them,
    properties that depend on sizes are checked for these values."""
    try:
        verify_records(plan)
        context = Context(plan, sizes)
        for check in (verify_flow, verify_launches, verify_memory):
            check(context)
    except Fault as fault:
        raise PlanError(f"{fault.why}\n{_excerpt(plan, fault)}") from None
    for op in walk(plan.ops):
        if isinstance(op, Steered):
            for body in op.bodies:
                verify(body)


def _excerpt(plan: Plan, fault: Fault) -> str:
    """The lines around the fault."""
    lists = {name: value for name, value in vars(plan).items() if isinstance(value, tuple)}
    lines = list(plan_lines(Plan(**{"inputs": (), "ops": (), **lists}), lenient=True))
    at = next((k for k, line in enumerate(lines) if line.subject == fault.subject), 0)
    first = max(0, at - _AROUND)
    shown = lines[first : at + _AROUND + 1]
    return "\n".join(_marked(line, first + k == at) for k, line in enumerate(shown))


def _marked(line: Line, culprit: bool) -> str:
    return f"{'>' if culprit else ' '} {'  ' * line.depth}{line.text}".rstrip()
