"""The verifier of plans. Raises PlanError, which shows the lines of the plan around the fault.

    verify_records    names, types of fields, symbols, recipes: each record by itself
    verify_flow       written before read, no use after `free`, one `return` on each path
    verify_launches   arguments against the kernel's parameters and against the computation
    verify_memory     operands inside their buffers, lifetimes, overlap in the arena

Informational fields are checked for their form only: `step`, `covers`, `faults`, places and
subjects of requirements, the number of threads that find work. Values that only machine code reads
(sizes among the arguments of a library kernel, attribute records) and the ops of a computation are
checked by execution: `plan.interpret` against eager, native code against the interpreter.
tests/plan/test_any_field.py lists the changes of a plan that neither notices.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.errors import PlanError
from ingot.plan.invariants import FINAL, Invariant
from ingot.plan.ir import EagerControlFlow, Plan, walk
from ingot.plan.text import Line, plan_lines, plan_to_text
from ingot.plan.verify_context import Fault, VerifyContext
from ingot.plan.verify_flow import verify_flow
from ingot.plan.verify_launches import verify_launches
from ingot.plan.verify_memory import verify_memory
from ingot.plan.verify_records import verify_records

_AROUND = 3


def verify(
    plan: Plan,
    sizes: Mapping[str, int] | None = None,
    *,
    holds: frozenset[Invariant] = FINAL,
    after: str = "",
) -> None:
    """Raises PlanError at the first violation. `sizes`: values of symbols, by name; with them,
    properties that depend on sizes are checked for these values. `holds`: the invariants that the
    passes up to now, of which `after` was the last, have established."""
    try:
        _verify(plan, sizes, holds)
    except Fault as fault:
        stage = f"after {after}: " if after else ""
        error = PlanError(f"{stage}{fault.why}\n{_excerpt(fault.plan or plan, fault)}")
        error.__dict__["ingot_files"] = {"plan.txt": plan_to_text(_listed(plan), lenient=True)}
        raise error from None


def _verify(plan: Plan, sizes: Mapping[str, int] | None, holds: frozenset[Invariant]) -> None:
    try:
        verify_records(plan)
        context = VerifyContext(plan, sizes, holds)
        for check in (verify_flow, verify_launches, verify_memory):
            check(context)
    except Fault as fault:
        fault.plan = plan
        raise
    for op in walk(plan.ops):
        if isinstance(op, EagerControlFlow):
            for body in op.bodies:
                _verify(body, None, FINAL)


def _excerpt(plan: Plan, fault: Fault) -> str:
    """The lines around the fault."""
    lines = list(plan_lines(_listed(plan), lenient=True))
    at = next((k for k, line in enumerate(lines) if line.subject == fault.subject), 0)
    first = max(0, at - _AROUND)
    shown = lines[first : at + _AROUND + 1]
    return "\n".join(_marked(line, first + k == at) for k, line in enumerate(shown))


def _listed(plan: Plan) -> Plan:
    """The plan with an empty list for each that is of another type."""
    lists = {name: value for name, value in vars(plan).items() if isinstance(value, tuple)}
    return Plan(**{"inputs": (), "ops": (), **lists})


def _marked(line: Line, culprit: bool) -> str:
    return f"{'>' if culprit else ' '} {'  ' * line.depth}{line.text}".rstrip()
