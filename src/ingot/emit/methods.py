"""`Program.to_mlir` and `Program.verify`, for programs of any level."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingot.emit import emit
from ingot.emit.comparison import verify_program
from ingot.emit.lockstep import verify_in_lockstep
from ingot.program.mlir import MlirComparison, MlirText
from ingot.program.program import Program

Decompositions = Mapping[Any, Callable[..., Any] | str]


def to_mlir(
    program: Program,
    dialect: str,
    *,
    decompositions: Decompositions | None = None,
    partial: bool = False,
    checks: bool = False,
) -> MlirText:
    return emit.to_mlir(
        program.lowered("aten"),
        dialect,
        decompositions=decompositions,
        partial=partial,
        checks=checks,
    )


def verify(
    program: Program,
    dialect: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    lockstep: bool = False,
    decompositions: Decompositions | None = None,
    checks: bool = False,
) -> MlirComparison:
    lowered = program.lowered("aten")
    if lockstep:
        verify_in_lockstep(lowered, dialect, args, kwargs or {}, decompositions)
    return verify_program(
        lowered, dialect, args, kwargs or {}, decompositions=decompositions, checks=checks
    )
