"""From torch.export's graph to a Program at pre-dispatch level. Comes in: an ExportedProgram before
any decomposition; goes out: a Program with its composite ops kept. A graph that writes to its
values is refused by the verifier.
"""

from __future__ import annotations

from torch.export import ExportedProgram

from ingot.capture.exported import program_from_exported
from ingot.program.program import Level, Program


def pre_dispatch_program(exported: ExportedProgram) -> Program:
    return program_from_exported(exported, Level.PRE_DISPATCH)
