"""Rewrites that bring a program to what torch-mlir's pipelines take. Comes in: a Program at aten
level; goes out: one whose every op the importer and the dialect's pipeline know, with small
constants inside and all other tensors as inputs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from ingot.emit.expand import Expand
from ingot.emit.levels import Dialect
from ingot.passes.base import run_passes
from ingot.program.program import Program


def legalize(program: Program, dialect: Dialect) -> Program:
    return replace(run_passes(program, [Expand(decompositions())]), calling=None)


@cache
def decompositions() -> dict[Any, Any]:
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    return dict(get_decomposition_table())
