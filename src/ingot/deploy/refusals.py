"""What a C program cannot have, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.deploy.emit_plan import copied_buffers
from ingot.errors import Place, SaveError
from ingot.fuse.fused import CallStep
from ingot.linkage import C_LIBRARY, C_MATH, COMPILER_RUNTIME, MEMORY, OPENMP
from ingot.plan.ir import Eager, EagerControlFlow, Plan, walk
from ingot.program.source import node_place
from ingot.stages import Compiled

_NAMED = 4
"""Eager steps that an error lists."""
_ALLOWED = frozenset(OPENMP | C_LIBRARY | C_MATH | MEMORY | {*COMPILER_RUNTIME})


def check_steps(compiled: Compiled) -> None:
    """Everything has to be native code, but for views of results and copies of whole tensors."""
    plan = compiled.plan
    assert plan is not None
    found = list(_eager(plan))
    if not found:
        return
    rows = [_described(compiled, op) for op in found]
    first = next((place for _, place in rows if place is not None), None)
    texts = list(dict.fromkeys(text for text, _ in rows))
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    raise SaveError(
        f"PyTorch runs {'; '.join(texts[:_NAMED])}{more}",
        place=first,
        hints=["ingot.explain lists the eager steps of a program with their reasons"],
    )


def _eager(plan: Plan) -> Iterator[Eager | EagerControlFlow]:
    buffers = plan.by_name()
    for op in walk(plan.ops):
        if isinstance(op, EagerControlFlow):
            yield op
        elif isinstance(op, Eager):
            result = buffers.get(op.call.result)
            is_view = result is not None and result.alias is not None
            if not is_view and copied_buffers(plan, op) is None:
                yield op


def _described(compiled: Compiled, op: Eager | EagerControlFlow) -> tuple[str, Place | None]:
    version, number = op.step
    parts = compiled.versions or (compiled,)
    name = op.call.target if isinstance(op, Eager) else f"a {op.kind} whose body is not native"
    if not 0 <= version < len(parts) or not 0 <= number < len(parts[version].fused.steps):
        return name, None
    part = parts[version]
    step = part.fused.steps[number]
    if not isinstance(step, CallStep):
        return name, None
    reason = part.refusals.get(step) or step.reason
    place = node_place(step.node)
    text = f"{name} ({reason})" if reason else name
    return (text if place is None else f"{text}, line {place.line}"), place


def check_imports(imports: Sequence[str], own: Sequence[str]) -> None:
    """Code may import the C library, libm, libgcc and OpenMP, and nothing of PyTorch."""
    for name in imports:
        if name not in _ALLOWED and name not in own:
            raise SaveError(f"its code calls {name}, which a C program does not have")
