"""The one IR: a functional ATen graph with its signature, constants and symbols; verified and
printable."""

from ingot.program.program import (
    InputSpec,
    Level,
    OutputSpec,
    Program,
    Signature,
    SymbolRange,
    program_from_fx,
)

__all__ = [
    "InputSpec",
    "Level",
    "OutputSpec",
    "Program",
    "Signature",
    "SymbolRange",
    "program_from_fx",
]
