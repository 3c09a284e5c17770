"""`Program.to_mlir`: emits a Program at aten level in a dialect of MLIR. The steps: legalize the
graph for the dialect, check every node, import the graph into the torch dialect, run torch-mlir's
pipelines in the helper process. An EmitError lists everything that the dialect cannot take.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

from ingot.emit import isolate
from ingot.emit.declared_calls import as_calls, has_calls
from ingot.emit.function_bodies import give_bodies, has_bodies
from ingot.emit.importer import import_program, returned
from ingot.emit.legalize import Expansion, legalize
from ingot.emit.levels import Dialect, find_dialect
from ingot.emit.module import MlirModule
from ingot.emit.problems import Problem, complaints_error, first_line, problems_error
from ingot.emit.support import check, probe
from ingot.emit.while_loops import give_loops_bodies
from ingot.errors import EmitError
from ingot.program.program import Program


def to_mlir(
    program: Program,
    dialect: str,
    limits: isolate.Limits = isolate.USUAL,
    decompositions: Mapping[Any, Expansion] | None = None,
    partial: bool = False,
    checks: bool = False,
) -> MlirModule:
    """`decompositions`: for ops that the pipelines do not know, above all the user's own.
    `partial`: ops that the dialect cannot take stay calls of declared functions.
    `checks`: keep the program's runtime assertions."""
    target = find_dialect(dialect)
    isolate.start()
    legal = legalize(program, target, decompositions or {}, checks)
    problems = check(legal, target.name)
    if partial:
        legal = as_calls(legal, {problem.node for problem in problems})
        problems = check(legal, target.name)
    if problems:
        raise problems_error(target, problems)
    if not partial:
        return emit_legal(legal, target, limits)
    refused = refusals(legal, target, limits)
    return emit_legal(as_calls(legal, {problem.node for problem in refused}), target, limits)


def emit_legal(legal: Program, target: Dialect, limits: isolate.Limits) -> MlirModule:
    """Emit a legalized program."""
    try:
        text = _lowered(legal, target, limits)
        if has_bodies(legal) or (legal.symbols and not target.sizes):
            bodies = give_bodies(text, legal, target.name)
            text = isolate.lower(bodies, [target.finish], limits, calls=has_calls(legal))
        text = _own_constants(text, target)
    except isolate.PipelineError as error:
        found = refusals(legal, target, limits)
        raise (
            problems_error(target, found) if found else complaints_error(legal, target, error)
        ) from None
    if not target.branches:
        loops = give_loops_bodies(text, target.name)
        return MlirModule(loops, target, legal, returned(legal), _runnable(text, loops))
    return MlirModule(text, target, legal, returned(legal), text)


_ARITH_CONSTANT = re.compile(r"arith\.constant (dense<.*> : tensor<[^>]*(?:i|f|bf)\d+>)$", re.M)


def _own_constants(text: str, target: Dialect) -> str:
    """The dialect's own constant op in place of arith's, except for sizes."""
    if not target.constant:
        return text
    return _ARITH_CONSTANT.sub(rf"{target.constant} \1", text)


def _runnable(text: str, loops: str) -> str:
    """Upstream lowers TOSA's loops, but not StableHLO's."""
    return give_loops_bodies(text, "scf") if "stablehlo.while" in loops else loops


def refusals(legal: Program, target: Dialect, limits: isolate.Limits) -> list[Problem]:
    """The ops that the pipeline rejects on their own."""
    return probe(legal, lambda alone: _refusal(alone, target, limits))


def _lowered(legal: Program, target: Dialect, limits: isolate.Limits) -> str:
    module = import_program(legal)
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return isolate.lower(buffer.getvalue(), target.steps, limits, calls=has_calls(legal))


def _refusal(legal: Program, target: Dialect, limits: isolate.Limits) -> str:
    """The pipeline's reason against this program; empty if it accepts it."""
    try:
        _lowered(legal, target, limits)
    except (isolate.PipelineError, EmitError) as error:
        return first_line(error)
    return ""
