"""Queries on the plan of a compiled program."""

from __future__ import annotations

from collections.abc import Iterator

from torch import fx

from ingot.explain.gather import native_steps
from ingot.fuse.fused import CallStep, Step
from ingot.plan.ir import Branch, Eager, Function, Kernel, Launch, Op, Plan, walk
from ingot.stages import Compiled


def plan_of(compiled: Compiled) -> Plan:
    assert compiled.plan is not None, "PyTorch runs the whole graph"
    return compiled.plan


def ops_of(compiled: Compiled, *kinds: type) -> list[Op]:
    return [op for op in walk(plan_of(compiled).ops) if not kinds or isinstance(op, kinds)]


def launches_of(compiled: Compiled, *families: str) -> list[Launch]:
    kernels = kernels_of(compiled)
    found = (op for op in walk(plan_of(compiled).ops) if isinstance(op, Launch))
    return [op for op in found if not families or kernels[op.kernel].family in families]


def kernels_of(compiled: Compiled) -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in plan_of(compiled).kernels}


def native_call_steps(compiled: Compiled) -> set[Step]:
    """The call steps that hand-written kernels, branches and loops run."""
    return {compiled.fused.steps[number] for number in native_steps(compiled)}


def native_call_nodes(compiled: Compiled) -> list[fx.Node]:
    """The nodes that hand-written kernels compute, in program order."""
    return [
        step.node
        for number, kind in sorted(native_steps(compiled).items())
        if kind == "native" and isinstance(step := compiled.fused.steps[number], CallStep)
    ]


def runs_eagerly(compiled: Compiled) -> bool:
    return bool(ops_of(compiled, Eager))


def branches(op: Op) -> Iterator[Launch]:
    """The launches that a multi-versioned call may run, in order."""
    if isinstance(op, Branch):
        for inner in (*op.then, *op.otherwise):
            yield from branches(inner)
    elif isinstance(op, Launch):
        yield op


def group_sizes(compiled: Compiled) -> list[int]:
    """The number of matmuls in each launch with more than one, sorted."""
    sizes = [products_in(launch) for launch in launches_of(compiled, "matmul")]
    return sorted(size for size in sizes if size > 1)


def products_in(launch: Launch) -> int:
    from ingot.kernels.matmul.emit import FIELDS

    count = launch.arguments[FIELDS.index("count")]
    assert isinstance(count, int)
    return count


def in_step(launch: Launch) -> bool:
    """Whether the epilogue of one matmul may read results that the same thread has computed for an
    earlier one."""
    from ingot.kernels.matmul.emit import FIELDS

    return bool(launch.arguments[FIELDS.index("in_step")])


def epilogues(launch: Launch) -> int:
    return sum(isinstance(argument, Function) for argument in launch.arguments)
