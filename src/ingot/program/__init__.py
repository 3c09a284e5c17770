"""Program, the one IR: a functional ATen graph with its signature, constants and symbols; verified
and printable.
"""

from ingot.program.program import (
    CallSpec,
    Fixed,
    InputSpec,
    Level,
    OutputSpec,
    Program,
    Signature,
    SymbolRange,
    program_from_fx,
)

__all__ = [
    "CallSpec",
    "Fixed",
    "InputSpec",
    "Level",
    "OutputSpec",
    "Program",
    "Signature",
    "SymbolRange",
    "program_from_fx",
]
