"""A sweep of PyTorch's OpInfo table over the four target dialects; `python -m tests.emit.sweep`
prints the counts.

The outcome of an op in a dialect is "equal" (run back, equal to eager), "refused" (by name, or by
upstream when it is run) or "trouble" (a crash, a wrong value or any other error, which no op may
give). An op is tested with its first sample that torch.export captures and that has only dense,
non-empty tensors and no random ops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.utils._pytree as pytree
from torch import Tensor

import ingot
from tests.emit.refusals import LEFT_OUT, REFUSED
from tests.ops.cases import OPS, dtypes_of, metadata_only, program_of
from tests.ops.harness import Program, copy_tensors, run_eager, traceable

DIALECTS = ("torch", "linalg", "tosa", "stablehlo")
LOOKED_AT = 96
"""At most this many samples are searched for a usable one."""


@dataclass(frozen=True)
class Outcome:
    kind: str
    """"equal", "refused" or "trouble"."""
    why: str = ""


def taking_part() -> list[str]:
    left_out = {name for names in LEFT_OUT.values() for name in names}
    return [name for name in OPS if name not in left_out]


def refused_by(name: str) -> tuple[str, ...]:
    return next((dialects for _, dialects, names in REFUSED if name in names), ())


def counts() -> dict[str, int]:
    """Number of ops lowered to each dialect."""
    names = taking_part()
    return {d: sum(d not in refused_by(name) for name in names) for d in DIALECTS}


def definite_programs(name: str) -> Iterator[Program]:
    op = OPS[name]
    dtypes = dtypes_of(op)
    if not dtypes or metadata_only(name):
        return
    torch.manual_seed(0)
    samples = op.sample_inputs("cpu", dtypes[0], requires_grad=False)
    for sample in itertools.islice(samples, LOOKED_AT):
        program = program_of(op.op, sample)
        if is_definite(program):
            yield program


def is_definite(program: Program) -> bool:
    with torch.no_grad():
        try:
            eager = run_eager(program)
        except Exception:
            return False
    if not traceable(program, eager) or eager.used_rng:
        return False
    return all(tensor.numel() for tensor in [*program.tensors(), *eager.results])


def exported(name: str) -> tuple[ingot.Program, list[Tensor]] | None:
    """The op as a program, with its arguments."""
    for program in definite_programs(name):
        try:
            return export_sample(program), program.tensors()
        except ingot.CaptureError:
            continue
    return None


def export_sample(program: Program) -> ingot.Program:
    def call(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(pytree.tree_leaves(program.call(tensors)))

    with torch.no_grad():
        return ingot.export(call, tuple(copy_tensors(program.tensors())))


def outcome(program: ingot.Program, tensors: list[Tensor], dialect: str) -> Outcome:
    try:
        program.verify(dialect, tuple(copy_tensors(tensors)))
    except ingot.EmitError as error:
        problems = getattr(error, "problems", ())
        ops = sorted({f"{p.op}: {p.why}" for p in problems})
        if ops or "upstream passes have no way to run it" in str(error):
            return Outcome("refused", "; ".join(ops) or str(error))
        return Outcome("trouble", str(error))
    except Exception as error:
        return Outcome("trouble", f"{type(error).__name__}: {error}")
    return Outcome("equal")


if __name__ == "__main__":
    total = len(taking_part())
    for dialect, count in counts().items():
        print(f"{dialect}: {count} of {total}")
