"""What a C program cannot have, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch

from ingot.deploy.emit_plan import copied_buffers
from ingot.errors import Place, SaveError
from ingot.fuse.fused import CallStep
from ingot.linkage import C_LIBRARY, C_MATH, COMPILER_RUNTIME, MEMORY, OPENMP
from ingot.plan.ir import Eager, EagerControlFlow, Plan, walk
from ingot.plan.recipes import evaluate
from ingot.plan.resources import Resources
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


def view_offsets(plan: Plan, resources: Resources) -> Mapping[str, int]:
    """The offsets of views from the start of their memory, in elements."""
    buffers, known = plan.by_name(), dict[str, torch.Tensor]()
    for op in walk(plan.ops):
        if not isinstance(op, Eager):
            continue
        result = buffers.get(op.call.result)
        if result is None or result.alias is None:
            continue
        source = buffers[result.alias]
        numbers = [*source.shape, *source.strides, *result.shape, *result.strides]
        if not all(isinstance(number, int) for number in numbers):
            raise SaveError(
                f"its result {result.name} is a view of dynamic size",
                hints=["return a copy: .clone() or .contiguous()"],
            )
        if source.name not in known:
            sizes = [[int(n) for n in each] for each in (source.shape, source.strides)]
            known[source.name] = torch.empty_strided(*sizes, dtype=source.dtype, device="meta")
        target = resources.target(op.call.target)
        known[result.name] = evaluate(op.call, target, known, resources.objects)
    return {name: int(tensor.storage_offset()) for name, tensor in known.items()}
