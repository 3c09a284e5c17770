"""`Program.to_mlir`: a Program in a dialect of MLIR. Comes in: a Program at aten level; goes out: a
MlirModule, or an EmitError that lists everything the dialect cannot take. The steps: legalize the
graph for the dialect, check every node, import it into the torch dialect, run torch-mlir's
pipelines in the helper process.
"""

from __future__ import annotations

import io

from ingot.emit import isolate
from ingot.emit.importer import import_program, returned
from ingot.emit.legalize import legalize
from ingot.emit.levels import Dialect, find_dialect
from ingot.emit.module import MlirModule
from ingot.emit.problems import complaints_error
from ingot.program.program import Program


def to_mlir(program: Program, dialect: str, limits: isolate.Limits = isolate.USUAL) -> MlirModule:
    target = find_dialect(dialect)
    isolate.start()
    return emit_legal(legalize(program, target), target, limits)


def emit_legal(legal: Program, target: Dialect, limits: isolate.Limits) -> MlirModule:
    """A program that is legalized already."""
    module = import_program(legal)
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    try:
        text = isolate.lower(buffer.getvalue(), target.steps, limits)
    except isolate.PipelineError as error:
        raise complaints_error(legal, target, error) from None
    return MlirModule(text, target, legal, returned(legal))
